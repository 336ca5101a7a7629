"""Hundreds of symbols by few streams: `max_streams` of them, the last of which several symbols may share.

An example with more symbols than streams gives a stream of its own to those that are most frequent in the source. All
others share the last stream, which says "some other symbol": it sees the actual row wherever one of them stands. What
it gives to its own symbol is dealt out among those that share it, by a pointer without parameters. Both see places
only, and no names, so renamings stay exact.

Letters: B batch, N beams per input, S streams, K slots, R slots that share the last stream (K = S - 1 + R), L source
length, T target length, D model width, V_n base tokens.
"""

import math

import torch

from .embedding_symbinv import Slots
from .layers_symbinv import rotate


def choose_streams(slots: Slots, referents: torch.Tensor, max_streams: int | None) -> Slots:
    """Gives the slots with streams of their own to the symbols that are most frequent in the source.

    Ties go to the symbol that appears first. Those chosen come first and then the others, all in the order of their
    first appearance, so slots that are numbered again stay as they are. A symbol that occurs only in the decoder's
    prompt takes no other's stream.

    Args:
        slots: `K` of them, in the order of first appearance, those of the source first.
        referents: `(B, L)` int64, of the source; -1 at base tokens and padding.
        max_streams: streams at most; None for no limit.

    Returns:
        The slots, with at most `max_streams` streams.

    Source: our choice; what is frequent is what a stream of its own says most about.
    """
    if max_streams is None or slots.referents.shape[1] <= max_streams:
        return slots
    found = slots.referents
    occurs = (referents.unsqueeze(2) == found.unsqueeze(1)) & (found >= 0).unsqueeze(1)  # (B, L, K)
    counts = occurs.sum(1)
    by_count = counts.argsort(dim=1, descending=True, stable=True)[:, : max_streams - 1]
    is_other = torch.ones_like(found).scatter(1, by_count, 0)
    is_other = torch.where((counts > 0).sum(1, keepdim=True) > max_streams, is_other, 0)
    return Slots.from_referents(found.gather(1, is_other.argsort(dim=1, stable=True)), max_streams=max_streams)


def streams_of(symbol_slots: torch.Tensor, max_streams: int | None) -> torch.Tensor:
    """The stream `(B, L)` of each of `symbol_slots (B, L)`, -1 for -1; all slots without one share the last."""
    return symbol_slots if max_streams is None else symbol_slots.clamp(max=max_streams - 1)


def log_shares(
    queries: torch.Tensor,
    keys: torch.Tensor,
    angles: tuple[torch.Tensor | None, torch.Tensor | None],
    symbol_slots: torch.Tensor,
    slots: Slots,
) -> torch.Tensor | None:
    """How the last stream's "my symbol" is dealt out among the symbols that share the stream.

        log p(r) = log softmax over r of logsumexp over the places l of r of h_t · e_l / sqrt(D)

    With rotary angles h_t and e_l are rotated, as by cross-attention whose projections are the identity. A symbol that
    does not occur in the source counts as one place whose product is 0.

    Args:
        queries: `(B·N, S, T, D)`, the last hidden states h of where the answer is written.
        keys: `(B, S, L, D)`, the last hidden states e of the source.
        angles: rotary angles of queries and of keys, `(2, B·N or 1, T, D / H)` and `(2, B or 1, L, D / H)`; None and
            None if positions were added to the embeddings.
        symbol_slots: `(B, L)` int64, the slot of each symbol of the source, -1 at base tokens.
        slots: of the B examples.

    Returns:
        `(B·N, T, R)`, float32 at least; None if no two symbols share a stream.

    Source: our choice, after the pointers of Vinyals et al. 2015, without weights, so that any checkpoint has it.
        With 8 streams, strings of 32 different symbols were all copied after 60 steps of training on up to 24 symbols;
        with states that were not rotated, 88 % of their tokens after 600.
    """
    last = keys.shape[1] - 1
    missing = slots.referents[:, last:] < 0  # (B, R)
    if missing.shape[1] == 1:
        return None
    length, width = queries.shape[2:]
    wide = torch.promote_types(queries.dtype, torch.float32)
    rows, columns = (
        _rotated(states[:, last:].to(wide), own) for states, own in zip((queries, keys), angles, strict=True)
    )
    rows = rows.reshape(keys.shape[0], -1, width)  # (B, N·T, D)
    scores = rows @ columns.squeeze(1).transpose(1, 2) / math.sqrt(width)  # (B, N·T, L), narrower under autocast
    scores = _sum_by_symbol(scores.to(wide), symbol_slots - last, missing.shape[1])  # (B, N·T, R)
    # Not -inf, of which an example without such symbols would make nan.
    scores = scores.masked_fill(missing.unsqueeze(1), torch.finfo(scores.dtype).min)
    return scores.log_softmax(2).reshape(-1, length, missing.shape[1])


def _rotated(states: torch.Tensor, angles: torch.Tensor | None) -> torch.Tensor:
    """`states (B, 1, L, D)` rotated by `angles (2, B or 1, L, D / H)`, head by head; as they are for None."""
    if angles is None:
        return states
    return rotate(states.unflatten(-1, (-1, angles.shape[-1])), angles.to(states.dtype)).flatten(-2)


def _sum_by_symbol(scores: torch.Tensor, numbers: torch.Tensor, count: int) -> torch.Tensor:
    """The logsumexp of `scores (B, Q, L)` over the places of each symbol, `(B, Q, R)`; 0 for one without a place.

    Args:
        scores: `(B, Q, L)`.
        numbers: `(B, L)` int64, which of the R symbols stands there; negative for none of them.
        count: R.
    """
    stands = numbers.unsqueeze(2) == torch.arange(count, device=numbers.device)  # (B, L, R)
    index = numbers.clamp(min=0).unsqueeze(1).expand_as(scores)
    scores = scores.masked_fill((numbers < 0).unsqueeze(1), -math.inf)
    with torch.no_grad():
        highest = scores.new_full((*scores.shape[:2], count), -math.inf).scatter_reduce(2, index, scores, "amax")
        highest = highest.masked_fill(highest == -math.inf, 0.0)
    total = (scores - highest.gather(2, index)).exp() @ stands.to(scores.dtype)  # (B, Q, R)
    return highest + total.masked_fill(~stands.any(1, keepdim=True), 1.0).log()


def deal_out(
    logits: torch.Tensor, shares: torch.Tensor, slots: Slots, num_views: int, scale: torch.Tensor | float
) -> torch.Tensor:
    """Gives each symbol that shares the last stream a column of its own: `z_r = z + log p(r) / scale`.

    So they get together what the stream gave to its symbol, `exp(scale · z)`.

    Args:
        logits: `(B·N, T, V_n + S · num_views)`, a column per view of each stream's symbol.
        shares: `(B·N, T, R)`, of `log_shares`.
        slots: of B·N examples.
        num_views: columns of a symbol.
        scale: scalar, what the result will be multiplied by.

    Returns:
        `(B·N, T, V_n + K · num_views)`, -inf where a slot has no symbol.
    """
    missing = slots.referents[:, -shares.shape[2] :] < 0  # (B·N, R)
    dealt = logits[:, :, None, -num_views:] + (shares / scale).to(logits.dtype).unsqueeze(3)  # (B·N, T, R, num_views)
    dealt = dealt.masked_fill(missing[:, None, :, None], -math.inf)
    return torch.cat((logits[..., :-num_views], dealt.flatten(2)), dim=2)


__all__ = ["choose_streams", "deal_out", "log_shares", "streams_of"]

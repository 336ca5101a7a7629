"""The renaming law for any model: look for a counterexample, or enforce it from outside by canonical names.

    Rename the symbols of an input, and the output is renamed. Nothing else changes.

Both work on token ids, so that they take every model of transformers that reads ids. What they need to know is which
ids are interchangeable: `SymbolIds`. Letters: B batch, L length, R referents, V columns of logits.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from hf_symbinv.errors import in_short

# Arguments of a model that hold ids of its vocabulary; labels are ids where logits have a column per id.
_ID_ARGUMENTS = ("input_ids", "decoder_input_ids", "labels")


class RenamingLawError(AssertionError):
    """A counterexample to the renaming law.

    Attributes:
        renaming: Old id → new id, of what was found to break the law.
        row, input_ids: The row of the batch, and what `(L,)` stands in it before it is renamed.
        difference: The largest one of logits that should be equal; None if answers differ, or the loss of the batch.
    """

    def __init__(
        self, message: str, renaming: Mapping[int, int], row: int, input_ids: torch.Tensor, difference: float | None
    ):
        super().__init__(message)
        self.renaming, self.row, self.input_ids, self.difference = dict(renaming), row, input_ids, difference


@dataclass(frozen=True, eq=False)
class SymbolIds:
    """Which ids of a vocabulary are interchangeable.

    Attributes:
        table: `(R, views)` int64, the id of each referent in each view. Referents may be exchanged, views not.
    """

    table: torch.Tensor

    def __post_init__(self) -> None:
        flat = self.table.flatten().tolist()
        if self.table.dim() != 2 or not flat:
            raise ValueError(f"table has shape {tuple(self.table.shape)}; it must be (referents, views), neither 0")
        if len(set(flat)) < len(flat) or min(flat) < 0:
            raise ValueError(f"table={self.table.tolist()}: every id must be at least 0 and stand in it once")

    @classmethod
    def of_words(cls, tokenizer: Any, words: Sequence[str]) -> SymbolIds:
        """The ids of words that name symbols, at least two, each of which must be one token to a tokenizer.

        Many tokenizers have another token for a word behind a blank: then write the blank.

        Raises:
            ValueError: For a word that is not one token, or the same one as another.
        """
        ids = []
        for word in words:
            found = tokenizer(word, add_special_tokens=False)["input_ids"]
            if len(found) != 1 or (found[0] == tokenizer.unk_token_id and word != tokenizer.unk_token):
                raise ValueError(
                    f"{word!r} is {len(found)} tokens, {tokenizer.convert_ids_to_tokens(found)}; a symbol must be one "
                    "of its own: choose other words, or add this one with tokenizer.add_tokens"
                )
            ids.append(found[0])
        return cls(torch.tensor(ids).unsqueeze(1))

    @classmethod
    def of_model(cls, model: Any, largest: int = -1) -> SymbolIds:
        """The symbols of a model of this package: all ids from V_n on, at least to `largest`.

        Raises:
            ValueError: For another model, which does not say which of its ids are symbols.
        """
        config = model.config
        if not hasattr(config, "base_vocab_size"):
            raise ValueError(
                f"{type(model).__name__} does not say which ids are symbols; pass them: SymbolIds.of_words(tokenizer, "
                '[" a", " b"]) or a list of ids'
            )
        base, views = config.base_vocab_size, config.num_views
        count = max(config.num_symbols, (largest - base) // views + 1, 1)
        return cls(base + torch.arange(count * views).view(count, views))

    def places(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The referent and the view of each of `ids`, of any shape; -1 and 0 where an id is no symbol."""
        flat = self.table.flatten().to(ids.device)
        ordered, order = flat.sort()
        near = torch.searchsorted(ordered, ids.contiguous()).clamp(max=len(flat) - 1)
        place = order[near]
        views = self.table.shape[1]
        is_symbol = ordered[near] == ids
        return torch.where(is_symbol, place // views, -1), torch.where(is_symbol, place % views, 0)

    def renamed(self, ids: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
        """`ids (B, ...)` with referent r of row b in the place of `images[b, r]`, `(B, R)`; other ids stay."""
        referents, views = self.places(ids)
        new = images.to(ids.device).gather(1, referents.clamp(min=0).flatten(1)).view(ids.shape)
        return torch.where(referents >= 0, self.table.to(ids.device)[new, views], ids)

    def columns_renamed(self, logits: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
        """`logits (B, ..., V)` with the column of each symbol moved as `renamed` moves its id."""
        columns = torch.arange(logits.shape[-1], device=logits.device).expand(len(logits), -1)
        origin = self.renamed(columns, images.to(logits.device).argsort(1))  # column c shows that of the id c was
        between = [1] * (logits.dim() - 2)
        return logits.gather(-1, origin.view(len(logits), *between, -1).expand(*logits.shape[:-1], -1))


def assert_invariant(
    model: PreTrainedModel | CanonicalModel,
    symbols: SymbolIds | Sequence[int] | Any,
    inputs: Mapping[str, torch.Tensor] | str | Sequence[str],
    *,
    trials: int = 20,
    tolerance: float = 0.0,
    seed: int = 0,
    **generation: Any,
) -> int:
    """Looks for a renaming that breaks the renaming law.

    Every exchange of two symbols of the inputs is tried first, then random permutations, of a whole batch at once.
    Compared are the logits, the loss if there are labels, and the ids that `generate` writes. Symbols that do not occur
    in a row, or for a language model not up to a place, are new ones, and the law holds up to their names: a model may
    write any of them, but the same one again where it means the same. Dropout, or other chance, breaks the law.

    Args:
        model: Any model of transformers that reads ids, or what `canonical` returns.
        symbols: The interchangeable ids; or a tokenizer of this package, for the ids of its symbols.
        inputs: What the model is called with: `input_ids (B, L)`, masks, `labels`, `decoder_input_ids`. Without the
            latter two an encoder-decoder is only asked to generate. With a tokenizer also a text, or several.
        trials: Random permutations.
        tolerance: Largest difference of logits and losses that counts as none; 0 asks for equality bit for bit.
        seed: Of the permutations.
        generation: Arguments of `generate`, such as `max_new_tokens`; 20 new tokens, decoded greedily, by default.

    Returns:
        How many renamings were tried, all of them without a violation.

    Raises:
        RenamingLawError: With the renaming, the row and the difference.
        ValueError: If fewer than two ids are interchangeable, no symbol occurs in the inputs, or the inputs are empty.
    """
    if isinstance(inputs, Mapping):
        given = dict(inputs)
    else:
        texts = [inputs] if isinstance(inputs, str) else list(inputs)
        tokenizer: Any = symbols
        if not callable(tokenizer):
            remedy = "give tokenizer(texts, return_tensors='pt') in their place"
            raise ValueError(f"inputs={in_short(inputs)}: token ids do not say how texts are read; {remedy}")
        given = dict(tokenizer(texts, padding=True, return_tensors="pt"))
    own = isinstance(symbols, PreTrainedTokenizerBase)
    known = _symbols_of(model, None if own else symbols, given)
    if len(known.table) < 2:
        raise ValueError(f"symbols={known.table.tolist()}: fewer than two symbols cannot change their names")
    generation = {"max_new_tokens": 20, "do_sample": False, **generation}
    renamings = list(_renamings(known, given, trials, random.Random(seed)))
    before, by_id = _outputs(model, given, generation), _has_id_logits(model)
    causal = by_id and not model.config.is_encoder_decoder
    for images in renamings:
        renamed = _renamed_inputs(model, given, known, images)
        after = _outputs(model, renamed, generation)
        _compare(before, after, given, renamed, known, images, by_id, causal, tolerance)
    return len(renamings)


def canonical(model: PreTrainedModel, symbols: SymbolIds | Sequence[int] | None = None) -> CanonicalModel:
    """A model that knows canonical names only: the first symbol of an input gets the first name, and so on.

    It obeys the renaming law bit for bit, because renamed inputs become the same tensors, and is the honest cheap
    baseline of every symbol-invariant model. `model` is not copied: trained through the wrapper, it learns canonical
    names. `symbol_embedding="canonical"` is the same inside a model of this package.

    Args:
        model: Any model of transformers that reads ids.
        symbols: The interchangeable ids, the first names first; None for those of a model of this package.
    """
    return CanonicalModel(model, symbols)


class CanonicalModel(nn.Module):
    """What `canonical` returns: takes and gives ids and logits under the names of the caller.

    Symbols that do not occur in an input follow those that do, in the order of the table, so that an answer may write
    them too; the law is then exact up to renaming the new ones. Everything else is that of `model`, the wrapped one.
    """

    def __init__(self, model: PreTrainedModel, symbols: SymbolIds | Sequence[int] | None = None):
        super().__init__()
        self.model = model
        self._symbols = symbols

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("model"), name)

    def symbols_of(self, inputs: Mapping[str, Any]) -> SymbolIds:
        """The interchangeable ids, at least as many as `inputs` need."""
        return _symbols_of(self.model, self._symbols, inputs)

    def forward(self, **inputs: Any) -> Any:
        """As the model's `forward`, of keyword arguments; logits get back the columns of the caller's names."""
        known, images = self._canonical(inputs)
        output = self.model(**_renamed_inputs(self.model, inputs, known, images))
        if _has_id_logits(self.model):
            # The model may have no column for the largest names of the caller.
            logits = _widened(output.logits, max(output.logits.shape[-1], int(known.table.max()) + 1))
            output.logits = known.columns_renamed(logits, images.argsort(1))
        return output

    def generate(self, **inputs: Any) -> Any:
        """As the model's `generate`, of keyword arguments; sequences, scores and logits get back the caller's names."""
        known, images = self._canonical(inputs)
        output = self.model.generate(**_renamed_inputs(self.model, inputs, known, images))
        back = images.argsort(1)

        def per_row(rows: int) -> torch.Tensor:
            return back.repeat_interleave(rows // len(back), 0)

        if isinstance(output, torch.Tensor):
            return known.renamed(output, per_row(len(output)))
        output.sequences = known.renamed(output.sequences, per_row(len(output.sequences)))
        for name in ("scores", "logits"):
            if getattr(output, name, None) is not None:
                steps = getattr(output, name)
                output[name] = tuple(known.columns_renamed(step, per_row(len(step))) for step in steps)
        return output

    def _canonical(self, inputs: Mapping[str, Any]) -> tuple[SymbolIds, torch.Tensor]:
        """The symbols, and for each row the place of every referent in the order of first appearance, `(B, R)`."""
        known = self.symbols_of(inputs)
        referents = known.places(inputs["input_ids"])[0]
        mask = inputs.get("attention_mask")
        read = [referents if mask is None else referents.masked_fill(mask == 0, -1)]
        written = inputs.get("decoder_input_ids", inputs.get("labels") if self.config.is_encoder_decoder else None)
        if written is not None:
            read.append(known.places(written)[0])
        referents = torch.cat(read, dim=1)
        batch, length = referents.shape
        first = referents.new_full((batch, len(known.table) + 1), length)
        positions = torch.arange(length, device=referents.device).expand(batch, -1)
        first.scatter_reduce_(1, torch.where(referents < 0, len(known.table), referents), positions, "amin")
        return known, first[:, :-1].argsort(dim=1, stable=True).argsort(1)


def _symbols_of(model: Any, symbols: SymbolIds | Sequence[int] | None, inputs: Mapping[str, Any]) -> SymbolIds:
    if isinstance(model, CanonicalModel) and symbols is None:
        return model.symbols_of(inputs)
    if symbols is None:
        largest = max(int(inputs[name].max()) for name in _ID_ARGUMENTS if inputs.get(name) is not None)
        return SymbolIds.of_model(model, largest)
    if isinstance(symbols, SymbolIds):
        return symbols
    try:
        ids = torch.tensor(list(symbols))
    except (TypeError, ValueError):
        remedy = "give a list of them, or SymbolIds.of_words(tokenizer, words)"
        raise ValueError(f"symbols={in_short(symbols)}: symbols are token ids; {remedy}") from None
    return SymbolIds(ids.unsqueeze(1))


def _has_id_logits(model: Any) -> bool:
    """Whether the model's logits have a column per id; others have one per label."""
    return model.get_output_embeddings() is not None


def _renamed_inputs(model: Any, inputs: Mapping[str, Any], known: SymbolIds, images: torch.Tensor) -> dict[str, Any]:
    names = _ID_ARGUMENTS if _has_id_logits(model) else _ID_ARGUMENTS[:2]
    return {
        name: known.renamed(value, images) if name in names and value is not None else value
        for name, value in inputs.items()
    }


@torch.no_grad()
def _outputs(model: Any, inputs: Mapping[str, Any], generation: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """What the law is about: `logits`, `loss` and `sequences`, those of them that the model has for these inputs."""
    found: dict[str, torch.Tensor] = {}
    config = model.config
    answers = {"labels", "decoder_input_ids"} & {name for name, value in inputs.items() if value is not None}
    if answers or not config.is_encoder_decoder:
        output = model(**inputs)
        found["logits"] = output.logits
        found |= {"loss": output.loss} if getattr(output, "loss", None) is not None else {}
    if model.can_generate():
        asked = {name: value for name, value in inputs.items() if name != "labels"}
        found["sequences"] = model.generate(**asked, **generation)
    return found


def _renamings(known: SymbolIds, inputs: Mapping[str, Any], trials: int, rng: random.Random) -> Iterator[torch.Tensor]:
    """`(B, R)` images of referents, the same in each row: exchanges of two that occur, then random permutations."""
    if inputs.get("input_ids") is None or not inputs["input_ids"].numel():
        raise ValueError("inputs have no input_ids; pass the tokenizer's output with at least one row")
    occurring = sorted(set(known.places(inputs["input_ids"])[0].unique().tolist()) - {-1})
    if not occurring:
        raise ValueError(
            f"no symbol occurs in the inputs, so no renaming changes them; symbols are {known.table.flatten().tolist()}"
        )
    batch, count = len(inputs["input_ids"]), len(known.table)
    others = [referent for referent in range(count) if referent not in occurring]
    swaps = [(one, two) for place, one in enumerate(occurring) for two in [*occurring[place + 1 :], *others[:1]]]
    for one, two in swaps:
        images = torch.arange(count)
        images[one], images[two] = two, one
        yield images.expand(batch, -1)
    for _ in range(trials):
        yield torch.tensor(rng.sample(range(count), count)).expand(batch, -1)


def _compare(
    before: Mapping[str, torch.Tensor],
    after: Mapping[str, torch.Tensor],
    inputs: Mapping[str, Any],
    after_inputs: Mapping[str, Any],
    known: SymbolIds,
    images: torch.Tensor,
    by_id: bool,
    causal: bool,
    tolerance: float,
) -> None:
    """Raises RenamingLawError unless `after` is `before` renamed."""
    input_ids = inputs["input_ids"]
    moved = {old: new for old, new in enumerate(images[0].tolist()) if old != new}
    occurring = set(known.places(input_ids)[0].unique().tolist())
    names = known.table[:, 0].tolist()
    renaming = {names[old]: names[new] for old, new in moved.items() if old in occurring}
    arrow = ", ".join(f"{old} → {new}" for old, new in renaming.items())

    def broken(row: int, what: str, difference: float | None) -> RenamingLawError:
        message = f"row {row}, ids renamed {arrow}: {what}"
        return RenamingLawError(message, renaming, row, input_ids[row], difference)

    seen = [set(row) for row in _given_ids(after_inputs)]  # of each row, as it is renamed
    if "logits" in before:
        expected, given = before["logits"], after["logits"]
        if by_id:
            width = max(expected.shape[-1], given.shape[-1], int(known.table.max()) + 1)
            expected, given = _widened(expected, width), _widened(given, width)
            expected = known.columns_renamed(expected, images)
            rows = seen
            if causal:  # what is still to come is new to what is said before
                texts = after_inputs["input_ids"].tolist()
                rows = [set(ids[: place + 1]) for ids in texts for place in range(len(ids))]
                expected, given = expected.flatten(0, 1), given.flatten(0, 1)
            expected, given = (_new_sorted(logits, known, rows) for logits in (expected, given))
            if causal:
                expected, given = (logits.unflatten(0, (len(images), -1)) for logits in (expected, given))
        distance = torch.where(expected == given, 0.0, (expected - given).abs().nan_to_num(nan=torch.inf))
        row = int(distance.flatten(1).amax(1).argmax())
        worst = float(distance[row].max())
        if worst > tolerance:
            raise broken(row, f"logits that should be equal differ by up to {worst:.3g}", worst)
    if "loss" in before and abs(float(before["loss"]) - float(after["loss"])) > tolerance:
        raise broken(0, f"the loss is {float(before['loss']):.6g} before and {float(after['loss']):.6g} after", None)
    if "sequences" in before:
        sequences = before["sequences"]
        copies = len(sequences) // len(images)
        expected = known.renamed(sequences, images.repeat_interleave(copies, 0))
        for place, (one, two) in enumerate(zip(expected.tolist(), after["sequences"].tolist(), strict=True)):
            row = place // copies
            if _new_numbered(one, known, seen[row]) != _new_numbered(two, known, seen[row]):
                raise broken(row, f"the answer should be {one} and is {two}", None)


def _given_ids(inputs: Mapping[str, Any]) -> list[list[int]]:
    """All ids that each row was given, in the input and in the answer."""
    given = [inputs[name] for name in _ID_ARGUMENTS if inputs.get(name) is not None]
    return torch.cat(given, dim=1).tolist()


def _widened(logits: torch.Tensor, width: int) -> torch.Tensor:
    """`logits (B, ..., V)` with so many columns; those that it lacks are -inf."""
    return nn.functional.pad(logits, (0, width - logits.shape[-1]), value=-torch.inf)


def _new_sorted(logits: torch.Tensor, known: SymbolIds, seen: Sequence[set[int]]) -> torch.Tensor:
    """`logits (R, ..., V)` with the columns of new symbols in ascending order, view by view, whosever they are."""
    logits = logits.clone()
    for row, ids in enumerate(seen):
        new = [symbol for symbol in known.table.tolist() if not ids & set(symbol)]
        for columns in zip(*new, strict=True):
            logits[row, ..., list(columns)] = logits[row, ..., list(columns)].sort(-1).values
    return logits


def _new_numbered(ids: Sequence[int], known: SymbolIds, seen: set[int]) -> list[int | tuple[int, int]]:
    """`ids` with each new symbol as its number, in the order of first appearance, and its view."""
    table = known.table.tolist()
    places = {id_: (referent, view) for referent, row in enumerate(table) for view, id_ in enumerate(row)}
    old = {places[id_][0] for id_ in seen & places.keys()}
    numbers: dict[int, int] = {}
    found: list[int | tuple[int, int]] = []
    for id_ in ids:
        referent, view = places.get(id_, (-1, 0))
        is_new = referent >= 0 and referent not in old
        found.append((numbers.setdefault(referent, len(numbers)), view) if is_new else id_)
    return found

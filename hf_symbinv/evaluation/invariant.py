"""Any model of texts made invariant to the names of symbols, from outside: rename, ask, give the names back.

    ask = invariant(pipeline("text-classification", model="alice/bugs"), symbols=r"[a-z_]\\w*", keep=["if", "return"])

The model sees the first symbol of a text under the first name of a pool, the second under the second, and so on. Texts
that are renamings of each other become the same text, so a deterministic model cannot tell them apart. Read
`SymbolRule`, which finds symbols, `Renaming`, which takes a text there and its result back, then `InvariantModel`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import fsum
from typing import Any

import torch
from transformers import LogitsProcessor, LogitsProcessorList, Pipeline

from hf_symbinv.errors import UserError, in_short
from hf_symbinv.evaluation.invariance import SymbolIds
from hf_symbinv.metrics.alpha_covariance import undo
from hf_symbinv.tasks.pairs import SPECIAL, PairsTask

# A piece of a text: what stays, or a symbol as (kind, name).
Piece = str | tuple[str, str]
Symbols = str | Mapping[str, str] | Callable[[str], Iterable[Sequence[Any]]]
KIND = "symbol"
# Keys of results whose texts are words of the model, and never hold names of symbols.
LABELS = ("label", "labels", "entity", "entity_group", "verdict", "checker")
# Letters that are no words of English; `a`, `i` and `o` are.
_LETTERS = "bcdefghjklmnpqrstuvwxyz"
_PAIRS = ((_LETTERS, "123456789"), (_LETTERS, _LETTERS), (_LETTERS.upper(), _LETTERS))
_CORES = (*_LETTERS, *_LETTERS.upper(), *(first + end for pair in _PAIRS for first, end in product(*pair)))
# How names are written where letters alone are none: in LLVM, shells, SPARQL, strings, tags.
_FORMS = ("{}", "%{}", "@{}", "${}", "_{}", "?{}", '"{}"', "'{}'", "`{}`", "<{}>")
# What a rule must not take as symbols alone.
_PROBE = "if (x1 + 2.5 == y) { return Z; }"


class RenamingError(UserError):
    """A rule, names or a model with which symbols cannot be renamed."""


class SymbolRule:
    """Finds the symbols of texts.

    Args:
        symbols: A regular expression; or kind → expression, where kinds must not exchange names; or a function from a
            text to the places `(start, end)` or `(start, end, kind)` of its symbols, which reads answers too. A place
            that lies in another one, or overlaps one that begins before it, is left out.
        keep: Words that are no symbols, such as keywords.

    Raises:
        RenamingError: If an expression is none, or takes everything for a symbol, or `keep` is one text.
    """

    def __init__(self, symbols: Symbols, keep: Iterable[str] = ()) -> None:
        self.said, self.keep, self.is_function = f"symbols={in_short(symbols)}", tuple(keep), callable(symbols)
        self.kinds: tuple[str, ...] = (KIND,)
        if isinstance(keep, str):
            raise RenamingError(f"keep={keep!r}: must be a list of words, such as ['if', 'return']")
        if callable(symbols):
            self._find = symbols
            return
        try:
            kinds = {KIND: re.compile(symbols)} if isinstance(symbols, str) else {
                kind: re.compile(pattern) for kind, pattern in symbols.items()
            }  # fmt: skip
            # The rule of a user's own pairs: at each place a kept word, else a symbol, else a word that stays.
            patterns = [one.pattern for one in kinds.values()]
            whole = patterns[0] if len(patterns) == 1 else "|".join(f"(?:{pattern})" for pattern in patterns)
            rule = PairsTask(SPECIAL, whole, self.keep).rule
        except (ValueError, TypeError, AttributeError, re.error) as error:
            reason = f"is a {type(symbols).__name__}" if isinstance(error, AttributeError) else error
            raise RenamingError(f"{self.said}: {reason}; give a regular expression of names") from None

        def find(text: str) -> Iterator[tuple[int, int, str]]:
            for start, end, is_symbol in rule.cut(text):
                if is_symbol:
                    fits = (kind for kind, one in kinds.items() if (m := one.match(text, start)) and m.end() == end)
                    yield start, end, next(fits, next(iter(kinds)))

        self.kinds, self._find = tuple(kinds), find
        if not "".join(piece for piece in self.read(_PROBE) if isinstance(piece, str)).strip():
            raise RenamingError(rf"{self.said}: matches everything, signs too; match names alone, as [a-z_]\w* does")

    def read(self, text: str) -> list[Piece]:
        """The pieces of a text: what stays, and symbols.

        Raises:
            RenamingError: If a function gives what is no place in the text.
        """
        places = [tuple(place) for place in self._find(text)]
        for place in places:
            if not (2 <= len(place) <= 3 and 0 <= place[0] < place[1] <= len(text)):
                raise RenamingError(
                    f"{self.said}: {place} is no place in {in_short(text)}; return (start, end) or (start, end, kind) "
                    f"with 0 <= start < end <= {len(text)}"
                )
        pieces: list[Piece] = []
        last = 0
        for start, end, *kind in sorted(places, key=lambda place: (place[0], -place[1])):
            if start >= last and (name := text[start:end]) not in self.keep:
                pieces += [text[last:start], (kind[0] if kind else KIND, name)]
                last = end
        return [piece for piece in [*pieces, text[last:]] if piece]

    def symbols_of(self, text: str) -> list[tuple[str, str]]:
        """Kind and name of each symbol, once, in the order of first appearance."""
        return list(dict.fromkeys(piece for piece in self.read(text) if not isinstance(piece, str)))


class Renaming:
    """One text under other names, `new`, and the way back for what a model says of it.

    Args:
        names: Symbol → new name; all change at once.
        spare: Kind → names for what a model wrote itself and called as a symbol of `text`.

    Raises:
        RenamingError: If the rule reads other symbols in the new text.
    """

    def __init__(
        self, rule: SymbolRule, text: str, names: Mapping[tuple[str, str], str], spare: Mapping[str, Sequence[str]]
    ) -> None:
        self.rule, self.text, self.names, self.spare, self.pieces = rule, text, names, spare, rule.read(text)
        pieces = [piece if isinstance(piece, str) else (piece[0], names[piece]) for piece in self.pieces]
        self.new = "".join(map(_written, pieces))
        if rule.read(self.new) != pieces:
            raise RenamingError(
                f"{rule.said}: finds other symbols in {in_short(self.new)} than in {in_short(text)}, where only names "
                "differ; write a rule of whole words, and give names that it matches"
            )

    def back(self, result: Any) -> Any:
        """A result on the new text, as it is on the user's: names in texts, and `start`, `end`, `offsets`, `word`.

        A name that stands for no symbol of the text stays as the model wrote it. If the text has a symbol of that name,
        it becomes the first spare one that neither the text nor the result has.
        """
        written: dict[tuple[str, str], None] = {}

        def collect(text: str) -> str:
            written.update(dict.fromkeys(self.rule.symbols_of(text)))
            return text

        self._moved(result, collect)
        table = {(kind, new): old for (kind, old), new in self.names.items()}
        own = {old for _, old in self.names}
        taken = own | {name for _, name in written}
        for kind, name in written:
            if (kind, name) not in table and name in own:
                table[kind, name] = _first(self.spare, kind, taken, "the answer")
                taken.add(table[kind, name])

        def rename(text: str) -> str:
            return "".join(p if isinstance(p, str) else table.get(p, p[1]) for p in self.rule.read(text))

        return self._moved(result, rename)

    def _moved(self, result: Any, rename: Callable[[str], str]) -> Any:
        if isinstance(result, str):
            return rename(result)
        if isinstance(result, (list, tuple)):
            return type(result)(self._moved(item, rename) for item in result)
        if not isinstance(result, Mapping):
            return result
        moved = {key: value if key in LABELS else self._moved(value, rename) for key, value in result.items()}
        if "offsets" in result:
            moved["offsets"] = [(self.place(start), self.place(end, True)) for start, end in result["offsets"]]
        whole = result.get("generated_text")
        if isinstance(whole, str) and whole.startswith(self.new):  # the question, and what goes on from its last sign
            moved["generated_text"] = self.text + rename(whole[len(self.new) :])
        start, end = result.get("start"), result.get("end")
        if start is not None and end is not None:
            moved["start"], moved["end"] = self.place(start), self.place(end, True)
            seen = self.new[start:end].strip()
            if seen and seen in result.get("word", ""):  # with a tokenizer's own marks around it
                moved["word"] = result["word"].replace(seen, self.text[moved["start"] : moved["end"]].strip(), 1)
        return moved

    def place(self, at: int, is_end: bool = False) -> int:
        """Where a place of the new text is in the user's; inside of a symbol, where that begins, or where it ends."""
        old = new = 0
        for piece in self.pieces:
            before, after = _written(piece), piece if isinstance(piece, str) else self.names[piece]
            inside = at - new
            if inside < len(after):
                return old + (inside if isinstance(piece, str) else len(before) if inside and is_end else 0)
            old, new = old + len(before), new + len(after)
        return old


def invariant(
    model: Any,
    symbols: Symbols,
    names: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    votes: int = 1,
    keep: Iterable[str] = (),
) -> InvariantModel:
    """A model whose answers do not depend on the names of the symbols in a text; exactly, if `model` is deterministic.

    Args:
        model: A pipeline of transformers, or a callable from a list of texts to a list with a result for each. Results
            are texts, numbers, vectors, and lists and dictionaries of them.
        symbols, keep: As `SymbolRule` takes them.
        names: The pool of names that the model gets to see, the first ones first; kind → names, if there are several
            kinds. By default letters and short words that the rule matches and the model's tokenizer keeps whole.
        votes: Renamings that each text is asked under. Texts, labels and spans are decided by majority; scores and
            vectors are means. A pipeline of text generation takes the mean of logits at each step of a greedy search.

    Returns:
        What is called as `model` is, with a text or a list of them.

    Raises:
        RenamingError: If the rule matches nothing or everything, or a name of the pool is none by the rule, stands
            twice, or is not one token.

    Source: for means, Basu et al., Equi-Tuning: Group Equivariant Fine-Tuning of Pretrained Models (2023); here over a
        sample of the group.
    """
    return InvariantModel(model, SymbolRule(symbols, keep), names, votes)


class InvariantModel:
    """What `invariant` returns; call it with a text or a list of texts, and the options of the model."""

    def __init__(self, model: Any, rule: SymbolRule, names: Any = None, votes: int = 1) -> None:
        if not isinstance(votes, int) or votes < 1:
            raise RenamingError(f"votes={votes!r}: must be a whole number of at least 1, such as 5")
        if not callable(model) or isinstance(model, torch.nn.Module):
            remedy = "give pipeline(task, model=...), or a function of a list of texts"
            raise RenamingError(f"model={in_short(model)}: takes no texts; {remedy}")
        self.model, self.rule, self.votes = model, rule, votes
        self.tokenizer: Any = getattr(model, "tokenizer", None)
        given = names if isinstance(names, Mapping) else dict.fromkeys(rule.kinds, names)
        kinds = dict.fromkeys([*rule.kinds, *given] if not rule.is_function else given)
        self.names: dict[str, tuple[str, ...]] = {kind: self._pool(kind, given.get(kind)) for kind in kinds}
        # For names that the model makes up, which it need not know.
        self.spare = {kind: (*pool, *self._fitting(kind, _CORES)) for kind, pool in self.names.items()}

    def _pool(self, kind: str, names: Sequence[str] | None) -> tuple[str, ...]:
        if names is None:
            if fitting := self._fitting(kind, [core for core in _CORES if len(self._tokens(core)) == 1]):
                return fitting
            if fitting := self._fitting(kind, _CORES):
                raise RenamingError(
                    f"{self.rule.said}: the model's tokenizer has no token for any of {in_short(fitting)}, which could "
                    f"stand for symbols of kind {kind!r}; give names={{{kind!r}: [...]}} that are one token each"
                )
            raise RenamingError(
                f"{self.rule.said}: matches no names that could stand for symbols of kind {kind!r}, such as b, %b and "
                f"@b; correct the rule, or give names={{{kind!r}: [...]}} that it matches"
            )
        if isinstance(names, str):
            raise RenamingError(f"names={names!r}: must be a list of names, such as ['b', 'c']")
        names = tuple(names)
        for name in names:
            if names.count(name) > 1 or not self._is_name(kind, name):
                wrong = "stands twice" if names.count(name) > 1 else f"is no symbol of kind {kind!r} by the rule"
                raise RenamingError(f"names: {name!r} {wrong}; give different names that {self.rule.said} matches")
            if len(tokens := self._tokens(_core(name))) != 1:
                raise RenamingError(
                    f"names: {name!r} is {in_short(tokens)} to the model's tokenizer; give names that are one token "
                    "each, or leave names out"
                )
        return names

    def _fitting(self, kind: str, cores: Sequence[str]) -> tuple[str, ...]:
        """Names of these letters and words, in the first form in which the rule matches some; none if it never does."""
        forms = (tuple(name for name in map(form.format, cores) if self._is_name(kind, name)) for form in _FORMS)
        return next(filter(None, forms), ())

    def _is_name(self, kind: str, name: str) -> bool:
        return name not in self.rule.keep and (self.rule.is_function or self.rule.read(name) == [(kind, name)])

    def _tokens(self, core: str) -> list[Any]:
        """The tokens of a name; one if there is no tokenizer, or it is of this package and keeps all names whole."""
        if self.tokenizer is None or hasattr(self.tokenizer, "base_tokens"):
            return [core]
        batch = self.tokenizer(core, add_special_tokens=False)
        names = {"symbols": batch.symbols} if hasattr(batch, "symbols") else {}  # ids of streams keep none
        tokens: list[Any] = self.tokenizer.convert_ids_to_tokens(ids := batch["input_ids"], **names)
        # Unknown names come back as others, and so do capital letters where the tokenizer has small ones alone.
        return tokens if len(ids) != 1 or self.tokenizer.decode(ids, **names).strip() == core else [*tokens, core]

    def canonical(self, text: str) -> Renaming:
        """The text under the pool's first names, which is the same for all its renamings.

        Raises:
            RenamingError: If all of the text is one symbol, or it has more symbols than the pool has names.
        """
        pieces = self.rule.read(text)
        if self.rule.is_function and len(pieces) == 1 and not isinstance(pieces[0], str) and len(text.split()) > 1:
            raise RenamingError(f"{self.rule.said}: takes all of {in_short(text)} for one symbol; match names alone")
        return self.renaming(text, self.available(text, self.names))

    def ballots(self, canonical: str) -> list[Renaming]:
        """Renamings of a canonical text that depend on nothing else; the first leaves it as it is."""
        generator, size = random.Random(canonical), len(self.rule.symbols_of(canonical))
        # Near the beginning of the pool are letters, which models know best. Our choice: twice as many as are needed.
        near = {kind: pool[: 2 * size + 8] for kind, pool in self.available(canonical, self.names).items()}
        drawn = [{kind: generator.sample(pool, len(pool)) for kind, pool in near.items()} for _ in range(self.votes)]
        return [self.renaming(canonical, pools) for pools in [near, *drawn[1:]]]

    def available(self, text: str, pools: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """The names of pools that no part of the text has that stays; symbols may have them, because all change."""
        fixed = "\n".join([piece for piece in self.rule.read(text) if isinstance(piece, str)])
        words = {*re.findall(r"\w+", fixed), *self.rule.keep}
        return {kind: [name for name in pool if _core(name) not in words] for kind, pool in pools.items()}

    def renaming(self, text: str, pools: Mapping[str, Sequence[str]]) -> Renaming:
        """The text with the first names of pools, each of them used once."""
        names: dict[tuple[str, str], str] = {}
        symbols = self.rule.symbols_of(text)
        for kind, old in symbols:
            whose = f"{in_short(text, 60)} with {len(symbols)} symbols"
            names[kind, old] = _first(pools, kind, names.values(), whose)
        return Renaming(self.rule, text, names, self.spare)

    def __call__(self, inputs: str | Iterable[str], **options: Any) -> Any:
        """The result for a text, or a list of results for several; renamings of one text are asked once.

        Raises:
            RenamingError: If an input is no text or has more symbols than the pool, or the model returns another number
                of results than it got texts.
        """
        is_single = isinstance(inputs, str)
        texts: list[Any] = [inputs]
        if isinstance(inputs, Iterable) and not isinstance(inputs, (str, Mapping)):
            texts = list(inputs)
        for text in texts:
            if not isinstance(text, str):
                one = "the column" if isinstance(text, Mapping) and hasattr(inputs, "column_names") else "a text"
                chat = "; for chats, wrap a function that makes one of each text" * isinstance(text, (Mapping, list))
                raise RenamingError(f"{in_short(text)}: is no text; give {one}, or a list of texts{chat}")
        asked = [self.canonical(text) for text in texts]
        polls = {one.new: self.ballots(one.new) if self.votes > 1 else [one] for one in asked}
        answers = {text: self._mean_logits(poll, options) for text, poll in polls.items()}
        left = [ballot.new for text, poll in polls.items() if answers[text] is None for ballot in poll]
        # Some pipelines wrap the result of a single text otherwise.
        alone = is_single and isinstance(self.model, Pipeline)
        results = iter([self.model(one, **options) for one in left] if alone else ask(self.model, left, options))
        for text, poll in polls.items():
            if answers[text] is None:
                found = [(ballot, next(results)) for ballot in poll]
                answers[text] = found[0][1] if self.votes == 1 else elect([one.back(result) for one, result in found])
        given = [one.back(answers[one.new]) for one in asked]
        return given[0] if is_single else given

    def _mean_logits(self, poll: list[Renaming], options: Mapping[str, Any]) -> Any:
        """What a greedy search over the mean logits of ballots writes; None if that is not possible.

        It needs a pipeline of text generation, and names that are one token. Sampling and beams are left to ballots.
        """
        is_greedy = not options.get("do_sample") and options.get("num_beams", 1) == 1
        if self.votes == 1 or getattr(self.model, "task", None) != "text-generation" or not is_greedy:
            return None
        mean = MeanLogits(self.tokenizer, [{old: new for (_, old), new in one.names.items()} for one in poll])
        if not mean.fits:
            return None
        if self.tokenizer.pad_token_id is None:
            raise RenamingError(
                f"votes={self.votes}: ballots are one batch, and the tokenizer has no token for padding; set "
                "pipeline.tokenizer.pad_token = pipeline.tokenizer.eos_token"
            )
        own = LogitsProcessorList([*options.get("logits_processor", ()), mean])
        greedy = {"do_sample": False, "num_beams": 1, "batch_size": len(poll), "logits_processor": own}
        return ask(self.model, [one.new for one in poll], {**options, **greedy})[0]


class MeanLogits(LogitsProcessor):
    """Gives row i of a batch the mean logits of all its rows, in the names of row i: g_i mean_j g_j^-1 f(g_j x).

    `rows` are, for each row, names of the first row → its own. If it `fits`, each name has an id of its own, alone or
    behind a blank.
    """

    def __init__(self, tokenizer: Any, rows: Sequence[Mapping[str, str]]) -> None:
        names = sorted({name for row in rows for name in (*row, *row.values())})
        columns: list[list[int]] = []
        for before in ("", " "):
            found = [tokenizer(before + _core(name), add_special_tokens=False)["input_ids"] for name in names]
            ids = [one[0] for one in found if len(one) == 1]
            if len({*ids}) == len(names) and not {*ids} & {id_ for column in columns for id_ in column}:
                columns.append(ids)
        self.fits = bool(columns)
        self.known = SymbolIds(torch.tensor(columns).T) if names and columns else None
        first = [undo(row) for row in rows]  # permutations of names
        self.to_first = torch.tensor([[names.index(row.get(name, name)) for name in names] for row in first])

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """`scores (B, V)`, with a row for each ballot."""
        if self.known is None:  # no symbols: all rows are one text
            return scores
        mean = self.known.columns_renamed(scores, self.to_first).mean(0, keepdim=True)
        return self.known.columns_renamed(mean.expand_as(scores), self.to_first.argsort(1))


def ask(model: Any, texts: list[str], options: Mapping[str, Any]) -> list[Any]:
    """The results of a model, one for each text.

    Raises:
        RenamingError: If there are more or fewer.
    """
    results = model(texts, **options) if texts else []
    number = len(results) if hasattr(results, "__len__") and not isinstance(results, (str, Mapping)) else "no list of"
    if number != len(texts):
        raise RenamingError(
            f"the model returned {number} results for {len(texts)} texts; make it return a list with one for each"
        )
    return list(results)


def elect(ballots: Sequence[Any]) -> Any:
    """One result of several for the same text.

    Spans are decided one by one: one is in the result if more than half of the ballots have it. All else is decided as
    a whole by majority, by the earliest ballot where votes are equal. Of the ballots that agree, numbers with a point
    and tensors are means; labels with scores are put in order again.
    """
    if all(isinstance(ballot, list) and _have(ballot, "start", "end") for ballot in ballots):
        by_place: dict[Any, list[Any]] = {}
        for item in (item for ballot in ballots for item in ballot):
            by_place.setdefault((item["start"], item["end"]), []).append(item)
        return [elect(items) for _, items in sorted(by_place.items()) if 2 * len(items) > len(ballots)]
    is_ranked = all(isinstance(ballot, list) and ballot and _have(ballot, "label", "score") for ballot in ballots)
    if is_ranked:
        ballots = [sorted(ballot, key=lambda item: str(item["label"])) for ballot in ballots]
    keys = [_key(ballot) for ballot in ballots]
    winner = max(keys, key=keys.count)
    mean = _mean([ballot for ballot, key in zip(ballots, keys, strict=True) if key == winner])
    return sorted(mean, key=lambda item: -item["score"]) if is_ranked else mean


def _have(items: list[Any], *keys: str) -> bool:
    return all(isinstance(item, Mapping) and {*keys} <= item.keys() for item in items)


def _key(result: Any) -> Any:
    """What must be equal for two results to agree: all but numbers with a point."""
    if isinstance(result, Mapping):
        return tuple((key, _key(value)) for key, value in result.items())
    if isinstance(result, (list, tuple)):
        return tuple(map(_key, result))
    return None if isinstance(result, float) else tuple(result.shape) if hasattr(result, "shape") else result


def _mean(results: Sequence[Any]) -> Any:
    first = results[0]
    if isinstance(first, Mapping):
        return {key: _mean([result[key] for result in results]) for key in first}
    if isinstance(first, (list, tuple)):
        return type(first)(_mean(items) for items in zip(*results, strict=True))
    if isinstance(first, float):
        return fsum(results) / len(results)
    return sum(results[1:], first) / len(results) if hasattr(first, "shape") else first


def _first(pools: Mapping[str, Sequence[str]], kind: str, taken: Collection[str], whose: str) -> str:
    """The first name for a kind that is not taken; a single pool is for all kinds."""
    pool = pools.get(kind, next(iter(pools.values())) if len(pools) == 1 else ())
    for name in pool:
        if name not in taken:
            return name
    raise RenamingError(
        f"{whose}: needs more names than the {len(pool)} of kind {kind!r} in the pool that are free; give "
        f"names={{{kind!r}: [...]}} with more"
    )


def _written(piece: Piece) -> str:
    return piece if isinstance(piece, str) else piece[1]


def _core(name: str) -> str:
    """A name without the signs around it."""
    return re.sub(r"^\W+|\W+$", "", name) or name


__all__ = ["InvariantModel", "RenamingError", "Renaming", "SymbolRule", "ask", "elect", "invariant"]

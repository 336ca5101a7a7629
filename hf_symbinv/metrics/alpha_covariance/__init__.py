"""Alpha-covariance: how far a model's answers follow a renaming of the symbols in its inputs.

For one input-output pair, P is a set of alpha-equivalent pairs, α_i the renaming that makes the i-th of them, and U the
set of the model's predictions with their renamings undone, {α_i⁻¹(ŷ^i)}. Then

    `alpha-covariance = 1 - (|U| - 1) / (|P| - 1)`

It is 1 if the renamings change nothing and 0 if every prediction differs; it says nothing about correctness.
An example with fewer than two renamings has none. Predictions are compared well-formed or not: traces and assignments
in infix notation, `a; cycle{b}` and `a=1, b=0`, as what they mean, and every other text word by word in prefix
notation, COMPACT or SPACED. Every word that is an identifier is a symbol, unless it is listed as a base token. A word
that hides a renamed symbol, as `F(grant)` hides `grant`, is refused: its text is in a notation that is not known here.

Source: Symbol-Invariant Transformer, section 5.1.1; Interchangeable Token Embeddings, section 5.2.2.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import random
import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypedDict

from hf_symbinv.logic import FormulaSyntaxError, parse_infix, to_infix
from hf_symbinv.logic.notation import Token, is_spaced, read_words, write_prefix
from hf_symbinv.metrics.notations import ASSIGNMENTS, TRACES, NotationError, check_notation

# With five symbols in an alphabet of five, all of them; with ten, the papers' sample (ITE, Table 3).
DEFAULT_LIMIT = 120
_NAME_WITHIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


class Words(NamedTuple):
    """A notation of a task's own: `read` gives the words of any text, and `write` a text of words."""

    read: Callable[[str], Iterator[Token]]
    write: Callable[[Iterator[Token]], str]

    def rename(self, text: str, renaming: Mapping[str, str]) -> str:
        """A text with its symbols renamed."""
        return self.write(_renamed_words(self.read(text), renaming))


class AlphaCovariance(TypedDict):
    """What was measured.

    alpha_covariance: Mean over the examples that have one; None if none has.
    examples: Number of examples in the mean.
    excluded: Number of examples left out because they have no or only one renaming.
    predictions: Number of predictions compared.
    per_example: Alpha-covariance of each example in order; None for those left out.
    """

    alpha_covariance: float | None
    examples: int
    excluded: int
    predictions: int
    per_example: list[float | None]


def compute_alpha_covariance(
    predictions: Sequence[Sequence[str]],
    renamings: Sequence[Sequence[Mapping[str, str]]],
    *,
    base_tokens: Collection[str] = (),
    notation: str | Words = "auto",
) -> AlphaCovariance:
    """Mean alpha-covariance of predictions whose inputs are known to be renamings of each other.

    Args:
        predictions, renamings: For each example, the prediction for each of its alpha-equivalent inputs, and the
            renaming (old name to new name) that made it.
        base_tokens: Words that look like symbols and are none.
        notation: `auto` reads traces and assignments in infix notation too; `prefix` takes every text word by word, and
            so does a notation of a task's own.

    Raises:
        NotationError: If a word hides a renamed symbol.
        ValueError: If there are no examples, the numbers of predictions and renamings differ, a renaming gives two
            symbols the same name, an example has the same renaming twice, or `notation` is unknown.
    """
    if isinstance(base_tokens, str):
        raise ValueError(f"base_tokens={base_tokens!r}: must be a list of words, such as ['then']")
    if not isinstance(notation, Words):
        check_notation(notation, ("auto", "prefix"))
    if len(predictions) != len(renamings):
        raise ValueError(f"{len(predictions)} examples of predictions, {len(renamings)} of renamings: must be equal")
    if not predictions:
        raise ValueError("no examples: alpha-covariance is a mean over at least one")
    per_example = []
    for index, (answers, mappings) in enumerate(zip(predictions, renamings, strict=True)):
        try:
            per_example.append(_of_example(answers, mappings, base_tokens, notation))
        except ValueError as error:
            kind = NotationError if isinstance(error, NotationError) else ValueError
            raise kind(f"example {index}: {error}") from None
    measured = [value for value in per_example if value is not None]
    return {
        "alpha_covariance": math.fsum(measured) / len(measured) if measured else None,
        "examples": len(measured),
        "excluded": len(per_example) - len(measured),
        "predictions": sum(len(a) for a, value in zip(predictions, per_example, strict=True) if value is not None),
        "per_example": per_example,
    }


def _of_example(
    predictions: Sequence[str],
    renamings: Sequence[Mapping[str, str]],
    base_tokens: Collection[str],
    notation: str | Words,
) -> float | None:
    """Alpha-covariance of one example, None if it has fewer than two renamings."""
    if len(predictions) != len(renamings):
        raise ValueError(f"{len(predictions)} predictions for {len(renamings)} renamings: must be equal")
    if len({frozenset(renaming.items()) for renaming in renamings}) != len(renamings):
        raise ValueError("a renaming occurs twice; alpha-equivalent inputs must be distinct")
    return covariance_of(
        [
            tuple(_renamed_words(_answer_words(prediction, renaming, base_tokens, notation), undo(renaming)))
            for prediction, renaming in zip(predictions, renamings, strict=True)
        ]
    )


def covariance_of(undone: Sequence[Hashable]) -> float | None:
    """Alpha-covariance of one example's predictions, whose renamings are undone; None for fewer than two."""
    return 1 - (len(set(undone)) - 1) / (len(undone) - 1) if len(undone) > 1 else None


def measure_alpha_covariance(
    predict: Callable[[list[str]], list[str]],
    inputs: Sequence[str],
    *,
    alphabet: Sequence[str],
    limit: int | None = DEFAULT_LIMIT,
    seed: int = 0,
    base_tokens: Collection[str] = (),
    notation: str | Words = "prefix",
) -> AlphaCovariance:
    """Rename every input, ask the model, and compute the alpha-covariance of its answers.

    Args:
        predict: Answers a list of inputs, in order. Called once for each example with all its alpha-equivalent
            inputs; examples with fewer than two are not asked.
        inputs: Texts in prefix notation, or formulas in infix notation.
        alphabet, limit, seed: As `renamings_of` takes them.
        base_tokens: Words that look like symbols and are none.
        notation: Of the inputs, `prefix` or `infix`; answers may be in either. Or a task's own, in which answers are
            too.

    Raises:
        NotationError: If an input or an answer cannot be read.
        ValueError: If `predict` returns another number of answers than it got inputs, and as `renamings_of` and
            `compute_alpha_covariance` do.
    """
    if not isinstance(notation, Words):
        check_notation(notation, ("prefix", "infix"))
    predictions: list[list[str]] = []
    renamings: list[list[dict[str, str]]] = []
    for index, text in enumerate(inputs):
        symbols, rename = _input(index, text, base_tokens, notation)
        mappings = renamings_of(symbols, alphabet, limit=limit, seed=seed + index)
        renamed = [rename(mapping) for mapping in mappings]
        answers = predict(renamed) if len(mappings) > 1 else [""]
        if len(answers) != len(mappings):
            raise ValueError(f"example {index}: predict returned {len(answers)} answers for {len(mappings)} inputs")
        predictions.append(answers)
        renamings.append(mappings)
    read = notation if isinstance(notation, Words) else "auto"
    return compute_alpha_covariance(predictions, renamings, base_tokens=base_tokens, notation=read)


def once_for_all_renamings(
    predict: Callable[[list[str]], list[str]],
    inputs: Sequence[str],
    base_tokens: Collection[str] = (),
    notation: Words | None = None,
) -> Callable[[list[str]], list[str]]:
    """`predict` for a model whose answer to a renamed input is known to be the renamed answer.

    `predict` is called once, with one of `inputs` for all that are renamings of each other; it may write symbols of
    the input, and names that no input has. What is returned answers renamings of `inputs` by renaming their answers;
    symbols are matched in the order of first appearance. `notation` is a task's own, or None for prefix notation.
    """
    own = notation or _prefix(base_tokens)

    def shape_and_symbols(text: str) -> tuple[tuple[tuple[str, int], ...], tuple[str, ...]]:
        words = list(own.read(text))
        names = tuple(dict.fromkeys(name for _, _, name in words if name is not None))
        places = {name: place for place, name in enumerate(names)}
        return tuple((operator, -1 if name is None else places[name]) for _, operator, name in words), names

    asked: dict[tuple[tuple[str, int], ...], tuple[str, tuple[str, ...]]] = {}
    for text in inputs:
        shape, names = shape_and_symbols(text)
        asked.setdefault(shape, (text, names))
    answers = dict(zip(asked, predict([text for text, _ in asked.values()]), strict=True))

    def renamed_answers(texts: list[str]) -> list[str]:
        found = []
        for text in texts:
            shape, names = shape_and_symbols(text)
            found.append(own.rename(answers[shape], dict(zip(asked[shape][1], names, strict=True))))
        return found

    return renamed_answers


def renamings_of(
    symbols: Sequence[str], alphabet: Sequence[str], *, limit: int | None = DEFAULT_LIMIT, seed: int = 0
) -> list[dict[str, str]]:
    """The renamings of k `symbols` into an alphabet of n names: all n!/(n-k)! of them, or a sample of distinct ones.

    All if there are at most `limit`, or that is None; otherwise so many are drawn by `seed`.

    Raises:
        ValueError: If a name occurs twice, the alphabet is smaller than the set of symbols, or `limit` is below 1.
    """
    for role, names in (("symbols", symbols), ("alphabet", alphabet)):
        if len(set(names)) != len(names):
            raise ValueError(f"{role} {list(names)}: a name occurs twice; names must be distinct")
    if len(alphabet) < len(symbols):
        raise ValueError(f"{len(symbols)} symbols cannot be renamed into an alphabet of {len(alphabet)}; enlarge it")
    if limit is not None and limit < 1:
        raise ValueError(f"limit={limit}: must be at least 1, or None for all renamings")
    total = math.perm(len(alphabet), len(symbols))
    if limit is None or total <= limit:
        choices: Iterator[tuple[str, ...]] = itertools.permutations(alphabet, len(symbols))
    else:
        generator = random.Random(seed)
        drawn: dict[tuple[str, ...], None] = {}
        while len(drawn) < limit:
            drawn[tuple(generator.sample(alphabet, len(symbols)))] = None
        choices = iter(drawn)
    return [dict(zip(symbols, choice, strict=True)) for choice in choices]


def undo(renaming: Mapping[str, str]) -> dict[str, str]:
    """The inverse of a renaming, as a permutation of all its names.

    A model may answer with a symbol that the input does not have; chains are closed for it: a → b, b → c gets c → a.

    Raises:
        ValueError: If two symbols get the same name.
    """
    inverse = {new: old for old, new in renaming.items()}
    if len(inverse) != len(renaming):
        raise ValueError(f"renaming {dict(renaming)}: two symbols get the same name; new names must differ")
    for start in renaming:
        if start not in inverse:
            end = start
            while end in renaming:
                end = renaming[end]
            inverse[start] = end
    return inverse


def symbols_of(text: str, base_tokens: Collection[str] = ()) -> tuple[str, ...]:
    """The names of the symbols in a prefix text, in the order of their first appearance."""
    return tuple(dict.fromkeys(name for _, _, name in read_words(text, base_tokens) if name is not None))


def rename_text(text: str, renaming: Mapping[str, str], base_tokens: Collection[str] = ()) -> str:
    """A prefix text with its symbols renamed; every other token stays, and the text need not be well-formed."""
    return _prefix(base_tokens).rename(text, renaming)


def _prefix(base_tokens: Collection[str]) -> Words:
    return Words(partial(read_words, base_tokens=base_tokens), write_prefix)


def _renamed_words(words: Iterator[Token], renaming: Mapping[str, str]) -> Iterator[Token]:
    for _, operator, name in words:
        yield Token(-1, operator, name if name is None else renaming.get(name, name))


def _answer_words(
    text: str, renaming: Mapping[str, str], base_tokens: Collection[str], notation: str | Words
) -> Iterator[Token]:
    """The words of an answer in prefix notation; NotationError if one hides a symbol that `renaming` has."""
    if isinstance(notation, Words):
        return notation.read(text)
    for kind in (TRACES, ASSIGNMENTS):
        if notation == "auto" and kind.notation_of(text) == "infix":
            try:
                return read_words(kind.to_prefix(text))  # no base token: every name of an infix text is a symbol
            except FormulaSyntaxError:
                break
    words = list(read_words(text, base_tokens))
    names = {*renaming, *renaming.values()}
    runs = [text]
    if is_spaced(text):
        runs = [word for _, word, name in words if name is None and word not in base_tokens]
    else:
        names = {name for name in names if len(name) > 1}  # without blanks every letter is a word of its own
    for run in runs:
        for hidden in _NAME_WITHIN.findall(run):
            if hidden in names:
                raise NotationError(
                    f"{text!r}: {run!r} hides the symbol {hidden!r}; write answers in prefix notation with blanks "
                    "between the words, traces as a; cycle{b} or assignments as a=1, b=0"
                )
    return iter(words)


def _input(
    index: int, text: str, base_tokens: Collection[str], notation: str | Words
) -> tuple[tuple[str, ...], Callable[[Mapping[str, str]], str]]:
    """The symbols of an input, and what renames it."""
    if isinstance(notation, Words):
        found = dict.fromkeys(name for _, _, name in notation.read(text) if name is not None)
        return tuple(found), lambda renaming: notation.rename(text, renaming)
    if notation == "infix":
        try:
            formula = parse_infix(text)
        except FormulaSyntaxError as error:
            raise NotationError(f"example {index}: input {text!r} is no formula in infix notation: {error}") from None
        return formula.symbols(), lambda renaming: to_infix(formula.rename(renaming))
    if is_spaced(text) and any(
        name is None and word not in base_tokens and len(word) > 1 and _NAME_WITHIN.search(word)
        for _, word, name in read_words(text, base_tokens)
    ):
        with contextlib.suppress(FormulaSyntaxError):
            parse_infix(text)
            raise NotationError(f"example {index}: input {text!r} is in infix notation; say notation='infix'")
    return symbols_of(text, base_tokens), lambda renaming: rename_text(text, renaming, base_tokens)

"""What a task is: the interface between a kind of question and everything that draws, learns, answers and checks it.

A new task is one file: a subclass of `SymbolTask` that names its base tokens and says how to draw a question, how to
solve it and how to judge an answer, and an instance of it. Data sets, training, decoding, evaluation and the command
line need nothing else. `symbinv task new` writes one to start from, and `symbinv task check` tries the laws of tasks.
Questions and answers are texts in prefix notation, COMPACT (`&aXb`, every character a token) or SPACED (`& request X
grant_1`, tokens between blanks); every word that is no base token is a symbol.
"""

from __future__ import annotations

import itertools
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hf_symbinv.errors import UserError, in_short
from hf_symbinv.logic.notation import Token, is_spaced, read_words, write_prefix
from hf_symbinv.solvers import Checker, ProcessPool
from hf_symbinv.solvers.checker import OTHERWISE, Verdict
from hf_symbinv.values import is_text

if TYPE_CHECKING:
    import random

    from hf_symbinv.logic import Worlds
    from hf_symbinv.modeling.configuration_symbinv import SymbolInvariantConfig
    from hf_symbinv.modeling.listed_tokens_symbinv import ListedTokens


LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Our choice: drawing a few small questions takes the package's tasks some milliseconds.
EXAMPLE_SECONDS = 10.0
# Sizes are kept as 32 bits with a sign.
LARGEST_SIZE = 1 << 31
_DEFAULT_NAME = re.compile(r"[a-z]|p[1-9][0-9]+")


def symbol_names(count: int) -> tuple[str, ...]:
    """The first names of symbols that have none: a, b, ..., z, p26, p27, ..."""
    return tuple(map(_symbol_name, range(count)))


def _symbol_name(place: int) -> str:
    return LETTERS[place] if place < len(LETTERS) else f"p{place}"


class MeasureError(UserError):
    """A task that measures a question by something that is no measure."""


def symbols_of(task: SymbolTask, text: str) -> tuple[str, ...]:
    """What a task says are the symbols of a text; MeasureError if it says something else."""
    found: object = task.symbols(text)
    names = found if isinstance(found, (tuple, list)) else [None]
    if not all(is_text(name) and name for name in names) or len(set(names)) < len(names):
        raise MeasureError(
            f"task {task.name}: symbols({in_short(text)}) returned {in_short(found)}; return a tuple of different names"
        )
    return tuple(names)


def size_of(task: SymbolTask, question: str) -> int:
    """What a task says is the size of a question; MeasureError if it is no whole number from 0 to `LARGEST_SIZE`."""
    found: object = task.size(question)
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found < LARGEST_SIZE:
        raise MeasureError(
            f"task {task.name}: size({in_short(question)}) returned {in_short(found)}; return a whole number of at "
            "least 0, the tokens of the question"
        )
    return found


def solve_ordered(task: SymbolTask, question: str) -> Any:
    """What the task's solver returns; an answer in the order of the question's symbols.

    It stands here for the processes that solve: where data sets are written, they would import `datasets`.
    """
    answer: Any = task.solve(question)
    return task.ordered(question, answer) if is_text(answer) else answer


class SymbolTask(ABC):
    """A kind of question about interchangeable symbols.

    Attributes:
        name: Name in commands, recipes and data sets.
        base_tokens: Tokens of fixed identity in the order of their ids, `<s>`, `<pad>` and `</s>` among them. Not the
            padding token first, because `generate` fills finished beams with `pad_token_id or eos_token_id`.
        token_arity: Base token → number of children, of the tokens that make syntax trees. Empty if questions are no
            trees: then texts are not checked to be trees, and positions count along the sequence.
        columns: The columns of a data set that hold questions and answers.
        grammar: What decoding keeps to, as `SymbolInvariantConfig.grammar`: a grammar's name and the ids of its tokens,
            places in `base_tokens`. None leaves answers free: every token may follow every other. There are two:
            `assignment`, symbols and values in turn, so that with

                base_tokens = ("<s>", "<pad>", "</s>", "0", "1")
                grammar = {"name": "assignment", "values": [3, 4]}

            a model writes `a1b0` and nothing like `ab1`, and assigns no symbol twice; and `lasso`, the traces of LTL
            (see `LTLTask.grammar`). A grammar makes wrong form impossible, not wrong answers.
        metric: Name of the `evaluate` module that scores answers; None if the shares of verdicts say all.
        description: Sentences on questions and answers, for data set cards.
        notations: Names of the notations that questions are read and written in, the user's default first.
        uniform_from: The smallest size that random data sets have as many questions of as of every larger size. Where
            few small questions exist, a size of their own for each would soon be exhausted.
        short_share: The share of the rows that all sizes below `uniform_from` get together, between 0 and 1. For
            example, with `uniform_from = 4` and `short_share = 0.1`, 1,000 rows of sizes 1 to 8 are 100 questions of
            sizes 1 to 3, as they come, and 180 of each size from 4 to 8. By default every size is equally frequent.
        shard: Questions that one fresh process solves, and one file keeps, while a data set is made: some 0.3 s of work
            or more, in which 5 ms for the process and as much for the file are lost.
        drought: Questions drawn in a row without a new one that is wanted, after which a size counts as exhausted.
        judges: Whether answers can be judged without a known one. If not, they are only compared with known ones.
        max_new_tokens: Tokens of an answer, at most, that a trained model writes if it is not told otherwise.
        num_fresh_symbols: Symbols, at most, that an answer may have and its question does not have. Their names do not
            matter: two answers that differ by them alone count as the same.
        names: Names of symbols in training, for a model with a row for each; empty if they are a, b, …, p26, p27, …
    """

    name: str
    base_tokens: tuple[str, ...]
    token_arity: Mapping[str, int] = {}
    columns: tuple[str, str] = ("question", "answer")
    grammar: Mapping[str, Any] | None = None
    metric: str | None = None
    description: str = ""
    notations: tuple[str, ...] = ("prefix",)
    uniform_from: int = 1
    short_share: float = 0.0
    shard: int = 512
    drought: int = 200_000
    judges: bool = True
    max_new_tokens: int = 100
    num_fresh_symbols: int = 0
    names: tuple[str, ...] = ()

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        for token in ("<s>", "<pad>", "</s>"):
            if token not in getattr(cls, "base_tokens", (token,)):
                raise TypeError(f"{cls.__name__}.base_tokens: has no {token!r}; add it")
        for token in getattr(cls, "base_tokens", ()):
            if _DEFAULT_NAME.fullmatch(token):
                raise TypeError(
                    f"{cls.__name__}.base_tokens: {token!r} is the name of a symbol, as are a to z, p26, p27, ...; "
                    "write the token in another way"
                )
        others = ("symbols", "length", "solver_version")  # which a data set has besides
        if len(cls.columns) != 2 or len({*cls.columns, *others}) != 5:
            raise TypeError(
                f"{cls.__name__}.columns={cls.columns!r}: must be two different names, of questions and of answers, "
                f"and none of {', '.join(others)}; choose others"
            )

    # What a task must say

    @abstractmethod
    def draw(self, symbols: Sequence[str], smallest: int, largest: int, seed: int, count: int) -> list[str]:
        """Random questions: a function of the arguments, called in a process that does nothing else.

        Args:
            symbols: Names that questions may use; not every question needs to use all.
            smallest, largest: Sizes to aim at; questions of another size are thrown away.
            seed: Of the random numbers, a signed 32-bit integer of at least 0.
            count: How many to try; those of another size may be left out already.
        """

    @abstractmethod
    def solve(self, question: str) -> str | None:
        """A correct answer, or None if there is none. May take long or hang: callers limit the time from outside."""

    @abstractmethod
    def judge(self, question: str, answer: str) -> tuple[str, str]:
        """The verdict `correct`, `incorrect` or `invalid` (no answer at all), and why it is not `correct`.

        Every text may come, the empty one too. May take long or hang: callers limit the time from outside.
        """

    # What a task may say better

    def quick_verdict(self, question: str, answer: str) -> Verdict | None:
        """A verdict as `judge` gives it, found within milliseconds and in this process, or None.

        `symbinv evaluate` asks for it where `judge` ran out of time, and training with `risk_candidates` before it asks
        `judge`.
        """
        return None

    def prepare(self) -> None:
        """Load what `draw`, `solve` and `judge` need, once per process.

        Raises:
            ImportError: If a solver is not installed, with the command that installs it.
        """
        return None

    def solver_version(self) -> str:
        """What `solve` relies on, such as `spot 2.13`; written into data sets."""
        from hf_symbinv import __version__

        return f"hf_symbinv {__version__}"

    def normalized(self, answer: str) -> str:
        """A text that answers share if they count as the same: what `exact` means, up to the names of new symbols."""
        return answer

    def ordered(self, question: str, answer: str) -> str:
        """The same answer, with what it may say in any order in the order of the question's symbols.

        A solver takes the order of their names, which no model that is invariant to renaming can know. By default an
        answer stays as it is.
        """
        return answer

    def completed(self, question: str, generator: random.Random) -> str | None:
        """One of the correct answers that leave nothing open, each as likely; None if the task has no such answers."""
        return None

    def worlds(self, symbols: int) -> Worlds | None:
        """Worlds in which each part of a prompt is true or not, for a recipe with `truth_loss`; None without meaning.

        Args:
            symbols: How many have truth values in them.
        """
        return None

    def size(self, question: str) -> int:
        """The size of a question, in tokens."""
        return sum(1 for _ in read_words(question)) if is_spaced(question) else len(question)

    def prompt(self, question: str) -> str:
        """What the model reads, in base tokens and symbols."""
        return question

    def read_question(self, text: str, notation: str) -> str:
        """A question that a user wrote, in prefix notation.

        Raises:
            ValueError: If `text` is no question in this notation, or `notation` is unknown.
        """
        self._known(notation)
        return text

    def write_question(self, question: str, notation: str) -> str:
        """A question as a user wants to see it."""
        self._known(notation)
        return question

    def read_answer(self, text: str) -> str:
        """An answer that a user wrote in any notation, in prefix notation.

        Raises:
            ValueError: If `text` is no answer.
        """
        return text

    def write_answer(self, answer: str, notation: str) -> str:
        """An answer as a user wants to see it; one that cannot be read stays as it is."""
        self._known(notation)
        return answer

    def example(self) -> str:
        """A question that a card shows, `a` if none is drawn in a few seconds."""
        with ProcessPool(self._first_drawn, workers=1, timeout=EXAMPLE_SECONDS, initializer=self.prepare) as pool:
            (outcome,) = pool.map([(symbol_names(4), 4, 8, 0, 50)])
        return outcome.value if isinstance(outcome.value, str) and outcome.status == "done" else "a"

    def _first_drawn(self, order: tuple[Sequence[str], int, int, int, int]) -> str:
        return next(iter(self.draw(*order)), "a")

    # What follows

    def words(self, text: str) -> Iterator[Token]:
        """The words of a text, well-formed or not, each as `(position, word, name)`.

        Positions count characters. A symbol has its name without quotes, and the word `ap`. A base token, or whatever
        else is no symbol, has the name None and itself as the word.
        """
        return read_words(text, self.base_tokens)

    def symbols(self, text: str) -> tuple[str, ...]:
        """The symbols of a text, in the order of their first appearance."""
        if is_spaced(text):
            return tuple(dict.fromkeys(name for _, _, name in self.words(text) if name is not None))
        return tuple([name for name in dict.fromkeys(text) if "a" <= name <= "z"])

    def write(self, words: Iterable[Token]) -> str:
        """The text of words as `words` gives them."""
        return write_prefix(words)

    def write_words(self, words: Iterable[str]) -> str:
        """The text of `words`: base tokens, and names of symbols, which are quoted where they have to be."""
        fixed = self.base_tokens
        return self.write(Token(-1, word, None if word in fixed else word) for word in words)

    def rename(self, text: str, renaming: Mapping[str, str]) -> str:
        """A text with its symbols renamed; symbols that `renaming` does not have stay."""
        if not is_spaced(text) and set(renaming.values()) <= set(LETTERS):
            names = [name for name in self.symbols(text) if len(name) == 1]
            return text.translate({ord(name): renaming.get(name, name) for name in names})
        return self.write(Token(-1, word, name and renaming.get(name, name)) for _, word, name in self.words(text))

    def alpha_class(self, question: str) -> str:
        """A text that questions share if and only if they are alpha-equivalent."""
        symbols = self.symbols(question)
        return self.rename(question, dict(zip(symbols, symbol_names(len(symbols)), strict=True)))

    def new_names(self, question: str, taken: Iterable[str] = ()) -> Iterator[str]:
        """Names for new symbols: a, b, ..., z, p26, p27, ... without the question's symbols and `taken`."""
        known = {*self.symbols(question), *taken}
        return (name for name in map(_symbol_name, itertools.count()) if name not in known)

    def with_new_names(self, question: str, answer: str, taken: Iterable[str] = ()) -> str:
        """An answer with its new symbols, which its question does not have, called as `new_names` says, in the order of
        their first appearance; the answers of a task without new symbols stay as they are."""
        if not self.num_fresh_symbols:
            return answer
        known = self.symbols(question)
        new = [name for name in self.symbols(answer) if name not in known]
        return self.rename(answer, dict(zip(new, self.new_names(question, taken), strict=False)))

    def shared_answer(self, question: str, answer: str) -> str:
        """A text that answers to a question share if they count as the same: `normalized`, whatever new names are."""
        return self.with_new_names(question, self.normalized(answer))

    def tokenizer(self, config: SymbolInvariantConfig | None = None) -> ListedTokens:
        """A new tokenizer for questions and answers; with `config`, of a model with this configuration."""
        from hf_symbinv.modeling.tokenization_symbinv import SymbolInvariantTokenizer  # torch only where it is needed

        names = None if config is None else self.fixed_names(config)
        return SymbolInvariantTokenizer(list(self.base_tokens), dict(self.token_arity), fixed_names=names)

    def fixed_names(self, config: SymbolInvariantConfig) -> tuple[str, ...] | None:
        """The names that a model has rows for, in the order of the rows; None if it knows no names."""
        if config.symbol_embedding not in ("learned", "renamed", "random"):
            return None
        # Rows are drawn for more symbols than training has.
        is_random = config.symbol_embedding == "random"
        return symbol_names(max(config.num_symbols, len(LETTERS)) if is_random else config.num_symbols)

    def config(self, **fields: Any) -> SymbolInvariantConfig:
        """The configuration of a model for this task; `fields` are those of `SymbolInvariantConfig`, which win.

        Raises:
            ValueError: As `SymbolInvariantConfig`.
        """
        from hf_symbinv.modeling.configuration_symbinv import SymbolInvariantConfig

        own: dict[str, Any] = {
            "base_vocab_size": len(self.base_tokens),
            "token_arity": self.token_arity_by_id() or None,
            "encoder_positions": "tree" if self.token_arity else "rope",
            "scale_embedding": not self.token_arity,  # the factor would outweigh positions of trees
            "grammar": self.grammar and dict(self.grammar),
        }
        # The other embeddings have a row for every name and write any.
        if self.num_fresh_symbols and fields.get("symbol_embedding", "streams") in ("streams", "canonical"):
            own["num_fresh_symbols"] = self.num_fresh_symbols
        for field, token in (("bos", "<s>"), ("decoder_start", "<s>"), ("pad", "<pad>"), ("eos", "</s>")):
            own[f"{field}_token_id"] = self.base_tokens.index(token)
        return SymbolInvariantConfig(**{**own, **fields})

    def token_arity_by_id(self) -> dict[int, int]:
        """Base id → number of children, as `SymbolInvariantConfig.token_arity` takes it."""
        return {self.base_tokens.index(token): arity for token, arity in self.token_arity.items()}

    def checker(self, **options: Any) -> Checker:
        """A checker of (question, answer) pairs in processes of its own; `options` are those of `Checker`.

        A task whose judge needs more time or memory than `Checker` gives it, also in training, has its own defaults:
        `return super().checker(**{"memory": 16.0, **options})`.
        """
        return Checker(self.judge, normalized=self.shared_answer, initializer=self.prepare, **options)

    def _known(self, notation: str) -> None:
        if notation not in self.notations:
            raise ValueError(f"notation={notation!r}: unknown; use one of {', '.join(self.notations)}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


__all__ = ["OTHERWISE", "MeasureError", "SymbolTask", "size_of", "solve_ordered", "symbol_names", "symbols_of"]

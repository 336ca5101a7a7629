r"""A task whose answers need new names: compile an expression to three-address code.

    symbinv data --task papers/shapes/three_address.py --num-symbols 4 --max-size 6 --rows 60000 --output data/code
    symbinv train papers/shapes/three_address.yaml task=papers/shapes/three_address.py --data data/code \
        --output runs/code
    symbinv evaluate runs/code --task papers/shapes/three_address.py --data data/code
    symbinv solve --task papers/shapes/three_address.py --model runs/code "+*ab*ab"

A question is an expression of + - * in prefix notation, `+*ab*ab`. An answer is straight-line code, `c=*ab;d=+cc`: each
instruction has one operation and a new name for its result, and the last one computes the expression. The solver
computes an operation on the same operands once. `symbinv task check` tries the task's laws.
"""

import operator
import random
from collections.abc import Mapping, Sequence

from hf_symbinv import SymbolTask

OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul}
FORM = [False, True, True, False, False, True]  # of c=*ab; whether a word is a base token


class ThreeAddress(SymbolTask):
    """Expressions of + - *, and code that computes them with one operation in each instruction."""

    name = "three_address"
    base_tokens = ("<s>", "<pad>", "</s>", *OPERATIONS, "=", ";")
    token_arity = dict.fromkeys(OPERATIONS, 2)
    columns = ("expression", "code")
    description = "A question is an expression of + - *; its answer computes it, one operation in each instruction."
    uniform_from, short_share = 3, 0.1  # few expressions have 1 or 2 operations: together they get a tenth of the rows
    num_fresh_symbols = 16

    def draw(self, symbols: Sequence[str], smallest: int, largest: int, seed: int, count: int) -> list[str]:
        """Random trees over some of the symbols; of three operands one repeats an earlier one, if there is one."""
        generator = random.Random(seed)

        def tree(operations: int, names: Sequence[str], seen: list[list[str]]) -> list[str]:
            again = [part for part in seen if len(part) == 2 * operations + 1]
            if not operations or (again and generator.random() < 1 / 3):
                return generator.choice(again or [[name] for name in names])
            before = generator.randrange(operations)
            left = tree(before, names, seen)
            seen.append([generator.choice([*OPERATIONS]), *left, *tree(operations - 1 - before, names, seen)])
            return seen[-1]

        def names() -> list[str]:
            return generator.sample(symbols, generator.randint(1, len(symbols)))

        return [self.write_words(tree(generator.randint(smallest, largest), names(), [])) for _ in range(count)]

    def solve(self, question: str) -> str | None:
        """Operands before the operation, left before right; each operation on the same operands once.

        None if more instructions are needed than an answer may have.
        """
        results: dict[tuple[str, ...], str] = {}
        names, pending = self.new_names(question), list[tuple[str, ...]]()
        for word in self.expression(question):
            if word in OPERATIONS:
                pending.append((word,))
                continue
            while pending and len(pending[-1]) == 2:
                operation = (*pending.pop(), word)
                if operation not in results:
                    results[operation] = next(names)
                word = results[operation]
            if pending:
                pending[-1] += (word,)
        code = [word for operation, name in results.items() for word in (name, "=", *operation, ";")]
        return self.write_words(code[:-1]) if len(results) <= self.num_fresh_symbols else None

    def judge(self, question: str, answer: str) -> tuple[str, str]:
        """`correct` if the code computes the expression, whatever integers the symbols are.

        Code and expression are computed with random integers. Code of n instructions is a polynomial of degree 2^n at
        most, so with values below 2^61 another polynomial agrees with probability 2^(16 - 61) at most (Schwartz 1980).
        """
        try:
            code = self.code(answer)
        except ValueError as error:
            return "invalid", str(error)
        if len(code) > self.num_fresh_symbols:
            return "incorrect", f"there are {len(code)} instructions; there may be {self.num_fresh_symbols}"
        generator = random.Random(0)
        for largest in (9, 2**61):  # the first for counterexamples that people can read
            given = {name: generator.randrange(largest) for name in self.symbols(question)}
            values = dict(given)
            for result, operation, left, right in code:
                if result in values:
                    return "incorrect", f"{result} has a value before it gets one"
                for name in (left, right):
                    if name not in values:
                        return "incorrect", f"{name} has no value where it is used"
                values[result] = OPERATIONS[operation](values[left], values[right])
            if values[code[-1][0]] != self.value(question, given):
                where = ", ".join(f"{name}={value}" for name, value in given.items())
                return "incorrect", f"with {where} the code computes another value than the expression has"
        return "correct", ""

    def size(self, question: str) -> int:
        """The number of operations."""
        return sum(name is None for _, _, name in self.words(question))

    def read_question(self, text: str, notation: str) -> str:
        """An expression that a user wrote, once it is known to be one."""
        self.expression(super().read_question(text, notation))
        return text

    def expression(self, question: str) -> list[str]:
        """The words of an expression."""
        words, missing = list[str](), 1
        for _, word, name in self.words(question):
            words.append(name or word)
            if not missing or (name is None) != (words[-1] in OPERATIONS):
                missing = -1
                break
            missing += 1 if name is None else -1
        if missing or len(words) < 3:
            raise ValueError(f"{question!r} is no expression: write + - * before their two operands, +*aba")
        return words

    def value(self, question: str, given: Mapping[str, int]) -> int:
        """The value of an expression with given values of its symbols."""
        stack: list[int] = []
        for word in reversed(self.expression(question)):
            stack.append(given[word] if word in given else OPERATIONS[word](stack.pop(), stack.pop()))
        return stack[0]

    def code(self, answer: str) -> list[tuple[str, str, str, str]]:
        """The result, the operation and the two operands of every instruction."""
        words = [*((word, name) for _, word, name in self.words(answer)), (";", None)]
        code = []
        for start in range(0, len(words), 6):
            line = words[start : start + 6]
            names = [name for _, name in line if name is not None]
            marks = [word for word, name in line if name is None]
            if [name is None for _, name in line] != FORM or marks[::2] != ["=", ";"] or marks[1] not in OPERATIONS:
                raise ValueError(f"instruction {start // 6 + 1} is none: c=*ab is one, and ; stands between two")
            code.append((names[0], marks[1], names[1], names[2]))
        return code


THREE_ADDRESS = ThreeAddress()

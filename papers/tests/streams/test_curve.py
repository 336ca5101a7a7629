"""Questions by number of symbols: drawn to order, satisfiable, and the same for all models."""

import itertools
import json

import datasets
import pytest

from hf_symbinv.cli import DONE
from hf_symbinv.logic import Formula, Trace, parse_prefix
from hf_symbinv.solvers.lasso import truth
from hf_symbinv.tasks import COPY, LTL, PROP
from papers.__main__ import main
from papers.streams.curve import drawn, lasso, renamed, witness
from tests.solvers.random_pairs import random_pairs

pytest.importorskip("spot")
pytest.importorskip("aiger_sat")


def random_formulas(count, seed):
    """Formulas in base operators over a and b, as prefix text."""
    return [formula for formula, _ in random_pairs(seed, count)]


def value(formula, values):
    """The truth of a propositional formula, by its definition."""
    if formula.name is not None:
        return values[formula.name]
    parts = [value(operand, values) for operand in formula.operands]
    return {"0": lambda: False, "1": lambda: True, "!": lambda: not parts[0], "&": lambda: all(parts),
            "|": lambda: any(parts)}[formula.operator]()  # fmt: skip


@pytest.mark.parametrize(("positions", "loop"), [(1, 0), (2, 0), (2, 1), (3, 1)])
def test_what_must_hold_on_a_lasso_is_what_the_checker_of_witnesses_says(positions, loop):
    for text in random_formulas(30, seed=positions + 10 * loop):
        formula = parse_prefix(text)
        needed = lasso(formula, positions, loop)
        for bits in itertools.product((False, True), repeat=2 * positions):
            chosen = {
                f"{name}@{place}": bits[2 * place + index]
                for place in range(positions)
                for index, name in enumerate("ab")
            }
            steps = [
                (Formula.ap("a") if chosen[f"a@{place}"] else ~Formula.ap("a"))
                & (Formula.ap("b") if chosen[f"b@{place}"] else ~Formula.ap("b"))
                for place in range(positions)
            ]
            trace = Trace(tuple(steps[:loop]), tuple(steps[loop:]))
            assert value(needed, chosen) == (truth(formula, trace) == "true"), (formula, bits)


def test_witnesses_are_right_by_spot_and_formulas_without_one_have_none():
    for text in ("& a ! a", "& ! U 1 a X a", "0"):
        assert witness(text) is None and LTL.solve("".join(text.split())) is None
    answers = {text: witness(" ".join(text)) for text in random_formulas(200, seed=5)}
    assert sum(answer is not None for answer in answers.values()) > 100
    for text, answer in answers.items():
        assert answer is None or LTL.judge(text, answer)[0] == "correct", (text, answer)


@pytest.mark.parametrize(("symbols", "smallest", "largest"), [(2, 12, 14), (7, 20, 24)])
@pytest.mark.parametrize("task", [LTL, PROP, COPY], ids=lambda task: task.name)
def test_questions_have_as_many_symbols_and_tokens_as_are_asked_for_and_come_again(task, symbols, smallest, largest):
    found = drawn(task, symbols, smallest, largest, 5, seed=3)
    assert len(set(found)) == 5 and drawn(task, symbols, smallest, largest, 5, seed=3) == found
    for text, answer in found.items():
        assert len(task.symbols(text)) == symbols and smallest <= task.size(text) <= largest
        assert task.judge(text, answer)[0] == "correct"


def test_training_rows_get_an_increasing_choice_of_names_or_any():
    rows = datasets.Dataset.from_dict(
        {"formula": ["&ba"] * 40, "witness": ["&ba;{1}"] * 40, "symbols": [["b", "a"]] * 40}
    )
    data = datasets.DatasetDict({"train": rows, "test": rows})
    for increasing in (True, False):
        found = renamed(LTL, data, 0, increasing)
        assert found["test"][0]["formula"] == "&ba" and len(found["train"]) == 40
        names = [text[1:] for text in found["train"]["formula"]]
        assert [text[1:3] for text in found["train"]["witness"]] == names and len(set(names)) > 20
        assert all(first < second for first, second in names) == increasing


@pytest.mark.slow
def test_rows_with_more_symbols_take_the_place_of_others(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    assert main(["symbols-catch-up", "--output", str(tmp_path)]) == DONE
    content = json.loads((tmp_path / "smoke" / "tables" / "symbols-catch-up.json").read_text())
    assert [row["labels"][0] for row in content["rows"]] == ["canonical names, 0 rows", "canonical names, 100 rows"]
    [many] = tmp_path.rglob("curve-ltl-more.parquet")
    assert {len(names) for names in datasets.Dataset.from_parquet(str(many))["symbols"]} == {4}
    records = [json.loads(file.read_text())["data"]["splits"]["train"] for file in sorted(tmp_path.rglob("run.json"))]
    assert [record["rows"] for record in records] == [180, 180]
    assert sorted(record["symbols"][1] for record in records) == [3, 4]


@pytest.mark.slow
@pytest.mark.parametrize("table", ["symbols-curve", "symbols-curve-prop", "symbols-curve-copy"])
def test_the_table_at_the_smallest_scale(table, tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    assert main([table, "--output", str(tmp_path)]) == DONE
    tables = tmp_path / "smoke" / "tables"
    content = json.loads((tables / f"{table}.json").read_text())
    rows = {row["labels"][0]: row["numbers"] for row in content["rows"]}
    assert list(rows) == ["streams", "learned rows", "learned rows, invariant", "learned rows, invariant, 5 votes"]
    assert rows["streams"]["changed"]["value"] == 0
    assert (tables / f"{table}.png").stat().st_size > 5_000

"""How much of an answer depends on names: known for models by construction, and the same when it is interrupted."""

import json
import re

import pytest

from hf_symbinv import RenamingError, invariant, measure_invariance
from hf_symbinv.evaluation.invariance_report import AT_ONCE, answer_of

from .small_models import KEEP, RULE, small_pipeline

TEXTS = ["let x = y", "if foo in bar", "return x", "let a = b + c", "return 1"]


def first_symbol(texts):
    return [next(word for word in re.findall(r"\w+", text) if word not in KEEP) for text in texts]


def spells(texts):
    """Right for short names alone."""
    return ["short" if max(map(len, re.findall(r"\w+", text))) <= 3 else "long" for text in texts]


class TestWhatIsMeasured:
    def test_a_model_that_follows_every_renaming(self):
        found = measure_invariance(first_symbol, TEXTS, RULE, ["x", "foo", "x", "a", "1"], keep=KEEP)
        assert (found["count"], found["without_symbols"]) == (4, 1)
        assert (found["changed"], found["alpha_covariance"]) == (0, 1)
        assert [found[name] for name in ("written", "renamed", "worst", "minified")] == [1, 1, 1, 1]
        assert [(part["symbols"], part["count"]) for part in found["by_symbols"]] == [(1, 1), (2, 2), (3, 1)]

    def test_a_model_that_reads_names_as_a_loop_would_count_it(self):
        asked = []

        def model(texts):
            asked.extend(texts)
            return spells(texts)

        texts = ["let x = y", "let foo = longer"]
        found = measure_invariance(
            model, texts, RULE, ["short", "short"], keep=KEEP, renamings=5, names=["b", "longest"]
        )
        groups = [[text for text in asked if re.fullmatch(form, text)] for form in (r"let \w+ = \w+",)]
        assert len(groups[0]) == len(asked)
        assert set(asked) >= {*texts, "let b = longest"}  # as written, and minified
        assert found["written"] == 0.5 and found["worst"] == 0.0 and found["minified"] == 0.0
        assert found["changed"] == 1.0 and 0 < found["renamed"] < 1

    @pytest.mark.parametrize("task", ["text-classification", "token-classification", "feature-extraction"])
    def test_answers_of_pipelines(self, task):
        bare = small_pipeline(task)
        found = measure_invariance(bare, TEXTS, RULE, keep=KEEP, renamings=4)
        wrapped = measure_invariance(invariant(bare, RULE, keep=KEEP), TEXTS, RULE, keep=KEEP, renamings=4)
        assert found["alpha_covariance"] < 1 == wrapped["alpha_covariance"]

    @pytest.mark.parametrize(
        ("result", "answer"),
        [
            ("a \n b", "a b"),
            ([{"generated_text": "a"}], "a"),
            ([{"label": "YES", "score": 0.9}, {"label": "NO", "score": 0.1}], "YES"),
            ([{"entity": "X", "start": 0, "end": 2, "score": 0.3}], '[["X", 0, 2]]'),
            ([[0.123456, 1]], "[[0.1235, 1]]"),
            (None, "null"),
            ({"other": "x"}, "x"),
        ],
    )
    def test_the_answer_in_a_result(self, result, answer):
        assert answer_of(result) == answer


class TestResuming:
    def test_a_call_that_was_stopped_goes_on_from_its_file(self, tmp_path):
        path, asked = tmp_path / "answers.jsonl", []

        def slow(texts):
            if len(asked) == AT_ONCE:
                raise ConnectionError("the address is busy")
            asked.extend(texts)
            return spells(texts)

        with pytest.raises(RenamingError, match=rf"address is busy\); {path} keeps {AT_ONCE} answers; mend"):
            measure_invariance(slow, TEXTS, RULE, keep=KEEP, answers=path)
        with path.open("a") as file:
            file.write('["half a li')  # as a process leaves it that is killed
        whole, later = measure_invariance(spells, TEXTS, RULE, keep=KEEP), []

        def fast(texts):
            later.extend(texts)
            return spells(texts)

        assert measure_invariance(fast, TEXTS, RULE, keep=KEEP, answers=path) == whole
        assert later and not {*asked} & {*later}
        assert measure_invariance(lambda texts: 1 / 0, TEXTS, RULE, keep=KEEP, answers=path) == whole

    def test_a_failure_without_a_file_names_one(self):
        def busy(texts):
            raise TimeoutError("no answer")

        with pytest.raises(
            RenamingError, match=r"TimeoutError: no answer.*; no file keeps answers; mend it, and repeat"
        ):
            measure_invariance(busy, TEXTS, RULE, keep=KEEP)

    @pytest.mark.parametrize("content", ["text\n", '["a", "b"]\n', '{"model": "other"}\n', "no line", b"\xff"])
    def test_a_file_of_another_model_or_of_something_else_stays(self, tmp_path, content):
        path = tmp_path / "answers"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        before = path.read_bytes()
        with pytest.raises(RenamingError, match=r"holds no answers of .*; name another file, or remove it"):
            measure_invariance(spells, TEXTS, RULE, keep=KEEP, answers=path)
        assert path.read_bytes() == before
        path.unlink()
        assert measure_invariance(spells, TEXTS, RULE, keep=KEEP, answers=path)
        assert json.loads(path.read_text().splitlines()[0]) == {
            "model": "model", "task": None, "options": {}
        }  # fmt: skip


def test_names_of_one_alone_cannot_change():
    with pytest.raises(
        RenamingError, match=r"'b': no text has other names for its symbols; give names=\[...\] with more"
    ):
        measure_invariance(spells, ["b"], RULE, names=["b"])
    assert measure_invariance(spells, ["b"], RULE, names=["b", "c"])["count"] == 1


def test_each_text_has_one_reference():
    with pytest.raises(RenamingError, match="1 references for 2 texts: give one for each"):
        measure_invariance(spells, ["x", "y"], RULE, ["x"])


@pytest.mark.parametrize(("texts", "references"), [("x y", None), (["x", "y"], "xy")])
def test_one_text_is_no_list_of_texts(texts, references):
    with pytest.raises(RenamingError, match=r"='x ?y': must be a list of texts; put it in brackets"):
        measure_invariance(spells, texts, RULE, references)


def test_a_rule_that_matches_nothing_in_the_texts():
    with pytest.raises(RenamingError, match=r"matches nothing in 2 texts, '1', '2'; match the names in them"):
        measure_invariance(spells, ["1", "2"], RULE)
    assert measure_invariance(spells, ["1", "x"], RULE)["count"] == 1

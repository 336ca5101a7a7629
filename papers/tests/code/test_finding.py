"""Suspicions of a model: the most probable bug that can be one, in any batch and under any names."""

import pytest
import torch

from hf_symbinv.errors import UserError
from papers.code.finding import Calibration, Finder
from papers.code.functions import read_functions
from papers.code.reading import PLACE, REMEDY


@pytest.fixture
def finder(model, readers):
    return Finder(model(readers["hidden"]), readers["hidden"])


def expected(finder, function):
    """The most probable bug, written as a double loop."""
    [one] = finder.reader.encode([function.text], [function.spans()])
    logits = finder.model(torch.tensor([one.ids])).logits[0]
    tokens = [one.token(symbol.start) for symbol in function.symbols]
    uses = [at for at, symbol in enumerate(function.symbols) if symbol.is_use]
    places = logits[[*[tokens[at] for at in uses], -1], PLACE].softmax(0)
    remedies = logits[tokens, REMEDY].exp()
    best = (0.0, -1, -1)
    for at, place in zip(uses, places[:-1], strict=True):
        symbol = function.symbols[at]
        weights = {
            other: sum(weight for one, weight in zip(function.symbols, remedies, strict=True) if one.variable == other)
            for other in symbol.others
        }
        for other, weight in weights.items():
            best = max(best, (float(place * weight / sum(weights.values())), at, other))
    return best


def test_a_suspicion_is_the_most_probable_bug(finder, functions):
    with torch.inference_mode():
        for function, found in zip(functions, finder.suspicions(functions), strict=True):
            probability, symbol, variable = expected(finder, function)
            assert (found.symbol, found.variable) == (symbol, variable)
            assert found.probability == pytest.approx(probability, rel=1e-5)


def test_a_function_without_a_choice_has_none(finder):
    functions, _ = read_functions("def f(x):\n    return x\n\ndef g():\n    return 1\n")
    assert finder.suspicions(functions) == [None, None]


def test_a_function_with_more_variables_than_rows_has_none(model, readers, functions):
    finder = Finder(model(readers["hidden"], "canonical", num_symbols=3), readers["hidden"])
    most = [len({symbol.variable for symbol in one.symbols}) for one in functions]
    assert {count > finder.most_variables for count in most} == {True, False}
    for count, found in zip(most, finder.suspicions(functions), strict=True):
        assert (found is None) == (count > finder.most_variables)


def test_a_finder_comes_back_from_its_folder(finder, functions, tmp_path):
    made = Finder(finder.model, finder.reader, Calibration(0.25, 9, 10, 20, 40))
    made.save_pretrained(tmp_path)
    again = Finder.from_pretrained(tmp_path)
    assert again.calibration == made.calibration
    assert again.threshold == 0.25
    assert again.suspicions(functions) == made.suspicions(functions)


def test_a_finder_is_saved_completely_or_not_at_all(finder, tmp_path, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(finder.reader.tokenizer), "save_pretrained", stopped)
    with pytest.raises(KeyboardInterrupt):
        finder.save_pretrained(tmp_path / "finder")
    assert not any(tmp_path.iterdir())


def test_the_threshold_is_the_lowest_that_is_right_often_enough(finder, rows, monkeypatch):
    """Of six suspicions, from the most probable on: right, right, wrong, right, wrong, wrong."""
    from papers.code import finding

    judged = [finding._Judged(p, ok, ok) for p, ok in
              [(0.4, True), (0.9, True), (0.2, False), (0.8, True), (0.5, False), (0.1, False)]]  # fmt: skip
    monkeypatch.setattr(finder, "_judged", lambda rows: judged)
    assert finder.calibrated([], 0.75).calibration == Calibration(0.4, 3, 4, 3, 6)
    assert finder.calibrated([], 0.9).calibration == Calibration(0.8, 2, 2, 3, 6)
    assert finder.calibrated([], 0.5).calibration == Calibration(0.1, 3, 6, 3, 6)


def test_a_share_that_no_threshold_reaches_is_refused(finder, rows):
    with pytest.raises(UserError, match=r"wanted=1\.1: no threshold makes so many suspicions right"):
        finder.calibrated(rows, 1.1)


def test_rows_are_measured_as_files_are_read(finder, rows):
    measured = finder.measured(rows).test
    assert measured["bugs that are found"][1] == measured["functions without a bug that are suspected"][1] == 3
    assert finder.measured([]).test == {}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "holds no JSON object"),
        ('{"names": "hidden"}', "must be an object with calibration"),
        ('{"names": 3, "calibration": null, "test": {}}', "names=3: must be text"),
        ('{"names": "hidden", "test": {}, "calibration": {"threshold": 1}}', "must be an object with right"),
        (
            '{"names": "hidden", "test": {"x": {"right": 2, "count": 1}}, "calibration": null}',
            "test.x: 2 of 1 are right",
        ),
        (
            '{"names": "hidden", "test": {}, '
            '"calibration": {"threshold": 1, "right": 0, "shown": 0, "bugs": 1, "functions": 2}}',
            "calibration: 0 of 0 are right; must be at most all of at least 1",
        ),
    ],
)
def test_a_damaged_finder_is_one_sentence(finder, tmp_path, content, reason):
    finder.save_pretrained(tmp_path)
    (tmp_path / "finder.json").write_text(content)
    with pytest.raises(UserError) as caught:
        Finder.from_pretrained(tmp_path)
    message = str(caught.value)
    assert "finder.json" in message and reason in message and message.endswith("or a name on the Hub")


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_finder_with_a_damaged_model_is_one_sentence(finder, tmp_path, file):
    finder.save_pretrained(tmp_path)
    (tmp_path / file).write_bytes(b"[")
    with pytest.raises(UserError, match="its model cannot be read") as caught:
        Finder.from_pretrained(tmp_path)
    assert "\n" not in str(caught.value)

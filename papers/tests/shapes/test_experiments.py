"""Tables of every shape of model: what kinds of models see, when a row is right, and that the command makes all."""

import json

import pytest
import torch
from transformers import set_seed

from hf_symbinv.training.sequences import SequenceCollator
from papers.__main__ import DONE
from papers.__main__ import main as papers
from papers.catalogue import EXPERIMENTS
from papers.shapes.columns import MODELS, MORE, NEW, USUAL
from papers.shapes.experiments import KINDS
from papers.shapes.models import NAMES, OTHERS, PAD, SHAPES, rights
from papers.shapes.pairs import pairs

TABLES = [f"shape-{shape}" for shape in KINDS]
SIZES = {shape: EXPERIMENTS[f"shape-{shape}"].sizes("smoke") for shape in KINDS}


def made(shape, kind):
    set_seed(0)
    return SHAPES[shape].model(kind, SIZES[shape]["model"]).eval()


def canonical(ids, row):
    """The ids of a row, with symbols numbered in the order of their first appearance."""
    return ids.rename(row, ids.canonical_renaming(row, [range(26)]))


class TestRows:
    @pytest.mark.parametrize("shape", SHAPES)
    def test_new_names_are_the_rows_as_in_training_with_every_name_replaced(self, shape):
        words = SHAPES[shape].words
        usual, new = (SHAPES[shape].rows(SIZES[shape]["data"], part.heading, 0) for part in (USUAL, NEW))
        for one, other in zip(usual, new, strict=True):
            assert canonical(words.ids, one["input_ids"]) == canonical(words.ids, other["input_ids"])
            for row, names in ((one, NAMES), (other, OTHERS)):
                used = {words.ids.parts(token)[0] for token in row["input_ids"]} - {-1}
                assert used and {chr(ord("a") + referent) for referent in used} <= {*names}

    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("scale", ["smoke", "cpu"])
    def test_rows_with_more_symbols_have_more_than_any_row_of_training(self, shape, scale):
        sizes = EXPERIMENTS[f"shape-{shape}"].sizes(scale)["data"] | {"rows": 200, "test_rows": 100}
        trained, more = (
            [SHAPES[shape].words.symbols(row["input_ids"]) for row in SHAPES[shape].rows(sizes, part, 0)]
            for part in ("train", MORE.heading)
        )
        assert max(trained) < min(more)

    def test_pairs_under_new_names_are_the_same_pairs(self):
        usual, new = (list(pairs(20, 1, 4, 0, prefix)) for prefix in ("", "my"))
        for one, other in zip(usual, new, strict=True):
            assert {key: text.replace("my", "") for key, text in other.items()} == one != other


class TestRights:
    def test_a_row_is_right_if_and_only_if_greedy_decoding_writes_its_answer(self):
        """Trained on four rows, of which the last is asked for another answer."""
        shape = "views"
        rows = SHAPES[shape].rows(SIZES[shape]["data"] | {"rows": 4}, "train", 0)
        model, collate = made(shape, "learned").train(), SequenceCollator(PAD)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        for _ in range(150):
            model(**collate(rows)).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        *known, last = rows
        changed = [*last["labels"][:-2], 0, last["labels"][-1]]
        asked = [*known, {"input_ids": last["input_ids"], "labels": changed}]
        expected = []
        for row in asked:
            answer = [token for token in row["labels"] if token >= 0]
            given = torch.tensor([row["input_ids"]])
            ids = model.eval().generate(given, max_new_tokens=len(answer), do_sample=False)[0].tolist()
            expected.append(ids[-len(answer) :] == answer)
        assert rights(model, asked, collate) == expected == [True, True, True, False]

    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("kind", ["streams", "canonical"])
    def test_streams_and_canonical_names_are_as_right_under_new_names(self, shape, kind):
        model, sizes = made(shape, kind), SIZES[shape]["data"]
        collate, same = SequenceCollator(PAD), SHAPES[shape]
        logits = [model(**collate(same.rows(sizes, part.heading, 0))).loss for part in (USUAL, NEW)]
        assert torch.equal(*logits)

    def test_two_labels_of_a_row_are_both_asked(self):
        """A model whose classes are always 3 is right where all labels are 3."""
        model = made("tokens", "learned")
        model.classifier.weight.data.zero_()
        model.classifier.bias.data = torch.tensor([0.0, 0.0, 0.0, 1.0])
        rows = [{"input_ids": [9, 4, 9], "labels": labels} for labels in ([3, -100, 3], [3, -100, 2], [-100, 3, -100])]
        assert rights(model, rows, SequenceCollator(PAD), batch=2) == [True, False, True]


@pytest.mark.slow
def test_all_tables_are_made_and_invariant_models_are_as_right_under_new_names(only, tmp_path, capsys):
    one, two, three, four = MODELS.values()
    for name, pair in zip(TABLES, [(one, two), (three, four), (one, three), (two, four)], strict=True):
        only(name, *((model,) for model in pair))
    assert papers([*TABLES, "--output", str(tmp_path)]) == DONE
    printed = capsys.readouterr().out
    for name in TABLES:
        content = json.loads((tmp_path / f"smoke/tables/{name}.json").read_text())
        assert f"python -m papers {name} --scale smoke" in printed
        assert (tmp_path / f"smoke/tables/{name}.png").is_file()
        for row in content["rows"]:
            numbers = row["numbers"]
            assert all(numbers[part.heading]["count"] == 20 for part in (USUAL, MORE, NEW))
            if "streams" in row["training"] or "canonical" in row["training"]:
                assert numbers[USUAL.heading] == numbers[NEW.heading]

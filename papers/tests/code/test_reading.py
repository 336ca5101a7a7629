"""What models read of functions, and where the pointers are right."""

import math

import pytest
import torch
from transformers.modeling_outputs import TokenClassifierOutput

from hf_symbinv.errors import UserError
from papers.code.reading import IMPOSSIBLE, PLACE, POSSIBLE, REMEDY, RIGHT, Reader, collate, marks_of, pointing_loss


def encoded(reader, row):
    return reader.encode([row["text"]], [marks_of(row)])[0]


def text_from(reader, row, token):
    """The text of a row from a token on."""
    return row["text"][encoded(reader, row).starts[token] :].lstrip()


@pytest.mark.parametrize("names", ["hidden", "legend", "text"])
def test_pointers_stand_at_the_bug_and_at_the_right_variable(readers, rows, names):
    for row, read in zip(rows, readers[names].rows(rows), strict=True):
        labels = torch.tensor(read["labels"])
        assert labels.shape == (len(read["input_ids"]), 2)
        [place] = (labels[:, PLACE] == RIGHT).nonzero().flatten().tolist()
        remedies = (labels[:, REMEDY] == RIGHT).nonzero().flatten().tolist()
        if row["wrong"] < 0:
            assert place == len(labels) - 1
            assert not remedies
            continue
        wrong, right = row["symbols"][row["wrong"]]["name"], row["symbols"][row["right"][0]]["name"]
        assert text_from(readers[names], row, place).startswith(wrong)
        assert len(remedies) == len(row["right"])
        assert all(text_from(readers[names], row, token).startswith(right) for token in remedies)


def test_only_uses_and_the_end_can_be_wrong_and_only_variables_can_be_right(readers, rows):
    row, labels = rows[0], readers["hidden"].rows(rows[:1])[0]["labels"]
    uses = sum(symbol["is_use"] for symbol in row["symbols"])
    assert sum(place != IMPOSSIBLE for place, _ in labels) == uses + 1
    assert sum(remedy == POSSIBLE for _, remedy in labels) == len(row["symbols"])


@pytest.mark.parametrize("names", ["hidden", "legend", "text"])
def test_exchanged_arguments_are_right_where_they_begin(readers, exchanged, names):
    with_bug = [row for row in exchanged if row["label"]]
    assert with_bug
    for row, read in zip(with_bug, readers[names].rows(with_bug), strict=True):
        places = [token for token, (place, _) in enumerate(read["labels"]) if place == RIGHT]
        for token, argument in zip(places, row["arguments"], strict=True):
            text = row["text"][argument["start"] : argument["end"]]
            assert text_from(readers[names], row, token).startswith(text)


def test_a_legend_says_each_name_once_before_the_function(readers, rows):
    reader = readers["legend"]
    ids, starts, _ = encoded(reader, rows[0])
    legend = [token for token, start in zip(ids[:-1], starts, strict=True) if start < 0]
    names = dict.fromkeys(symbol["name"] for symbol in rows[0]["symbols"])
    assert reader.tokenizer.decode(legend).count("\n") == len(names)
    assert sum(token >= reader.tokenizer.vocab_size for token in legend) == len(names)


def test_names_as_text_have_no_symbols(readers, rows):
    ids, _, symbols = encoded(readers["text"], rows[0])
    assert symbols == 0
    assert max(ids) < readers["text"].tokenizer.vocab_size


def test_another_kind_of_names_is_refused(readers):
    with pytest.raises(UserError, match="names='shown': must be one of hidden, legend, text"):
        Reader(readers["hidden"].tokenizer, "shown")


def test_the_loss_is_that_of_the_two_pointers(readers, rows):
    batch = collate(readers["hidden"].rows(rows), pad=1)
    torch.manual_seed(0)
    logits = torch.randn(*batch["labels"].shape, requires_grad=True)
    expected = 0.0
    for row, labels in zip(logits.tolist(), batch["labels"].tolist(), strict=True):
        for pointer in (PLACE, REMEDY):
            scores = [(math.exp(score[pointer]), label[pointer]) for score, label in zip(row, labels, strict=True)]
            right = sum(score for score, label in scores if label == RIGHT)
            if right:
                expected -= math.log(right / sum(score for score, label in scores if label != IMPOSSIBLE))
    loss = pointing_loss(TokenClassifierOutput(logits=logits), batch["labels"])
    assert loss.item() == pytest.approx(expected / len(rows), rel=1e-5)
    loss.backward()
    assert logits.grad.isfinite().all()
    assert (logits.grad[batch["labels"] == IMPOSSIBLE] == 0).all()

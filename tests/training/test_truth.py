"""The loss of truth values: its targets, its place in training, and that the finished model knows nothing of it."""

import math

import pytest
import torch

from hf_symbinv import Recipe
from hf_symbinv.errors import UserError
from hf_symbinv.logic.worlds import Worlds
from hf_symbinv.modeling.modeling_symbinv import SymbolInvariantForConditionalGeneration
from hf_symbinv.tasks import COPY, LTL, PROP
from hf_symbinv.training.truth import TruthCollator, TruthHead, worlds_of


def test_targets_stand_at_the_words_of_the_question_and_do_not_know_names():
    collator = TruthCollator(1, Worlds([(4, 0, 1)], 2), PROP.base_tokens)
    ids = PROP.tokenizer()(["& ! b a", "! a"])["input_ids"]
    batch = collator([{"input_ids": row, "labels": [2]} for row in ids])
    parts = batch["truth_heights"] >= 0
    assert [row[row >= 0].tolist() for row in batch["truth_heights"]] == [[2, 1, 0, 0], [1, 0]]
    # b comes first, so it is symbol 0: true in the second and the fourth world.
    assert batch["truth"][0, parts[0]].tolist() == [[0, 0, 1, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 1]]
    assert batch["truth"][1, parts[1]].tolist() == [[1, 0, 1, 0], [0, 1, 0, 1]]
    assert not batch["truth"][~parts].any()


def test_the_loss_asks_each_layer_for_the_parts_that_it_can_know():
    torch.manual_seed(0)
    model = SymbolInvariantForConditionalGeneration(
        PROP.config(symbol_embedding="canonical", d_model=16, encoder_layers=1, decoder_layers=1, num_attention_heads=2)
    )
    head = TruthHead(model, 3)
    states = [torch.randn(2, 1, 4, 16) for _ in range(4)]
    truth, heights = torch.randint(2, (2, 4, 3)), torch.tensor([[2, 1, 0, -1], [0, -1, -1, -1]])
    logits = [head(state)[:, 0].detach() for state in states]

    def mean(layer, places):
        told = [
            math.log(1 + math.exp(-float(logits[layer][row, place, bit]) * (1 if truth[row, place, bit] else -1)))
            for row, place in places
            for bit in range(3)
        ]
        return sum(told) / 12

    every = [(0, 0), (0, 1), (0, 2), (1, 0)]
    expected = mean(1, every[1:]) + mean(2, every) + mean(3, every)
    assert float(head.loss(states, truth, truth, heights).detach()) == pytest.approx(expected, rel=1e-5)


def test_of_streams_the_view_of_all_is_asked_and_two_layers_later():
    torch.manual_seed(0)
    model = SymbolInvariantForConditionalGeneration(
        PROP.config(d_model=16, encoder_layers=1, decoder_layers=1, num_attention_heads=2)
    )
    head, base = TruthHead(model, 3), model.config.base_vocab_size
    ids = torch.tensor([[5, base, base + 1], [base, 2, 1]])  # two symbols, and one
    first, second, last = (torch.randn(2, 2, 3, 16) for _ in range(3))
    truth, heights = torch.randint(2, (2, 3, 3)), torch.tensor([[1, 0, 0], [0, -1, -1]])
    view = torch.stack((torch.stack((last[0, :, 0].mean(0), last[0, 0, 1], last[0, 1, 2])), last[1, 0]))
    told = head.loss([first, last], ids, truth, heights).detach()
    assert torch.equal(told, head.loss([first, view.unsqueeze(1)], ids, truth, heights).detach())
    assert torch.equal(told, head.loss([first, second, last], ids, truth, heights).detach())


@pytest.mark.parametrize(
    ("task", "fields", "message"),
    [
        (COPY, {"symbol_embedding": "canonical"}, "task copy does not say what its questions mean; leave the line out"),
        (LTL, {"symbol_embedding": "learned"}, "needs model.symbol_embedding=canonical or streams, .* has learned"),
    ],
)
def test_what_has_no_truth_values_is_refused(task, fields, message):
    with pytest.raises(UserError, match=f"truth_loss: {message}"):
        worlds_of(task, task.config(**fields))
    with pytest.raises(UserError, match=r"truth_loss: needs model\.symbol_embedding=canonical"):
        Recipe.load(
            "ltl-smoke",
            {"model.symbol_embedding": "learned", "model.components": ["EP", "DP", "CP"], "truth_loss": 1.0},
        ).check()
    with pytest.raises(UserError, match=r"truth_loss=nan: must be (greater than 0|finite); correct it"):
        Recipe.load("ltl-smoke", {"model.symbol_embedding": "canonical", "truth_loss": math.nan})


def test_a_question_with_more_symbols_than_the_model_has_rows_is_left_to_the_model():
    collator = TruthCollator(1, Worlds([(4, 0, 1)], 2), PROP.base_tokens)
    ids = PROP.tokenizer()(["& a & b c", "! a"])["input_ids"]
    batch = collator([{"input_ids": row, "labels": [2]} for row in ids])
    assert (batch["truth_heights"] >= 0).sum(1).tolist() == [0, 2]

"""Learning from the verdicts on a model's own answers: the loss, what it does to a model, and runs that go on."""

from itertools import product

import pytest
import torch
from datasets import load_dataset
from safetensors.torch import load_file

from hf_symbinv import Recipe, SymbolInvariantForConditionalGeneration
from hf_symbinv.errors import UserError
from hf_symbinv.evaluation.checkpoints import load_checkpoint
from hf_symbinv.solvers.checker import CheckResult
from hf_symbinv.tasks import PROP
from hf_symbinv.training import train
from hf_symbinv.training.risk import CROSS_ENTROPY, NAMES, Judged
from hf_symbinv.training.sequences import SequenceCollator
from hf_symbinv.training.truth import TruthHead

from .runs import assert_same_weights, weights

CANDIDATES = 3
PAIRS = [("& a ! b", "a1b0"), ("| c b", "c1"), ("^ d a", "d1a0"), ("<-> a & b c", "a0b0"), ("! e", "e0")]


class Verdicts:
    """Says the same of every answer, as a checker does."""

    def __init__(self, verdict):
        self.verdict = verdict

    def check(self, pairs):
        return [CheckResult(self.verdict, 0.0, "") for _ in pairs]


@pytest.fixture(scope="module")
def prop():
    with PROP.checker(workers=1) as checker:
        yield checker


def batch_of(task, pairs):
    ids = task.tokenizer()([question for question, _ in pairs], text_target=[answer for _, answer in pairs])
    rows = [{"input_ids": i, "labels": t} for i, t in zip(ids["input_ids"], ids["labels"], strict=True)]
    return SequenceCollator(task.tokenizer().pad_token_id)(rows)


def small(task=PROP, **fields):
    torch.manual_seed(0)
    sizes = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "num_attention_heads": 2, "d_ff": 16}
    fields |= {"dropout": 0.0, "loss": "cross_entropy", "scale_embedding": True}
    model = SymbolInvariantForConditionalGeneration(task.config(**sizes, **fields))
    model.generation_config.max_new_tokens = 12
    return model.train()


def log_probability(model, inputs, place, tokens):
    """Of an answer, from the loss that transformers knows."""
    asked = {name: inputs[name][place : place + 1] for name in ("input_ids", "attention_mask")}
    return -float(model(**asked, labels=tokens.unsqueeze(0)).loss.detach()) * len(tokens)


def candidates_of(judged, model, inputs):
    """For each question its different answers with their tokens."""
    tokenizer, pad = PROP.tokenizer(), PROP.tokenizer().pad_token_id
    names = [[*tokenizer.symbols_of(question), *NAMES] for question, _ in PAIRS]
    return [
        {tokenizer.decode(row, symbols=own, skip_special_tokens=True): row[row != pad] for row in beams}
        for beams, own in zip(judged._answers(model, inputs), names, strict=True)
    ]


def test_the_loss_is_the_probability_of_wrong_candidates_and_a_cross_entropy_of_the_shortest_right_ones(prop):
    model, inputs = small(), batch_of(PROP, PAIRS)
    judged = Judged(PROP, PROP.tokenizer(), prop, CANDIDATES)
    told = judged.told(model, inputs)
    risks, likely, count = [], 0.0, 0
    for place, (question, known) in enumerate(PAIRS):
        found = candidates_of(judged, model, inputs)[place]
        wrong = {text: PROP.judge(question, text)[0] != "correct" for text in found}
        if all(wrong.values()):
            labels = inputs["labels"][place]
            found[known], wrong[known] = labels[labels >= 0], False
        if len(set(wrong.values())) < 2:
            continue
        scores = {text: log_probability(model, inputs, place, tokens) for text, tokens in found.items()}
        shares = torch.tensor(list(scores.values())).softmax(0)
        risks.append(sum(float(share) for share, text in zip(shares, found, strict=True) if wrong[text]))
        shortest = min(len(tokens) for text, tokens in found.items() if not wrong[text])
        taught = [text for text, tokens in found.items() if not wrong[text] and len(tokens) == shortest]
        likely += sum(scores[text] for text in taught)
        count += shortest * len(taught)
    assert risks
    assert told.risk == pytest.approx(sum(risks) / len(risks), rel=1e-4)
    assert float(told.loss.detach()) == pytest.approx(told.risk - CROSS_ENTROPY * likely / count, rel=1e-4)


def test_where_all_answers_are_right_and_one_is_shorter_than_the_first_the_shortest_ones_are_taught():
    model, inputs = small(), batch_of(PROP, PAIRS)
    judged = Judged(PROP, PROP.tokenizer(), Verdicts("correct"), CANDIDATES)
    likely, count, nothing_to_learn = 0.0, 0, 0
    for place, found in enumerate(candidates_of(judged, model, inputs)):
        lengths = [len(tokens) for tokens in found.values()]
        if lengths[0] == min(lengths):
            nothing_to_learn += 1
            continue
        shortest = [tokens for tokens in found.values() if len(tokens) == min(lengths)]
        likely += sum(log_probability(model, inputs, place, tokens) for tokens in shortest)
        count += sum(map(len, shortest))
    assert count and nothing_to_learn, "there are questions of both kinds"
    told = judged.told(model, inputs)
    assert float(told.loss.detach()) == pytest.approx(-CROSS_ENTROPY * likely / count, rel=1e-4)
    assert (told.risk, told.right) == (0.0, 1.0)


def test_the_judge_is_asked_only_where_a_quick_verdict_is_not_to_be_had(monkeypatch):
    model, inputs = small(), batch_of(PROP, PAIRS)
    judged = Judged(PROP, PROP.tokenizer(), Verdicts("correct"), CANDIDATES)
    assert judged.told(model, inputs).right == 1.0
    monkeypatch.setattr(type(PROP), "quick_verdict", lambda *pair: "incorrect")
    assert judged.told(model, inputs).right == 0.0
    monkeypatch.setattr(type(PROP), "quick_verdict", lambda *pair: None)
    assert judged.told(model, inputs).right == 1.0


def test_where_no_right_answer_is_shorter_than_the_first_or_the_judge_says_nothing_there_is_nothing_to_learn(prop):
    for checker, pairs, right in ((prop, [("! e", "e0")], 1.0), (Verdicts("timeout"), PAIRS, 0.0)):
        model = small()
        judged = Judged(PROP, PROP.tokenizer(), checker, CANDIDATES)
        inputs = batch_of(PROP, pairs)
        if checker is prop:  # one right answer is among the candidates, and no other
            judged._answers = lambda _, inputs: inputs["labels"].unsqueeze(1).expand(-1, CANDIDATES, -1)
        told = judged.told(model, inputs)
        told.loss.backward()
        assert (float(told.loss.detach()), told.risk, told.right) == (0.0, 0.0, right)
        assert all(weight.grad is None or not weight.grad.any() for weight in model.parameters())


@pytest.mark.parametrize("embedding", ["streams", "learned", "canonical", "renamed", "random"])
def test_each_kind_of_embedding_learns(embedding, prop):
    components = {} if embedding == "streams" else {"components": ["EP", "DP", "CP"]}
    model = small(symbol_embedding=embedding, num_symbols=6, **components)
    told = Judged(PROP, PROP.tokenizer(), prop, CANDIDATES).told(model, batch_of(PROP, PAIRS))
    told.loss.backward()
    assert told.loss > told.risk > 0 and all(weight.grad.any() for weight in model.model.encoder.parameters())
    assert [states.shape[0] for states in told.states] == 2 * [len(PAIRS)]


def test_the_loss_does_not_know_names(prop):
    model, judged = small(), Judged(PROP, PROP.tokenizer(), prop, CANDIDATES)
    renamed = [tuple(text.translate(str.maketrans("abcde", "wvxyz")) for text in pair) for pair in PAIRS]
    one, other = (judged.told(model, batch_of(PROP, pairs)) for pairs in (PAIRS, renamed))
    # Up to rounding: logits of larger ids are summed in another order.
    assert other.right == one.right and other.risk == pytest.approx(one.risk, rel=1e-6)
    assert torch.allclose(other.loss, one.loss, rtol=1e-6)


def test_a_bundled_model_comes_to_prefer_right_answers(prop):
    checkpoint = load_checkpoint("prop-small")
    operators = product(("^", "<->"), ("^", "<->", "&"), ("^", "|", "<->"))
    questions = [f"{one} {two} a & b c {three} | d ! a ^ e {two} b ! d" for one, two, three in operators]
    inputs = batch_of(PROP, [(question, PROP.solve(question)) for question in questions])
    model, judged = checkpoint.model.train(), Judged(PROP, checkpoint.tokenizer, prop, CANDIDATES)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    found = []
    for _ in range(15):
        told = judged.told(model, inputs)
        found.append((told.risk, told.right))
        told.loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    assert found[-1][0] < found[0][0] - 0.3 and found[-1][1] > found[0][1] + 0.3, found


@pytest.mark.slow
def test_a_run_goes_on_bit_for_bit_and_logs_what_it_learned_from_verdicts_and_truth_values(data, tmp_path):
    rows = load_dataset("parquet", data_dir=str(data / "data"))
    changes = {
        "risk_candidates": 2, "trainer.max_steps": 4, "trainer.save_steps": 2, "trainer.logging_steps": 1,
        "evaluation_rows": 2, "test_rows": 2, "trainer.generation_max_length": 12,
        "model.symbol_embedding": "canonical", "model.components": ["EP", "DP", "CP"], "truth_loss": 1.0,
        "trainer.gradient_accumulation_steps": 2,
    }  # fmt: skip
    recipe = Recipe.load("ltl-smoke", changes)
    whole = train(recipe, rows, tmp_path / "whole")
    assert not train(recipe, rows, tmp_path / "parts", max_seconds=0)["finished"]
    while not train(recipe, rows, tmp_path / "parts", max_seconds=0)["finished"]:
        pass
    assert_same_weights(tmp_path / "whole", tmp_path / "parts")
    assert not any(TruthHead.NAME in name for name in weights(tmp_path / "whole"))
    assert (tmp_path / "whole" / "checkpoint-4" / "truth_head.safetensors").is_file()
    assert not (tmp_path / "whole" / "truth_head.safetensors").exists()
    assert whole["recipe"]["truth_loss"] == 1.0
    log = [entry for entry in whole["log"] if "risk" in entry]
    assert len(log) == 4 and all(0 <= entry["risk"] <= 1 and 0 <= entry["right"] <= 1 for entry in log)
    # Whole losses: that of the truth values, a risk, and what is left, a share of a cross-entropy.
    assert all(entry["truth_loss"] + entry["risk"] <= entry["loss"] + 1e-5 for entry in log)
    start = tmp_path / "whole" / "checkpoint-4"
    still = {"trainer.max_steps": 1, "trainer.save_steps": 1, "trainer.learning_rate": 1e-12, "start": str(start)}
    train(Recipe.load("ltl-smoke", {**changes, **still}), rows, tmp_path / "on")
    heads = [load_file(folder / "truth_head.safetensors") for folder in (start, tmp_path / "on" / "checkpoint-1")]
    torch.testing.assert_close(*heads)  # the layer of the checkpoint goes on
    with pytest.raises(UserError, match=r"truth_head\.safetensors: is no layer of 3 truth values .*; remove this file"):
        TruthHead(small(), 3).load(start)

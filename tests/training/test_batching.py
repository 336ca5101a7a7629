"""Batches: grouped by work, the same groups everywhere, padded as the model reads them."""

import pytest
import torch
from datasets import Dataset
from transformers import TrainerState

from hf_symbinv import COPY, LTL, TSEITIN, SymbolInvariantForConditionalGeneration
from hf_symbinv.training.batching import EpochOfSampler, GroupedSampler, tokenize
from hf_symbinv.training.recipe import Recipe
from hf_symbinv.training.trainer import SymbolInvariantTrainer

FORMULAS = ["a", "&ab", "U1a", "X&aUbc", "!0", "&a!a", "|bXc", "Ucd"]
WITNESSES = ["{a}", "{&ab}", "a;{1}", "1;&ac;{1}", "{1}", "{0}", "b;{1}", "d;{1}"]


@pytest.fixture(scope="module")
def rows() -> Dataset:
    return tokenize(Dataset.from_dict({"formula": FORMULAS, "witness": WITNESSES}), LTL, LTL.tokenizer())


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"formula": ["a", "&a"], "witness": ["{a}", "{a}"]}, "train data, row 1, column formula: .*expected 1 more"),
        ({"formula": ["a", "b"], "witness": ["{a}", "{$}"]}, r"train data, row 1, column witness: .*'\$'"),
        ({"formula": ["a", None], "witness": ["{a}", "{a}"]}, "train data, row 1, column formula: None is no text"),
        ({"string": ["a"], "copy": ["a"]}, "train data: has columns string, copy; task ltl needs formula and witness"),
    ],
)
def test_a_row_that_is_none_of_the_task_s_is_named(columns, message):
    with pytest.raises(ValueError, match=message):
        tokenize(Dataset.from_dict(columns), LTL, LTL.tokenizer(), "train data")


def test_several_processes_tokenize_as_one_and_name_the_same_row(rows, monkeypatch):
    monkeypatch.setattr("hf_symbinv.training.batching.ROWS_PER_PROCESS", 4)
    columns = {"formula": FORMULAS, "witness": WITNESSES}
    many = tokenize(Dataset.from_dict(columns), LTL, LTL.tokenizer())
    assert many.to_list() == rows.to_list()
    columns["witness"] = [*WITNESSES[:-1], "{$}"]
    with pytest.raises(ValueError, match="data, row 7, column witness: "):
        tokenize(Dataset.from_dict(columns), LTL, LTL.tokenizer())


def drawn_keys(rows: int, seed: int) -> torch.Tensor:
    """As LTL has them: few symbols, answers of which few are long, questions up to a size."""
    generator = torch.Generator().manual_seed(seed)
    uniform = torch.rand(rows, 3, generator=generator)
    return torch.stack((6 * uniform[:, 0], 5 - 8 * uniform[:, 1].log(), 2 + 35 * uniform[:, 2]), dim=1).long()


def total_work(keys: torch.Tensor, order: torch.Tensor, group: int) -> int:
    """Streams times tokens, group by group, of rows padded to the largest."""
    total = 0
    for rows in keys[order].split(group):
        symbols, answer, question = rows.max(0).values.tolist()
        total += group * max(symbols, 1) * (answer + question)
    return total


def test_every_row_is_in_one_group_and_groups_pad_less_than_sorting_would():
    keys = drawn_keys(1000, 0)
    order = torch.tensor(list(GroupedSampler(keys, group=10, piece=10, seed=1)))
    assert sorted(order.tolist()) == list(range(1000))
    sorts = torch.tensor(sorted(range(1000), key=lambda row: keys[row].tolist()))
    needed = (keys[:, 0].clamp(min=1) * keys[:, 1:].sum(1)).sum()
    cut, sorted_, drawn = (total_work(keys, rows, 10) for rows in (order, sorts, torch.arange(1000)))
    assert needed < cut < sorted_ < 0.6 * drawn


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_two_pieces_are_the_cheapest_halves_along_one_key_in_one_group_or_in_two(groups, seed):
    generator = torch.Generator().manual_seed(seed)
    keys = torch.stack([torch.randperm(12, generator=generator) for _ in range(3)], dim=1)  # no ties
    order = torch.tensor(list(GroupedSampler(keys, group=12 // groups, piece=6, seed=seed)))
    halves = [keys[:, column].argsort() for column in range(3)]
    assert total_work(keys, order, 6) == min(total_work(keys, half, 6) for half in halves)


def test_groups_stay_whole_when_they_are_cut_into_pieces():
    keys = drawn_keys(240, 0)
    whole, cut = (torch.tensor(list(GroupedSampler(keys, 24, piece, seed=5))).view(-1, 24) for piece in (24, 4))
    assert {frozenset(group.tolist()) for group in whole} == {frozenset(group.tolist()) for group in cut}
    assert total_work(keys, cut.flatten(), 4) < total_work(keys, whole.flatten(), 4)


def trainer_of(task, recipe, columns, folder):
    rows = Dataset.from_dict(columns)
    return SymbolInvariantTrainer(
        task=task, model=SymbolInvariantForConditionalGeneration(recipe.config()), args=recipe.arguments(folder),
        train_dataset=rows, eval_dataset=rows, processing_class=task.tokenizer(),
    )  # fmt: skip


@pytest.mark.parametrize(("overrides", "alike"), [({}, True), ({"trainer.train_sampling_strategy": "random"}, False)])
def test_steps_of_a_recipe_are_of_alike_rows_unless_it_says_random(tmp_path, overrides, alike):
    questions = {"formula": ["X" * (number % 20) + "a" for number in range(400)], "witness": ["{1}"] * 400}
    recipe = Recipe.load("ltl-smoke", {"trainer.per_device_train_batch_size": 20, **overrides})
    order = list(trainer_of(LTL, recipe, questions, tmp_path)._get_train_sampler())
    assert sorted(order) == list(range(400)) != order
    spread = torch.tensor([row % 20 for row in order]).view(20, 20).float().std(1)
    assert spread.max() < 2 if alike else spread.min() > 3


def test_an_evaluation_decodes_as_the_arguments_say_and_leaves_the_random_numbers_of_training(tmp_path):
    recipe = Recipe("copy", {}, {"d_model": 8, "num_attention_heads": 2, "d_ff": 8}, {"generation_max_length": 4})
    trainer = trainer_of(COPY, recipe, {"string": ["ab"] * 9, "copy": ["ab"] * 9}, tmp_path)
    trainer.model.generation_config.suppress_tokens = [COPY.base_tokens.index("</s>")]  # so that answers are as long
    before = torch.get_rng_state()
    limited, free = trainer.evaluate(), trainer.check_answers(trainer.checked_rows, "test")
    assert limited["eval_edit_distance"] <= 3 < free["test_edit_distance"]
    assert torch.equal(torch.get_rng_state(), before)


def test_order_is_a_function_of_seed_and_epoch_and_groups_are_shuffled():
    keys = torch.arange(600).view(200, 3) % 7
    sampler, again, other = (GroupedSampler(keys, 8, 8, seed) for seed in (3, 3, 4))
    first = list(sampler)
    assert first == list(sampler) == list(again) != list(other)
    again.set_epoch(1)
    assert first != list(again)
    symbols = keys[torch.tensor(first)].view(-1, 8, 3)[:, 0, 0]
    assert symbols.tolist() != sorted(symbols.tolist())


@pytest.mark.parametrize(("step", "epoch"), [(0, 0), (2, 0), (3, 1), (5, 1), (6, 2)])
def test_a_sampler_is_told_the_epoch_in_which_a_run_goes_on(step, epoch):
    sampler = GroupedSampler(torch.zeros(26, 3, dtype=torch.long), 8, 4, 0)  # three steps in an epoch
    EpochOfSampler(sampler, 8).on_epoch_begin(None, TrainerState(global_step=step), None)
    assert sampler.epoch == epoch


def test_rows_that_fill_no_group_sit_out_and_too_few_rows_are_refused():
    sampler = GroupedSampler(torch.zeros(21, 3, dtype=torch.long), 8, 4, 0)
    assert len(sampler) == 16 == len(list(sampler)) == len(set(sampler))
    with pytest.raises(ValueError, match=r"the 8 of one optimizer step; .* trainer\.per_device_train_batch_size"):
        GroupedSampler(torch.zeros(7, 3, dtype=torch.long), 8, 4, 0)


@pytest.mark.parametrize("kind", ["streams", "canonical"])
def test_the_score_of_an_answer_with_new_symbols_is_its_mean_log_probability(kind):
    from hf_symbinv.training.decoding import generate_scored_answers

    torch.manual_seed(3)
    sizes = {"d_model": 16, "num_attention_heads": 2, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1}
    config = TSEITIN.config(**sizes, symbol_embedding=kind, components=["EP", "DP", "CP"], num_symbols=12)
    model, tokenizer = SymbolInvariantForConditionalGeneration(config).eval(), TSEITIN.tokenizer()
    for parameter in model.parameters():
        parameter.data.mul_(3)  # fresh weights find all tokens about equally likely
    questions, base, new = ["&ab", "|&cb!a", "^de"], len(TSEITIN.base_tokens), set()
    options = {"do_sample": True, "top_k": 0, "suppress_tokens": [0, 1, 2], "max_new_tokens": 8}
    found = generate_scored_answers(model, tokenizer, questions, **options)
    for question, (answer,) in zip(questions, found, strict=True):
        names = list(dict.fromkeys([*TSEITIN.symbols(question), *TSEITIN.symbols(answer.text)]))
        words = list(TSEITIN.words(answer.text))
        labels = [
            tokenizer.base_tokens.index(word) if name is None else base + names.index(name) for _, word, name in words
        ]
        with torch.no_grad():
            start = torch.tensor([[0, *labels]])
            logits = model(**tokenizer(question, return_tensors="pt"), decoder_input_ids=start).logits[0].log_softmax(1)
        assert answer.score == pytest.approx(logits[range(len(labels)), labels].mean().item(), abs=1e-5)
        new |= {i for i in labels if i >= base} - set(tokenizer(question)["input_ids"])
    assert new


def test_questions_whose_answers_are_done_are_no_longer_computed(monkeypatch):
    from hf_symbinv.evaluation import load_checkpoint
    from hf_symbinv.training.decoding import generate_scored_answers

    checkpoint, decoded = load_checkpoint("ltl-small", "cpu"), []
    step = type(checkpoint.model)._step

    def spy(self, input_ids, *args, **kwargs):
        decoded.append(len(input_ids))
        return step(self, input_ids, *args, **kwargs)

    monkeypatch.setattr(type(checkpoint.model), "_step", spy)
    formulas = ["a", "&&aXbXXX!c", "U1&a!b", "&!aUaXb"]
    found = generate_scored_answers(checkpoint.model, checkpoint.tokenizer, formulas, num_beams=3, max_new_tokens=40)
    assert decoded[0] == len(formulas) and decoded[-1] < max(decoded) == 3 * len(formulas)
    assert all(answers[0].score < 0 for answers in found)

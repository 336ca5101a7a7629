"""Rows are padded to few shapes, and which rows a step takes is a function of seed and step."""

import random

import numpy as np
import pytest
import torch


def random_rows(count, seed=0):
    rng = random.Random(seed)
    questions = [[*(rng.choice([5, 7, *range(13, 13 + rng.randint(1, 4))]) for _ in range(rng.randint(1, 9))), 2]
                 for _ in range(count)]  # fmt: skip
    return questions, [[rng.randrange(3, 17) for _ in range(rng.randint(1, 12))] for _ in range(count)]


@pytest.fixture
def pack(tmp_path):
    import packed

    questions, answers = random_rows(300)
    arrays = {f"train_{part}_{what}": array for part, rows in (("question", questions), ("answer", answers))
              for what, array in packed.flat(rows).items()}  # fmt: skip
    packed.save_pack(tmp_path / "ltl.npz", arrays, {"base_vocab_size": 13, "pad_token_id": 1})
    return packed.Pack(tmp_path / "ltl.npz")


def test_rows_come_back_padded_with_their_symbols_and_lengths(pack):
    questions, answers = random_rows(300)
    rows = pack.rows("train")
    for place, (question, answer) in enumerate(zip(questions, answers, strict=True)):
        symbols = max(len({token for token in question if token >= 13}), 1)
        assert rows.keys[place].tolist() == [symbols, len(question), len(answer)]
        assert rows.questions[place].tolist() == question + [1] * (rows.questions.shape[1] - len(question))
        assert rows.answers[place].tolist() == answer + [255] * (rows.answers.shape[1] - len(answer))


def test_training_rows_with_longer_answers_than_the_papers_write_are_left_out():
    import datasets
    from pack import LONGEST, encoded

    answers = ["a;" * 48 + "{a}", "a;" * 49 + "{a}", "{b}"]  # of 99, 101 and 3 tokens
    rows = datasets.Dataset.from_dict({"formula": ["Xa", "XXa", "b"], "witness": answers})
    train, valid = (encoded("ltl", name, rows) for name in ("train", "valid"))
    assert train["train_answer_lengths"].tolist() == [100, 4] and LONGEST == 100
    assert train["train_question_lengths"].tolist() == [3, 2] and len(train["train_question_tokens"]) == 5
    assert valid["valid_answer_lengths"].tolist() == [100, 102, 4]


def test_a_missing_pack_says_how_to_make_it(tmp_path):
    import packed

    with pytest.raises(FileNotFoundError, match=r"ltl\.npz: no such file; run python benchmarks/gpu/pack\.py first"):
        packed.Pack(tmp_path / "ltl.npz")


@pytest.mark.parametrize("count", [1, 2, 6, 50])
def test_every_row_fits_its_shape_and_more_shapes_pad_less(pack, count):
    import packed

    keys = pack.rows("train").keys
    shape_of, shapes = packed.make_shapes(keys, count, least=20)
    assert len(shapes) <= count and (shapes[shape_of] >= keys).all()
    assert np.bincount(shape_of.numpy(), minlength=len(shapes)).min() >= 20
    work = packed.work(shapes.numpy())[shape_of.numpy()].sum()
    one = packed.work(keys.numpy().max(0)) * len(keys)
    assert work == one if count == 1 else work < one


def test_a_plan_takes_rows_of_one_shape_in_each_step_and_no_row_twice_in_an_epoch(pack):
    import packed

    keys = pack.rows("train").keys
    plan = packed.Plan(keys, batch=16, count=4, seed=0)
    taken = []
    for step in range(plan.steps_per_epoch):
        rows, shape = plan.at(step)
        assert len(rows) == 16 and (keys[rows] <= plan.shapes[shape]).all()
        taken += rows.tolist()
    assert len(set(taken)) == len(taken) > len(keys) - 16 * len(plan.shapes)
    assert plan.needed < plan.padded < packed.work(keys.numpy().max(0))


def test_a_plan_depends_on_seed_and_step_and_on_no_step_before(pack):
    import packed

    keys = pack.rows("train").keys
    plan, other = (packed.Plan(keys, 16, 4, seed) for seed in (0, 1))
    last = 2 * plan.steps_per_epoch + 3
    walked = [plan.at(step) for step in range(last + 1)]
    rows, shape = packed.Plan(keys, 16, 4, 0).at(last)
    assert torch.equal(rows, walked[last][0]) and shape == walked[last][1]
    assert not torch.equal(rows, walked[3][0]) and not torch.equal(rows, other.at(last)[0])


def test_rows_that_fill_no_step_are_refused(pack):
    import packed

    with pytest.raises(ValueError, match="300 rows are fewer than the 301 of a step; pack more rows"):
        packed.Plan(pack.rows("train").keys, 301, 4, 0)

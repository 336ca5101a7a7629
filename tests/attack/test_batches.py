"""What a model answers does not depend on the questions beside it, and one at a time neither do the scores."""

import pytest

from .bundled import NAMES, bundled

# Our choice: scores are of the order of 0.1 and float32 rounds at 1e-7, so two that are nearer than this may change
# places.
ROUNDING = 1e-5


@pytest.fixture(scope="module", params=["ltl-small", "prop-small"])
def asked(request):
    return bundled(request.param)


def draw(random, task):
    """Questions of different sizes and numbers of symbols, some of them twice."""
    found, number = [], random.randint(2, 7)
    while len(found) < number:  # of some sizes a task draws none
        names = random.sample(NAMES, random.randint(1, 5))
        found += task.draw(tuple(names), 1, random.randint(1, 14), random.randrange(1 << 30), 1)
    return [*found, *random.sample(found, random.randint(0, 2))]


def decoding(random):
    """Arguments of `generate`."""
    beams = random.randint(1, 4)
    return {"num_beams": beams, "num_return_sequences": random.randint(1, beams), "max_new_tokens": 24}


def test_answers_are_those_of_any_other_batch_and_scores_up_to_rounding(attack, asked):
    ask, task = asked
    for attempt in attack.tries(2):
        questions = draw(attempt.random, task)
        options = decoding(attempt.random)
        together = ask(questions, batch_size=len(questions), **options)
        order = attempt.random.sample(range(len(questions)), len(questions))
        mixed = ask([questions[place] for place in order], batch_size=attempt.random.randint(2, 4), **options)
        alone = [ask([question], **options)[0] for question in questions]
        for place, question in enumerate(questions):
            for other in (alone[place], mixed[order.index(place)]):
                assert [score for _, score in together[place]] == pytest.approx(
                    [score for _, score in other], abs=ROUNDING
                ), question
                for (text, score), (expected, _) in zip(together[place], other, strict=True):
                    ties = [one for one, value in other if abs(value - score) < ROUNDING]
                    assert text == expected or text in ties, question


def test_one_at_a_time_answers_and_scores_are_the_same_to_the_last_bit(attack, asked):
    ask, task = asked
    for attempt in attack.tries(2):
        questions = draw(attempt.random, task)
        options = decoding(attempt.random)
        expected = {question: ask([question], **options)[0] for question in questions}
        order = attempt.random.sample(questions, len(questions))
        others = draw(attempt.random, task)
        found = ask([*others, *order], batch_size=1, **options)[len(others) :]
        assert found == [expected[question] for question in order]

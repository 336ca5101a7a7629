"""The law itself: to a renamed question a bundled model gives the renamed answer, with the same score bit for bit."""

import pytest

from hf_symbinv.files import bundled_checkpoints

from .bundled import NAMES, bundled

# Names of the tokenizer's own and a user's.
OTHERS = [*"abcdefghijklmnopqrstuvwxyz", "p26", "p31", "request", "grant_1", "next state", "Ready"]


@pytest.fixture(scope="module", params=bundled_checkpoints())
def asked(request):
    return bundled(request.param)


def renaming_of(draw, task, question):
    """New names for the symbols of a question, all different."""
    symbols = task.symbols(question)
    return dict(zip(symbols, draw.sample(OTHERS, len(symbols)), strict=True))


def test_renamed_questions_have_renamed_answers_and_equal_scores(attack, asked):
    ask, task = asked
    for attempt in attack.tries(1):
        draw = attempt.random
        questions = []
        while len(questions) < 3:  # of some sizes a task draws none
            names = draw.sample(NAMES, draw.randint(1, 5))
            questions += task.draw(tuple(names), 1, draw.randint(1, 14), draw.randrange(1 << 30), 1)
        renamings = [renaming_of(draw, task, question) for question in questions]
        pairs = list(zip(questions, renamings, strict=True))
        renamed = [task.rename(question, renaming) for question, renaming in pairs]
        beams = draw.randint(1, 3)
        options = {"num_beams": beams, "num_return_sequences": draw.randint(1, beams), "max_new_tokens": 24}
        before, after = ask(questions, batch_size=3, **options), ask(renamed, batch_size=3, **options)
        for (question, renaming), old, new in zip(pairs, before, after, strict=True):
            expected = [(task.rename(answer, renaming), score) for answer, score in old]
            assert new == expected, (question, renaming)

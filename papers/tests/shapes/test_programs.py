"""Questions on small programs have the answers that running them shows."""

import random

from papers.shapes.programs import BASE_TOKENS, assignments, forgotten

NAMES = "abcdefgh"


def test_the_forgotten_variable_is_the_one_that_the_program_never_uses():
    rng = random.Random(0)
    for _ in range(100):
        program, variable = forgotten(rng, NAMES, 3, 6)
        words = program.split()
        defined = [words[place - 1] for place, word in enumerate(words) if word == "="]
        unused = [name for name in defined if words.count(name) == 1]
        assert unused == [variable] and 3 <= len(defined) <= 6 and words.count("<mask>") == 1
        assert {*words} <= {*defined, *BASE_TOKENS}


def test_reads_and_assignments_are_classed_as_running_the_program_shows():
    rng = random.Random(0)
    seen = set()
    for _ in range(100):
        program, classes = assignments(rng, NAMES, 2, 5, statements=4)
        words = program.split()
        assert len(words) == len(classes) == 6 * 4 and 2 <= len({*words} & {*NAMES}) <= 5
        lines = [words[start : start + 6] for start in range(0, len(words), 6)]
        expected, assigned = [], set()
        for number, (target, _, one, _, two, _) in enumerate(lines):
            later = any(target in line[2:] for line in lines[number + 1 :])
            known = [2 if name in assigned else 3 for name in (one, two)]
            expected += [0 if later else 1, -100, known[0], -100, known[1], -100]
            assigned.add(target)
        assert classes == expected
        seen |= {*classes}
    assert seen == {-100, 0, 1, 2, 3}

"""The collection is named and has its sources, and the exact members of the portfolio answer all of it, with proofs."""

from collections import Counter

import pytest

from hf_symbinv.answers import Portfolio, read_collection, verify_certificate
from hf_symbinv.answers.certificates import Certificate, confirmed

COLLECTION = read_collection()
# Which have no trace, known from what they say: three of ours that contradict themselves.
UNSATISFIABLE = {"engineering/arbiter.at-once", "engineering/counter.never-full", "engineering/watchdog.reset"}


def test_it_has_formulas_of_many_sources_under_names_of_their_own():
    names = [pattern.name for pattern in COLLECTION]
    assert len(set(names)) == len(names) >= 150
    assert len({pattern.source for pattern in COLLECTION}) >= 20
    assert all(pattern.source.strip() for pattern in COLLECTION)
    groups = Counter(name.partition("/")[0] for name in names)
    assert groups["dwyer"] == 55


@pytest.mark.slow
def test_every_formula_gets_an_answer_whose_certificate_verifies():
    pytest.importorskip("spot")
    unsatisfiable = set()
    with Portfolio(["spot", "bounded"], timeout=30) as portfolio:
        for pattern in COLLECTION:
            answer = portfolio.answer(pattern.specification)
            assert answer.result != "unknown", pattern.name
            claim = Certificate(answer.specification, answer.result, answer.witness, answer.subset, answer.minimal)
            if answer.result == "unsatisfiable":
                unsatisfiable.add(pattern.name)
            # What both checkers have confirmed a moment ago is not checked again, as it is the same work.
            if {check.verdict for check in answer.checks} != {"correct"}:
                assert confirmed(claim.witness is not None, verify_certificate(claim, portfolio)), pattern.name
    assert unsatisfiable == UNSATISFIABLE

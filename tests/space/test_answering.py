"""The demo's answers: verified by Spot within its limit, renamed bit for bit, and honest about what cannot be asked."""

import itertools
import math
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from answering import LARGEST_MAP, READING, WRITING, QuestionError, read_renaming, renamings
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv import Checker, Formula, FormulaSyntaxError, parse, parse_trace, to_infix, to_prefix

QUESTION = "(request U grant) & X(grant U (done & X !request))"


@pytest.fixture(scope="module")
def solved(answering):
    return answering.solve(QUESTION, beams=4, limit=5.0)


class TestRenamings:
    @pytest.mark.parametrize("names", [("x",), ("b", "x"), ("p", "q", "r"), tuple("abcd"), tuple("abcdefg")])
    def test_each_is_a_permutation_that_renames_the_formula(self, names):
        found = renamings(names)
        assert found and len({tuple(one.items()) for one in found}) == len(found)
        for one in found:
            assert set(one) == set(one.values()) >= set(names)
            assert any(one[name] != name for name in names)

    def test_of_three_names_there_are_all_and_the_first_moves_every_name(self):
        names = ("p", "q", "r")
        every = {row for row in itertools.permutations(names) if row != names}
        assert {tuple(one.values()) for one in renamings(names)} == every
        assert all(old != new for old, new in renamings(names)[0].items())


class TestBadInput:
    @pytest.mark.parametrize(
        ("given", "message"),
        [
            *(({"text": text}, r"The box is empty: write a formula, such as G\(request -> F grant\)")
              for text in ("", " \n")),
            ({"text": " & ".join(f"x{i}" for i in range(80))}, "159 tokens and 80 names: this demo takes .* = 1,500"),
            *(({"text": text * 2001}, r"^This formula has 2,001 characters: this demo takes at most 2,000\.$")
              for text in "a("),
            *(({"text": text}, rf"^{re.escape(repr(text))} is no formula: send text\.$")
              for text in (None, 7, ["a"], {"a": 1}, b"a")),
            *(({"beams": beams}, r"^Beams: .* must be a whole number from 1 to 10\.$")
              for beams in (0, 11, 2.5, math.nan, "5", None, True, 10**400)),
            *(({"limit": limit}, r"^Seconds for Spot: .* must be a number from 0\.5 to 10\.$")
              for limit in (0.4, 10.5, math.nan, math.inf, "5", None, True, 10**400)),
        ],
    )  # fmt: skip
    def test_what_cannot_be_asked_is_refused(self, answering, given, message):
        with pytest.raises(QuestionError, match=message):
            answering.solve(**{"text": "a", **given})

    def test_the_parser_says_what_is_wrong(self, answering):
        with pytest.raises(FormulaSyntaxError, match="position 4 of 'a U '"):
            answering.solve("a U ")

    def test_a_renaming_that_is_too_long_is_refused(self):
        with pytest.raises(QuestionError, match=r"This renaming has 2,001 characters"):
            read_renaming("a" * 2001, parse("a"))


class TestChosenNames:
    FORMULA = parse('request U (grant & "a b")')

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("request=x", {"request": "x", "grant": "grant", "a b": "a b", "x": "request"}),
            (" request = grant ,grant=request, ", {"request": "grant", "grant": "request", "a b": "a b"}),
            (
                'request="=,", grant=_y, "a b"=grant',
                {"request": "=,", "grant": "_y", "a b": "grant", "=,": "request", "_y": "a b"},
            ),
        ],
    )
    def test_what_is_named_is_renamed_by_a_permutation(self, text, expected):
        assert read_renaming(text, self.FORMULA) == expected and set(expected) == set(expected.values())

    @given(st.permutations(("request", "grant", "a b", "x", "y", "z")))
    def test_any_distinct_names_can_be_chosen(self, names):
        wanted = dict(zip(self.FORMULA.symbols(), names, strict=False))
        text = ", ".join(f"{to_infix(Formula.ap(old))}={to_infix(Formula.ap(new))}" for old, new in wanted.items())
        if all(old == new for old, new in wanted.items()):
            with pytest.raises(QuestionError):
                read_renaming(text, self.FORMULA)
            return
        found = read_renaming(text, self.FORMULA)
        assert found.items() >= wanted.items() and set(found) == set(found.values())

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("request=x, grant=x", "'request' and 'grant' would both be called 'x': give each a name of its own."),
            ("request=grant", "'request' and 'grant' would both be called 'grant': give each a name of its own."),
            ("request=x, request=y", "'request' is given two new names: give it one."),
            ("req=x", "The formula has no name 'req': its names are request, grant, a b."),
            ("request=G", "'G' cannot be a name: use letters, digits and _, no operator, or put it in double quotes."),
            ("request=x; grant=y", "'request=x; grant=y' cannot be read: write old=new pairs, joined by commas."),
            ("request=x, grant", "'grant' cannot be read: write old=new pairs, joined by commas."),
            ("request=request", "These are the names that the formula has: change at least one of them."),
            ("", "These are the names that the formula has: change at least one of them."),
        ],
    )
    def test_what_is_no_renaming_is_refused_in_a_sentence(self, text, message):
        with pytest.raises(QuestionError) as error:
            read_renaming(text, self.FORMULA)
        assert str(error.value) == message

    def test_the_model_follows_to_names_that_the_baseline_has_no_rows_for(self, answering, solved):
        own, baseline = answering.rename(solved, read_renaming("request=x, grant=request", solved.formula))
        assert own.follows and str(own.renamed) == str(parse("(x U request) & X(request U (done & X !x))"))
        assert baseline.refusal == "It has learned a row for each of 3 names and cannot be asked about 4."


class TestSolving:
    def test_answers_are_verified_traces_in_the_users_names(self, solved):
        assert len(solved.candidates) == 4 and solved.best.verdict == "correct"
        assert set(parse_trace(solved.best.text).symbols()) <= {"request", "grant", "done"}
        pairs = [(to_prefix(parse(QUESTION)), one.text) for one in solved.candidates]
        with Checker(workers=1) as checker:
            assert [one.verdict for one in checker.check(pairs)] == [one.verdict for one in solved.candidates]
        scores = [one.score for one in solved.candidates]
        assert scores == sorted(scores, reverse=True) and solved.model_seconds > 0

    def test_spots_own_witness_holds_and_its_time_is_taken(self, solved):
        with Checker(workers=1) as checker:
            (result,) = checker.check([(to_prefix(parse(QUESTION)), solved.search.witness)])
        assert result.verdict == "correct" and 0 < solved.search.seconds < 5

    def test_where_no_witness_exists_nothing_is_verified(self, answering):
        one = answering.solve("a & X b & !a", beams=3)
        assert one.search.status == "done" and one.search.witness is None
        assert {candidate.verdict for candidate in one.candidates} == {"incorrect"}
        assert one.best == one.candidates[0]

    @pytest.mark.slow
    def test_a_busy_spot_is_stopped_once_and_ready_for_the_next_formula(self, answering, busy_formula):
        start = time.perf_counter()
        one = answering.solve(busy_formula, beams=3, limit=0.5)
        spent = time.perf_counter() - start - one.model_seconds
        assert [candidate.verdict for candidate in one.candidates] == ["timeout", "unchecked", "unchecked"]
        assert "stopped at the limit of 0.5 s" in one.candidates[0].message
        assert one.search.status == "timeout" and one.search.witness is None
        assert spent < 10  # the two limits, and the start of new processes on a busy machine
        own, baseline = answering.rename(one, renamings(one.formula.symbols())[0])
        assert own.follows and own.after[0].verdict == "unchecked" and baseline.refusal
        assert answering.solve("a & X b", beams=1, limit=0.5).best.verdict == "correct"


class TestLanes:
    def test_who_asks_together_is_answered_as_alone(self, answering):
        formulas = [f"(request U g{i}) & X(g{i} U (done & X !request))" for i in range(4)]
        with ThreadPoolExecutor(4) as visitors:
            together = list(visitors.map(lambda formula: answering.solve(formula, beams=2), formulas))
        for formula, one in zip(formulas, together, strict=True):
            alone = answering.solve(formula, beams=2)
            assert [each.text for each in one.candidates] == [each.text for each in alone.candidates]
            scores = [each.score for each in alone.candidates]
            assert [each.score for each in one.candidates] == pytest.approx(scores, abs=1e-5)
            assert one.best.verdict == "correct" and not one.crowded and one.limit == 5

    def test_who_comes_while_the_model_is_busy_shares_a_batch_unless_the_question_is_long(self, answering):
        short = [f"X(a{i} U b)" for i in range(5)]
        long = " & ".join(f"p{i} & X q{i}" for i in range(12))
        go_on = threading.Event()
        answering._models.submit(go_on.wait)
        with ThreadPoolExecutor(6) as visitors:
            asked = [visitors.submit(answering.solve, text, 2 + (text == short[-1])) for text in short]
            while len(answering._batches._waiting) < len(asked):
                time.sleep(0.01)
            asked.append(visitors.submit(answering.solve, long, 2))
            while len(answering._batches._waiting) < len(asked):
                time.sleep(0.01)
            go_on.set()
            *same, other_beams, alone = (one.result().model_seconds for one in asked)
        assert len(set(same)) == 1
        assert len({*same, other_beams, alone}) == 3

    def test_of_many_who_wait_the_first_and_the_shorter_half_are_answered_first(self, answering):
        texts = ["X" * (26 - i) + f"(a{i} U b)" for i in range(26)]
        go_on = threading.Event()
        answering._models.submit(go_on.wait)
        with ThreadPoolExecutor(len(texts)) as visitors:
            asked = []
            for text in texts:
                asked.append(visitors.submit(answering.solve, text, 1))
                while len(answering._batches._waiting) < len(asked):
                    time.sleep(0.01)
            go_on.set()
            batches = [one.result().model_seconds for one in asked]
        together = [seconds == batches[0] for seconds in batches]
        assert together == [True] + 12 * [False] + 13 * [True]

    @pytest.mark.slow
    def test_spot_goes_on_in_the_patient_lane_and_others_pass(self, answering, busy_formula):
        with ThreadPoolExecutor(2) as visitors:
            busy = visitors.submit(answering.solve, busy_formula, 1, 4.0)
            passing = visitors.submit(answering.solve, "a & X b", 1, 10.0)
            assert passing.result().best.verdict == "correct" and not busy.done()
        # A fast machine fills Spot's memory before that.
        assert busy.result().limit == 4 and re.search("the limit of 4 s|no more memory", busy.result().search.message)


class TestRenaming:
    def test_the_answer_that_is_shown_is_the_one_that_is_renamed_and_checked_again(self, answering):
        one = answering.solve("G(a -> (b U c)) & F(a & !c) & X d & (e U (d & !a))", beams=5)
        wrong = replace(one.candidates[0], verdict="incorrect")
        swapped = replace(one, candidates=(wrong, replace(one.candidates[1], verdict="correct"), *one.candidates[2:]))
        own, _ = answering.rename(swapped, renamings(one.formula.symbols())[0])
        assert own.shown == 1 and own.before[1].text == swapped.best.text and own.follows
        assert [candidate.verdict for candidate in own.after].index("unchecked") == 0
        assert own.after[1].verdict != "unchecked"
        assert answering.solve("G FULL", beams=1).told[0].startswith("FULL is read as F before ULL") and not one.told

    @pytest.mark.slow
    def test_the_model_follows_every_renaming_bit_for_bit_and_the_baseline_does_not(self, answering, solved):
        pairs = [answering.rename(solved, one) for one in renamings(solved.formula.symbols())]
        assert all(own.follows and own.after[0].verdict == own.before[0].verdict for own, _ in pairs)
        assert len({str(own.renamed) for own, _ in pairs}) == 5
        assert not any(baseline.follows for _, baseline in pairs)
        assert any(baseline.expected[0] != baseline.after[0].text for _, baseline in pairs)
        for _, baseline in pairs:
            assert baseline.before[0].verdict == "correct"
            for one in (*baseline.before, *baseline.after):
                assert set(parse_trace(one.text).symbols()) <= {"request", "grant", "done"}


class TestAttention:
    @pytest.mark.parametrize("view", [READING, WRITING])
    def test_each_row_is_a_distribution_over_the_formula(self, answering, solved, view):
        one = answering.attention(solved, view, "grant", 1, 2)
        assert one.stream == "grant"
        assert one.columns[:3] == ("&", "U", "request") and one.columns[-1] == "(end)"
        assert one.rows == one.columns if view == READING else one.rows[-2:] == ("}", "(end)")
        assert len(one.weights) == len(one.rows)
        for row in one.weights:
            assert len(row) == len(one.columns) and sum(row) == pytest.approx(1)

    @pytest.mark.parametrize("view", [READING, WRITING])
    def test_a_renamed_stream_looks_at_the_same_places(self, answering, solved, view):
        own, _ = answering.rename(solved, renamings(solved.formula.symbols())[0])
        renamed = replace(solved, formula=own.renamed, candidates=own.after)
        for name, other in own.renaming.items():
            before = answering.attention(solved, view, name, 0, 0)
            after = answering.attention(renamed, view, other, 0, 0)
            assert after.weights == before.weights and after.stream == other

    def test_an_answer_that_was_cut_off_cannot_be_looked_at_while_it_is_written(self, answering, solved):
        cut = tuple(replace(one, text="a;&a", verdict="invalid") for one in solved.candidates)
        with pytest.raises(QuestionError, match="The answer is not complete"):
            answering.attention(replace(solved, candidates=cut), WRITING, "grant", 0, 0)
        assert answering.attention(replace(solved, candidates=cut), READING, "grant", 0, 0).rows

    @pytest.mark.parametrize(
        ("view", "formula", "answer", "size"),
        [
            (READING, f"{'X' * LARGEST_MAP} grant", "grant;{1}", "62 by 62"),
            (WRITING, "grant", f"{'1;' * 30}{{1}}", "64 by 2"),
        ],
    )
    def test_a_map_that_cannot_be_read_is_refused_before_it_is_computed(
        self, answering, solved, view, formula, answer, size
    ):
        large = replace(solved, formula=parse(formula), candidates=(replace(solved.best, text=answer),))
        computed = []
        hooks = [
            module.register_forward_pre_hook(lambda *_: computed.append(1)) for module in answering.pipe.model.modules()
        ]
        with pytest.raises(QuestionError) as error:
            answering.attention(large, view, "grant", 0, 0)
        assert str(error.value) == (
            f"A map of {size} tokens is too large to be read: this demo draws those of at most 60 by 60."
        )
        assert not computed
        answering.attention(solved, view, "grant", 0, 0)
        assert computed
        for hook in hooks:
            hook.remove()

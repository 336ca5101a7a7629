"""Texts in prefix and in infix notation mean the same to the metrics, and a text with two meanings is never guessed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv import logic
from hf_symbinv.metrics.alpha_covariance import compute_alpha_covariance, measure_alpha_covariance
from hf_symbinv.metrics.ltl_witness import compute_ltl_witness
from hf_symbinv.metrics.notations import (
    ASSIGNMENTS,
    TRACES,
    NotationError,
    answer_in_prefix,
    formulas_in_prefix,
    trace_notation,
)
from hf_symbinv.metrics.prop_assignment import compute_prop_assignment

from ..logic.strategies import formulas, names, steps

TRACE = st.builds(logic.Trace, st.lists(steps, max_size=2), st.lists(steps, min_size=1, max_size=2))
ASSIGNMENT = st.dictionaries(names, st.booleans(), min_size=1, max_size=4).map(
    lambda values: logic.Assignment(tuple(values.items()))
)
# Letters that make names of infix notation which are formulas in prefix notation.
CONFUSABLE = formulas(frozenset({"ap", "1", "U", "R", "W", "M", "X", "F", "!"}), st.sampled_from("ab"), max_leaves=3)
PAIRS = st.lists(st.tuples(st.one_of(formulas(), CONFUSABLE), TRACE), min_size=1, max_size=5)


class TestNotationsOfTexts:
    @given(PAIRS)
    def test_formulas_and_traces_in_one_notation_are_read_as_they_are_meant(self, pairs):
        wanted = [logic.to_prefix(formula) for formula, _ in pairs]
        for write, write_trace in ((logic.to_prefix, logic.trace_to_prefix), (logic.to_infix, logic.trace_to_infix)):
            texts, traces = [write(formula) for formula, _ in pairs], [write_trace(trace) for _, trace in pairs]
            read = formulas_in_prefix(texts, traces, TRACES)
            assert [logic.to_prefix(logic.parse_prefix(text)) for text in read] == wanted
            answers = [answer_in_prefix(text, TRACES) for text in traces]
            assert answers == [logic.trace_to_prefix(trace) for _, trace in pairs]

    @given(st.one_of(formulas(), CONFUSABLE), TRACE, TRACE)
    def test_each_pair_of_a_list_may_be_in_its_own_notation_or_is_refused(self, formula, one, other):
        texts = [logic.to_prefix(formula), logic.to_infix(formula)]
        try:
            read = formulas_in_prefix(texts, [logic.trace_to_prefix(one), logic.trace_to_infix(other)], TRACES)
        except NotationError:
            meanings = []
            for text in texts:
                try:
                    meanings.append((logic.parse_prefix(text), logic.parse_infix(text)))
                except logic.FormulaSyntaxError:
                    continue
            assert any(prefix != infix for prefix, infix in meanings)
        else:
            assert [logic.parse_prefix(text) for text in read] == [formula, formula]

    @given(TRACE)
    def test_no_text_is_a_trace_in_both_notations(self, trace):
        assert trace_notation(logic.trace_to_prefix(trace)) == "prefix"
        assert trace_notation(logic.trace_to_infix(trace)) == "infix"

    @given(ASSIGNMENT)
    def test_assignments_are_read_in_both(self, assignment):
        wanted = logic.assignment_to_prefix(assignment)
        assert answer_in_prefix(wanted, ASSIGNMENTS) == wanted
        assert answer_in_prefix(logic.assignment_to_infix(assignment), ASSIGNMENTS) == wanted
        assert ASSIGNMENTS.notation_of(wanted) == "prefix"

    @given(st.text(alphabet='{}; "cyle=a10'))
    def test_any_answer_is_read_or_refused(self, text):
        for kind in (TRACES, ASSIGNMENTS):
            for notation in ("auto", "prefix", "infix", "lbt"):
                try:
                    assert isinstance(answer_in_prefix(text, kind, notation), str)
                except (logic.FormulaSyntaxError, NotationError):
                    assert kind.notation_of(text) is not None


class TestFormulasWithTwoMeanings:
    @pytest.mark.parametrize(
        ("formula", "prefix", "infix"),
        [("Uab", "Uab", '"Uab"'), ("G Fa", "G Fa", "GFa"), ("X1", "X1", '"X1"'), ("X true", "X true", "X1")],
    )
    def test_the_answer_says_which_is_meant(self, formula, prefix, infix):
        assert formulas_in_prefix([formula], ["a;{b}"], TRACES) == [prefix]
        assert formulas_in_prefix([formula], ["a; cycle{b}"], TRACES) == [infix]
        # an answer of no notation takes that of the others
        assert formulas_in_prefix([formula, "a"], ["nothing", "cycle{1}"], TRACES) == [infix, "a"]

    def test_what_nothing_decides_is_refused_with_both_meanings(self):
        message = (
            r"formulas\[1\]='Uab': means a U b in prefix notation and Uab in infix notation; say notation='prefix'"
        )
        for other, answers in (("1", ["", ""]), ("&ab", ["{a}", "cycle{a}"]), ("a & b", ["{a}", "{a}"])):
            with pytest.raises(NotationError, match=message):
                formulas_in_prefix([other, "Uab"], answers, TRACES)
        for notation, meant in (("prefix", "Uab"), ("infix", '"Uab"')):
            assert formulas_in_prefix(["Uab"], [""], TRACES, notation) == [meant]

    def test_lbt_is_read_when_it_is_asked_for(self):
        formula = logic.parse_infix("request U (t & p0)")
        assert formulas_in_prefix([logic.to_lbt(formula)], ["{1}"], TRACES, "lbt") == [logic.to_prefix(formula)]


@pytest.mark.parametrize(
    ("formulas", "predictions", "more", "message"),
    [
        (["a U"], ["{a}"], {}, r"formulas\[0\]='a U': is no formula \(in prefix notation, .*; in infix notation, .*\)"),
        (["a & b"], ["{a}"], {"notation": "prefix"}, "is no formula .*notation='auto' reads prefix and infix"),
        (["a"], ["{a}"], {"notation": "infix"}, r"predictions\[0\]='{a}': a trace in prefix notation, not in infix"),
        (["a"], ["{a}"], {"references": ["{"]}, r"references\[0\]='{': is no trace .*give None where none is known"),
        (["a"], ["{a}", "{b}"], {}, "2 predictions, 1 formulas: must be equal"),
        (["a"], ["{a}"], {"references": []}, "1 predictions, 0 references: must be equal"),
        (["a"], ["{a}"], {"notation": "polish"}, "notation='polish': unknown; use one of auto, prefix, infix, lbt"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_sentence(formulas, predictions, more, message):
    with pytest.raises(ValueError, match=message):
        compute_ltl_witness(predictions, formulas, workers=1, **more)


class TestVerdicts:
    def test_witnesses_count_the_same_in_either_notation_with_their_verdicts_and_messages(self):
        predictions = ["a;{b}", "a; cycle{b}", "request; cycle{grant}", "a; b; cycle{1}", "cycle{b}", "a; cycle{b"]
        formulas = ["&aXb", "a & X b", "request & X grant", "& a X b", "a & X b", "&aXb"]
        references = ["a; cycle{b}", "a;{b}", "request ; { grant }", None, None, None]
        result = compute_ltl_witness(predictions, formulas, references, timeout=60, workers=1, details=True)
        assert result["verdicts"] == ["exact", "exact", "exact", "correct", "incorrect", "invalid"]
        assert result["accuracy"] == 4 / 6 and result["count"] == 6
        assert result["messages"][:4] == [""] * 4
        assert "violate the formula" in result["messages"][4] and "expected '}'" in result["messages"][5]
        assert "verdicts" not in compute_ltl_witness(predictions[:1], formulas[:1], timeout=60, workers=1)

    def test_assignments_count_the_same_in_either_notation(self):
        predictions = ["a1b0", "b=0, a=1", '"next state"=1', "a=1", "a=2", ""]
        formulas = ["&a!b", "a & !b", '"next state"', "a & !b", "a", "a | !a"]
        references = ["a=1, b=0", "a1b0", None, None, None, None]
        result = compute_prop_assignment(predictions, formulas, references, timeout=60, workers=1, details=True)
        assert result["verdicts"] == ["exact", "exact", "correct", "incorrect", "invalid", "correct"]
        assert all(bool(text) == (verdict in ("incorrect", "invalid")) for text, verdict in zip(
            result["messages"], result["verdicts"], strict=True
        ))  # fmt: skip


class TestAlphaCovariance:
    RENAMINGS = [{"a": "a", "b": "b"}, {"a": "b", "b": "a"}, {"a": "request", "b": "grant"}]

    @pytest.mark.parametrize(
        "answers",
        [
            ["a; cycle{b}", "b; cycle{a}", "request; cycle{grant}"],
            ["a;{b}", "b; cycle{a}", "request ; { grant }"],
            ["a=1, b=0", "b1a0", "request=1, grant=0"],
        ],
    )
    def test_answers_that_follow_a_renaming_have_one_in_either_notation(self, answers):
        assert compute_alpha_covariance([answers], [self.RENAMINGS])["alpha_covariance"] == 1
        other = [answers[0], answers[0], answers[0]]
        assert compute_alpha_covariance([other], [self.RENAMINGS])["alpha_covariance"] == 0

    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            ("F(request) & 1", r"example 0: 'F\(request\) & 1': 'F\(request\)' hides the symbol 'request'; write"),
            ("request; cycle{grant", "'request;' hides the symbol 'request'"),
            ("Frequest", None),
            ("!request", "'!request' hides the symbol 'request'"),
        ],
    )
    def test_a_word_that_hides_a_renamed_symbol_is_refused(self, answer, message):
        predictions, renamings = [["a", answer]], [[{"a": "a"}, {"a": "request", "b": "grant"}]]
        if message is None:  # letters of a name that nothing was renamed to
            assert compute_alpha_covariance(predictions, renamings)["alpha_covariance"] == 0
            return
        with pytest.raises(NotationError, match=message):
            compute_alpha_covariance(predictions, renamings)

    def test_prefix_takes_every_text_word_by_word(self):
        renamings = [[{"a": "a"}, {"a": "b"}]]
        predictions = [["cycle{a}", "cycle{b}"]]
        assert compute_alpha_covariance(predictions, renamings, notation="prefix")["alpha_covariance"] == 1
        with pytest.raises(ValueError, match="notation='infix': unknown; use one of auto, prefix"):
            compute_alpha_covariance(predictions, renamings, notation="infix")

    def test_inputs_in_infix_notation_are_renamed_as_formulas(self):
        asked = []

        def answer(formulas):
            asked.extend(formulas)
            return [f"cycle{{{logic.to_infix(logic.parse_infix(text).operands[0])}}}" for text in formulas]

        result = measure_alpha_covariance(answer, ["G(request -> q)"], alphabet=["p", "ack_1"], notation="infix")
        assert result["alpha_covariance"] == 1 and asked == ["G(p -> ack_1)", "G(ack_1 -> p)"]

    @pytest.mark.parametrize(
        ("text", "notation", "message"),
        [
            ("G(request -> F grant)", "prefix", "is in infix notation; say notation='infix'"),
            ("&ab", "infix", "example 0: input '&ab' is no formula in infix notation: position 0"),
            ("a", "polish", "notation='polish': unknown; use one of prefix, infix"),
        ],
    )
    def test_inputs_that_cannot_be_renamed_are_refused(self, text, notation, message):
        with pytest.raises(ValueError, match=message):
            measure_alpha_covariance(lambda texts: texts, [text], alphabet="abc", notation=notation)

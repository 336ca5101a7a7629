"""`symbinv solve`: every formula gets a checked witness or a reason, in the user's notation and names."""

import json

import pytest

from hf_symbinv import PROP, SymbolInvariantForConditionalGeneration

FIELDS = ["formula", "witness", "verdict", "seconds", "decode_seconds", "check_seconds", "message"]
# What the test's model has learned, in other words.
KNOWN = ["1", "X request", "F grant_1", '!"next state"', "true U X2"]
SHORT = ["--max-new-tokens", "8"]


def objects(result):
    return [json.loads(line) for line in result.out.splitlines()]


@pytest.fixture
def solve(symbinv, checkpoint):
    def run(*arguments, stdin=b""):
        return symbinv("solve", "--model", checkpoint, *SHORT, *arguments, stdin=stdin)

    return run


class TestAnswers:
    def test_one_object_for_each_formula_in_order(self, solve):
        result = solve("--json", *KNOWN)
        found = objects(result)
        assert (result.code, result.err) == (0, "")
        assert [content["formula"] for content in found] == KNOWN
        assert [content["witness"] for content in found[:3]] == [
            "cycle{1}", "1; request; cycle{1}", "grant_1; cycle{1}"
        ]  # fmt: skip
        assert all(list(content) == FIELDS and content["verdict"] == "correct" for content in found)
        assert all(content["seconds"] > 0 and content["message"] == "" for content in found)

    def test_what_is_printed_for_people(self, solve):
        result = solve("F request", "0")
        verified, refuted = result.out.split("0\n  witness  not found: the model missed it, or there is none\n")
        assert verified == "F request\n  witness  request; cycle{1}\n  verdict  correct\n"
        assert refuted.startswith("  tried    cycle{1}\n  verdict  incorrect: ")
        assert (result.code, result.err) == (1, "")

    def test_a_formula_that_is_true_anyway_needs_no_assignment(self, symbinv, tmp_path):
        """Where there is no symbol, an assignment has nothing to write, whatever the model has learned."""
        sizes = {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "num_attention_heads": 2, "d_ff": 12}
        SymbolInvariantForConditionalGeneration(PROP.config(**sizes)).save_pretrained(tmp_path)
        PROP.tokenizer().save_pretrained(tmp_path)
        result = symbinv("solve", "--model", tmp_path, "1")
        assert (result.code, result.out) == (0, "1\n  assignment  none needed\n  verdict     correct\n")
        result = symbinv("solve", "--model", tmp_path, "0")
        assert result.code == 1 and "verdict     incorrect: the formula is false under every assignment" in result.out

    def test_an_answer_that_cannot_be_checked_in_time_is_not_called_wrong(self, solve, hanging_formula):
        result = solve("--timeout", "0.3", hanging_formula)
        assert result.code == 1 and "  witness  not verified\n  tried    " in result.out
        assert "\n  verdict  timeout: " in result.out

    def test_answers_are_checked_against_the_formula_as_it_was_asked(self, solve, monkeypatch):
        """Not against its rewriting, so that an error there would show."""
        monkeypatch.setattr("hf_symbinv.logic.Formula.to_base", lambda formula: type(formula).true())
        (content,) = objects(solve("--json", "G a & G !a"))
        assert content["verdict"] == "incorrect"


class TestCandidates:
    def test_all_are_checked_and_the_first_verified_one_is_the_answer(self, solve):
        found = objects(solve("--json", "--n-best", "6", "a M b", "!X a", "X X a | X b", "a U b", "0"))
        verdicts = [[candidate["verdict"] for candidate in content["candidates"]] for content in found]
        assert all(len(each) == 6 for each in verdicts)
        assert any(each[0] != "correct" and "correct" in each for each in verdicts), "this model shows nothing"
        for content, each in zip(found, verdicts, strict=True):
            index = each.index("correct") if "correct" in each else 0
            assert (content["witness"], content["verdict"]) == (content["candidates"][index]["witness"], each[index])


class TestInput:
    def test_a_formula_that_cannot_be_read_does_not_stop_the_others(self, solve):
        result = solve("--json", "1", "a & & b", "G(", "a U b c", "1")
        found = objects(result)
        assert (result.code, result.err) == (2, "")
        assert [content.get("verdict") for content in found] == ["correct", None, None, None, "correct"]
        assert found[1] == {
            "formula": "a & & b",
            "error": "position 4 of 'a & & b': unexpected '&', expected a formula",
        }

    def test_without_json_the_reason_is_one_line_on_stderr(self, solve):
        result = solve("1", "a U", "")
        assert result.out.count("verdict") == 1
        assert result.err == (
            "symbinv solve: formula 2: position 3 of 'a U': expected a formula, the text ends here\n"
            "symbinv solve: formula 3: position 0 of '': expected a formula, the text ends here\n"
        )

    def test_more_formulas_than_are_read_at_once_keep_their_order(self, solve):
        formulas = [f"p{i} | !p{i}" if i % 7 else f"p{i} |" for i in range(230)]
        found = objects(solve("--json", "--max-new-tokens", "4", "--beams", "1", stdin="\n".join(formulas).encode()))
        assert [content["formula"] for content in found] == formulas
        assert all(("error" in content) == (i % 7 == 0) for i, content in enumerate(found))

    @pytest.mark.slow
    def test_five_thousand_tokens_are_answered(self, solve):
        formula = "X " * 4_996 + "(a | !a)"
        (content,) = objects(solve("--json", "--beams", "1", "--max-new-tokens", "4", formula))
        assert content["formula"] == formula and content["verdict"] in ("correct", "timeout", "error")

    @pytest.mark.parametrize(
        ("formula", "message"),
        [
            ("X " * 5_000 + "a", "5,001 tokens and 1 symbols for the model to read: the limits are 5,000 tokens"),
            (" & ".join(f"s{i}" for i in range(300)), "599 tokens and 300 symbols for the model to read: the limits"),
            (" xor ".join(f"F(a{i} U b{i})" for i in range(40)), "so nest fewer of them"),
            ("(" * 50_000, "expected a formula, the text ends here"),
        ],
    )
    def test_what_is_too_large_is_refused_with_the_limits(self, formula, message, solve):
        result = solve(formula, "1")
        assert result.code == 2 and message in result.err and result.err.count("\n") == 1
        assert "  verdict  correct" in result.out

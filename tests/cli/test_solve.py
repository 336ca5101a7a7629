"""`symbinv solve`: every formula gets a checked witness or a reason, in the user's notation and names."""

import json
import re

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
        assert all(list(content) == FIELDS and content["verdict"] == "correct" for content in found)
        assert all(content["seconds"] > 0 and content["message"] == "" for content in found)

    def test_answers_are_infix_with_the_user_s_names(self, solve):
        assert [content["witness"] for content in objects(solve("--json", *KNOWN[:3]))] == [
            "cycle{1}",
            "1; request; cycle{1}",
            "grant_1; cycle{1}",
        ]

    @pytest.mark.parametrize(
        ("notation", "formula", "witness"),
        [("prefix", "Uab", "b;{1}"), ("prefix", "F grant_1", "grant_1 ; { 1 }"), ("lbt", "U t p0", "p0 ; { 1 }")],
    )
    def test_answers_to_prefix_notations_are_prefix(self, notation, formula, witness, solve):
        (content,) = objects(solve("--json", "--notation", notation, formula))
        assert (content["witness"], content["verdict"]) == (witness, "correct")

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

    def test_renaming_the_formula_renames_the_answer(self, solve):
        names = {"a": "zebra", "b": "a", "c": "Yak"}
        first, second = (
            objects(solve("--json", "--n-best", "3", formula))[0]
            for formula in ("a U (b & X c)", "zebra U (a & X Yak)")
        )
        assert len(first["candidates"]) == 3
        for one, other in zip(first["candidates"], second["candidates"], strict=True):
            assert re.sub(r"\b[abc]\b", lambda name: names[name[0]], one["witness"]) == other["witness"]


class TestCandidates:
    def test_all_are_checked_and_the_first_verified_one_is_the_answer(self, solve):
        found = objects(solve("--json", "--n-best", "6", "a M b", "!X a", "X X a | X b", "a U b", "0"))
        verdicts = [[candidate["verdict"] for candidate in content["candidates"]] for content in found]
        assert all(len(each) == 6 for each in verdicts)
        assert any(each[0] != "correct" and "correct" in each for each in verdicts), "this model shows nothing"
        for content, each in zip(found, verdicts, strict=True):
            index = each.index("correct") if "correct" in each else 0
            assert (content["witness"], content["verdict"]) == (content["candidates"][index]["witness"], each[index])

    def test_without_a_verified_one_it_says_of_how_many(self, solve):
        assert (
            "  witness  not found among 4 candidates: the model missed it, or there is none\n"
            in solve("--n-best", "4", "0").out
        )


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

    def test_formulas_come_from_a_pipe_or_a_file(self, solve, tmp_path):
        (tmp_path / "formulas").write_text("1\n\na | !a\n")
        from_file = solve("--file", tmp_path / "formulas")
        assert from_file.code == 0 and from_file.out.count("correct") == 2
        assert solve(stdin=b"1\n\na | !a\n") == from_file

    def test_more_formulas_than_are_read_at_once_keep_their_order(self, solve):
        formulas = [f"p{i} | !p{i}" if i % 7 else f"p{i} |" for i in range(230)]
        found = objects(solve("--json", "--max-new-tokens", "4", "--beams", "1", stdin="\n".join(formulas).encode()))
        assert [content["formula"] for content in found] == formulas
        assert all(("error" in content) == (i % 7 == 0) for i, content in enumerate(found))

    def test_two_hundred_symbols_are_answered(self, solve):
        formula = " | ".join(f"s{i}" for i in range(200)) + " | !s0"
        (content,) = objects(solve("--json", "--beams", "1", "--max-new-tokens", "4", formula))
        assert set(content) == set(FIELDS)

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

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--file", "/no/such/file"], "/no/such/file: No such file or directory; check the path"),
            (["a", "--file", "x"], "--file x: leave it out, or leave out the formula before it"),
            ([], "standard input: holds no formula; write one per line"),
            (["a", "--n-best", "4", "--beams", "2"], "--n-best 4: more candidates than beams; use --beams 4 or more"),
            (["a", "--n-best", "0"], "'0': must be an integer of at least 1"),
            (["a", "--beams", "many"], "'many': must be an integer of at least 1"),
            (["a", "--max-new-tokens", "3"], "'3': must be an integer of at least 4"),
            (["a", "--device", "abacus"], "device 'abacus': not usable here"),
            (["a", "--model", "no-such-model"], "no-such-model: no such folder; bundled checkpoints: "),
        ],
    )
    def test_bad_usage_is_refused_with_a_sentence(self, arguments, message, solve):
        result = solve(*arguments)
        assert result.code == 2 and result.out == "" and message in result.err and "Traceback" not in result.err

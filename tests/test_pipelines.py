"""`pipeline("ltl-witness", model=...)` and its kin: questions as users write them in, verified answers out."""

import math
from pathlib import Path

import pytest
import torch
from transformers import pipeline

import hf_symbinv
from hf_symbinv import COPY, LTL, PROP, SymbolInvariantForConditionalGeneration
from hf_symbinv.metrics.alpha_covariance import measure_alpha_covariance
from hf_symbinv.metrics.ltl_witness import compute_ltl_witness
from hf_symbinv.metrics.prop_assignment import compute_prop_assignment

ROOT = Path(__file__).parents[1]
BUNDLED = str(ROOT / "hf_symbinv" / "checkpoints" / "ltl-small")
KEYS = ["answer", "score", "verdict", "message", "checker", "seconds"]
SIZES = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "num_attention_heads": 2, "d_ff": 24}


def saved(task, folder, **fields):
    """A folder with an untrained model for a task."""
    torch.manual_seed(0)
    SymbolInvariantForConditionalGeneration(task.config(**SIZES, **fields)).save_pretrained(folder)
    task.tokenizer().save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def solve():
    return pipeline("ltl-witness", model=BUNDLED)


class TestAnswers:
    def test_one_question_gets_one_dictionary_in_its_own_notation_and_names(self, solve):
        result = solve("G(request -> F grant)", verify=True)
        assert list(result) == KEYS
        assert result["answer"] == "cycle{grant}" and result["verdict"] == "correct" and result["message"] == ""
        assert result["checker"].startswith("spot ") and result["seconds"] > 0 and -1 < result["score"] < 0
        assert solve("&aXb", notation="prefix")["answer"] == "a;b;{1}"

    def test_a_model_that_reads_all_operators_has_the_same_pipeline(self):
        solve = pipeline("ltl-witness", model=hf_symbinv.checkpoint("ltl-patterns"))
        assert solve.symbol_task.name == "ltl-operators"
        results = solve(["G(request -> F grant)", "a W b & F !a"], verify=True)
        assert [result["verdict"] for result in results] == ["correct", "correct"]

    def test_without_verify_nothing_is_checked(self, solve):
        result = solve("a & X b & !a")
        assert result["verdict"] == "unchecked" and result["checker"] is None
        assert solve("a & X b & !a", verify=True)["verdict"] == "incorrect"

    def test_the_arguments_of_every_pipeline_are_honoured(self, solve, monkeypatch):
        questions = ["a U (b & X !a)", "X q", "1", "G F p"]
        alone = [solve(question)["answer"] for question in questions]
        for given in ({"num_workers": 2}, {"num_workers": 1, "batch_size": 3}, {"truncation": True}):
            assert [result["answer"] for result in solve(questions, **given)] == alone
        monkeypatch.setattr(solve.tokenizer, "model_max_length", 5)
        assert solve(questions[0])["answer"] == alone[0]
        with pytest.raises(ValueError, match="tokens"):
            solve(questions, truncation=True)

    def test_lists_keep_their_order_whatever_the_batch_size(self, solve):
        questions = ["a U (b & X !a)", "X q", "1", "G F p"]
        alone = [solve(question)["answer"] for question in questions]
        for size in (1, 3, None):
            assert [result["answer"] for result in solve(questions, batch_size=size)] == alone
        assert [result["answer"] for result in solve(tuple(questions))] == alone
        assert solve([]) == []

    def test_generators_are_read_batch_by_batch(self, solve):
        read = []

        def questions():
            for name in "abc":
                read.append(name)
                yield f"X {name}"

        results = solve(questions(), batch_size=2)
        assert not read and next(results)["answer"] == "1; a; cycle{1}" and read == ["a", "b"]
        assert [result["answer"] for result in results] == ["1; b; cycle{1}", "1; c; cycle{1}"]

    def test_several_answers_come_best_first_and_without_repeats(self, solve):
        first, others = solve(["a U b", "X q"], num_return_sequences=4, verify=True)
        assert 1 < len(first) <= 4 and len({result["answer"] for result in first}) == len(first)
        scores = [result["score"] for result in others]
        assert scores == sorted(scores, reverse=True)
        assert {result["verdict"] for result in others} > {"correct"}

    def test_a_score_is_the_mean_log_probability_of_the_tokens_by_beams_and_greedily(self, solve):
        question = "a & X b"
        batch = solve.tokenizer(LTL.read_question(question, "infix"), text_target="a;b;{1}", return_tensors="pt")
        with torch.no_grad():
            expected = -float(solve.model(**batch).loss)
        for beams in (1, 3):
            result = solve(question, num_beams=beams)
            assert result["answer"] == "a; b; cycle{1}"
            assert math.isclose(result["score"], expected, rel_tol=1e-3, abs_tol=1e-6)

    def test_renaming_the_question_renames_the_answer_and_keeps_the_score(self, solve):
        one, other = solve("(a U b) & X(b U (c & X !a))"), solve("(z U y) & X(y U (grant_1 & X !z))")
        assert other["score"] == one["score"]
        assert other["answer"] == "y; grant_1; !z; cycle{1}" and one["answer"] == "b; c; !a; cycle{1}"

    def test_sampled_answers_have_scores_too(self, solve):
        torch.manual_seed(0)
        assert solve("a U b", num_beams=1, do_sample=True)["score"] < 0

    def test_defaults_may_be_given_once(self):
        solve = pipeline("ltl-witness", model=BUNDLED, num_return_sequences=2, verify=True, notation="prefix")
        assert solve("Xa")[0]["answer"] == "1;a;{1}"
        assert solve("X a", num_return_sequences=1, notation="infix")["verdict"] == "correct"

    def test_a_check_is_cut_at_its_limit(self, solve):
        hard = " U ".join(f"(a{i} | G b{i})" for i in range(10))
        result = solve(hard, verify=True, timeout=0.2, num_beams=1)
        assert result["verdict"] == "timeout" and "0.2" in result["message"]


# As many shapes as the bundled model has seen; `Ready` and `F Ga` are other formulas in prefix notation.
ASKED = [
    "a", "!request", "X Ready", "Ready", "F Ga", "G(request -> F grant)", "a U b", "a & X b & !a", "a R (b | c)",
    "F(a & X b)", "G F p", "(a U b) & X(b U (c & X !a))", '"next state" U b', "a xor b", "a <-> X b", "X X X q",
    "(a U b) U (c U d)", "!(a U b)", "G(a | b) & F !a", "a W b",
]  # fmt: skip


class TestMetricsReadTheAnswers:
    """What a pipeline returns goes unchanged into the metrics, with the formulas that were asked."""

    @pytest.mark.parametrize("notation", ["infix", "prefix", "lbt"])
    def test_witnesses_get_the_verdicts_that_verify_gave(self, notation, solve):
        asked = [LTL.write_question(LTL.read_question(text, "infix"), notation) for text in ASKED]
        answers = solve(asked, notation=notation, verify=True)
        told = {"notation": "lbt"} if notation == "lbt" else {}
        given = [answer["answer"] for answer in answers]
        result = compute_ltl_witness(given, asked, workers=1, timeout=60, details=True, **told)
        assert result["verdicts"] == [answer["verdict"] for answer in answers]
        assert result["messages"] == [answer["message"] for answer in answers]
        assert {"correct", "incorrect"} <= set(result["verdicts"]) and result["accuracy"] > 0.5

    def test_assignments_get_the_verdicts_that_verify_gave(self, tmp_path):
        asked = ["request & !grant", "a | b", "a xor b", "a <-> (b -> c)", "a | !a", "!a", "0", "a & b & c"]
        answers = pipeline("prop-assignment", model=saved(PROP, tmp_path))(asked, verify=True)
        given = [answer["answer"] for answer in answers]
        result = compute_prop_assignment(given, asked, workers=1, timeout=60, details=True)
        assert result["verdicts"] == [answer["verdict"] for answer in answers]

    def test_answers_to_renamed_formulas_have_alpha_covariance_one(self, solve):
        def answer(formulas):
            return [found["answer"] for found in solve(formulas)]

        asked = ["G(request -> F grant)", "a & X b"]
        result = measure_alpha_covariance(answer, asked, alphabet=["a", "b", "request"], notation="infix")
        assert result["alpha_covariance"] == 1 and result["predictions"] == 12


class TestTasks:
    def test_assignments_are_written_as_users_write_them(self, tmp_path):
        result = pipeline("prop-assignment", model=saved(PROP, tmp_path))("request & !grant", verify=True)
        assert "=" in result["answer"] and result["checker"].startswith("py-aiger-sat ")

    def test_the_task_is_found_by_the_models_base_tokens_or_named(self, tmp_path):
        folder = saved(COPY, tmp_path / "copy")
        assert pipeline("symbol-task", model=folder).symbol_task == COPY
        assert pipeline("symbol-task", model=folder, symbol_task="copy")("a b a", verify=True)["verdict"]

    def test_a_saved_one_is_a_checkpoint_that_loads_without_trust(self, tmp_path):
        saved_before = pipeline("ltl-witness", model=saved(LTL, tmp_path / "before"))
        saved_before.save_pretrained(tmp_path / "after")
        assert not (tmp_path / "after" / "pipelines.py").exists()
        assert not hasattr(saved_before.model.config, "custom_pipelines")
        again = pipeline("ltl-witness", model=str(tmp_path / "after"))
        assert [one("a U b")["answer"] for one in (saved_before, again)] == [again("a U b")["answer"]] * 2

    def test_a_users_own_task_is_named_by_its_file(self, tmp_path):
        from hf_symbinv import load_task

        file = str(ROOT / "examples" / "graph_colouring.py")
        folder = saved(load_task(file), tmp_path)
        result = pipeline("symbol-task", model=folder, symbol_task=file)("ab;bc", verify=True, timeout=5)
        assert result["verdict"] in ("correct", "incorrect", "invalid")

    def test_a_symbol_without_a_row_makes_an_answer_invalid(self, tmp_path):
        folder = saved(LTL, tmp_path, symbol_embedding="learned", num_symbols=2)
        known, unknown = pipeline("ltl-witness", model=folder)(["X a", "X c"])
        assert known["verdict"] == "unchecked"
        assert unknown["verdict"] == "invalid" and unknown["score"] is None and "no row for c" in unknown["message"]

    def test_random_embeddings_are_drawn_by_their_seed(self, tmp_path):
        folder = saved(LTL, tmp_path, symbol_embedding="random")
        scores = [
            pipeline("ltl-witness", model=folder, embedding_seed=seed)("a U b", num_beams=1)["score"]
            for seed in (0, 0, 1)
        ]
        assert scores[0] == scores[1] != scores[2]


class TestBadInput:
    def test_a_question_that_cannot_be_read(self, solve):
        with pytest.raises(hf_symbinv.FormulaSyntaxError, match="position 3 of 'a &': expected a formula"):
            solve(["a", "a &"])
        with pytest.raises(TypeError, match="5: a question is a text; give a string"):
            solve(5)
        with pytest.raises(TypeError, match="None: a question is a text"):
            solve(["a", None])
        with pytest.raises(ValueError, match="notation='polish': unknown; use one of infix, lbt, prefix"):
            solve("a", notation="polish")

    def test_an_argument_that_nobody_takes(self, solve):
        with pytest.raises(ValueError, match="num_beam"):
            solve("a", num_beam=3)
        with pytest.raises(ValueError, match="timeout=0"):
            solve("a", verify=True, timeout=0)

    def test_a_model_of_another_task_or_type(self, tmp_path):
        with pytest.raises(ValueError, match="ltl-small: its base tokens are not those of task prop"):
            pipeline("prop-assignment", model=BUNDLED)
        with pytest.raises(
            ValueError, match="task='maze': unknown; use one of ltl, ltl-operators, prop, copy, tseitin, or a file"
        ):
            pipeline("symbol-task", model=BUNDLED, symbol_task="maze")
        from transformers import T5Config, T5ForConditionalGeneration

        small = T5Config(vocab_size=8, d_model=4, d_kv=2, d_ff=4, num_layers=1, num_heads=2, decoder_start_token_id=0)
        with pytest.raises(ValueError, match="model: its model type is 't5', not 'symbol_invariant'; use one"):
            pipeline("ltl-witness", model=T5ForConditionalGeneration(small), tokenizer=LTL.tokenizer())

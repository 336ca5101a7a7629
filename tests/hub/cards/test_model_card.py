"""A model card says what was recorded, is one that the Hub takes, and its snippets run."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from hf_symbinv import SymbolInvariantForConditionalGeneration
from hf_symbinv.hub.cards.facts import CardError, add_results, read_facts, read_results
from hf_symbinv.hub.cards.model import model_card, notes_in, write_model_card
from hf_symbinv.hub.cards.rendering import public

from .conftest import RECORD, evaluation, programs

ROOT = Path(__file__).parents[3]


def sections(text):
    """Heading -> what stands below it."""
    parts = re.split(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_metadata_are_what_the_hub_reads(tiny):
    facts = replace(
        read_facts(tiny, name="me/tiny"),
        results=[
            evaluation("me/data", hub=True, verified_by="spot 2.13", alpha_covariance={
                "alpha_covariance": 1.0, "examples": 10, "predictions": 54, "excluded": 0,
            }),
            evaluation("data/other", beams=1),
        ],
    )  # fmt: skip
    card = ModelCard(model_card(facts, datasets=["me/data"], license="mit"))
    data = card.data.to_dict()
    assert (data["library_name"], data["pipeline_tag"], data["license"]) == ("transformers", "text-generation", "mit")
    assert data["datasets"] == ["me/data"] and "base_model" not in data
    assert data["tags"] == ["symbol-invariance", "streams", "linear-temporal-logic", "formal-methods"]
    first, second, third = card.data.eval_results
    assert card.data.model_name == "tiny" and (first.dataset_type, first.dataset_split) == ("me/data", "test")
    assert first.metric_value == 0.9 and first.metric_type == "accuracy"
    assert first.metric_name == "answers verified by spot 2.13, 59.6 – 98.2 % (95 %), 10 questions"
    assert (second.metric_type, second.metric_value) == ("alpha_covariance", 1.0)
    assert (third.dataset_type, third.dataset_name, third.dataset_config) == ("ltl", "other", "other")
    assert first.verified is None, "this is for the Hub's own evaluations"


def test_the_record_of_training_is_told(tiny):
    told = sections(model_card(read_facts(tiny)))
    training = told["Training"]
    versions = "| versions | Python 3.11.7, torch 2.13.0 |"
    for line in ("| steps | 40 |", "| time | 1:30:00 |", "| hardware | 2 × Some CPU |", versions):
        assert f"\n{line}\n" in training
    assert (
        "| all | 50 | 80.0 % | 67.0 – 88.8 % |" in told["Results"]
        and "The verdicts are those of spot 2.13." in told["Results"]
    )
    assert "These are its hyperparameters:" in training


def with_data(**changes):
    """A record of a run with `--data` whose formulas have at most 3 symbols; its recipe would have drawn others."""
    splits = {"train": {"rows": 400, "symbols": [0, 3], "size": [1, 12], "sha256": "ab" * 32}}
    splits["test"] = {"rows": 50, "symbols": [1, 3], "size": [2, 11], "sha256": "cd" * 32}
    recipe = {**RECORD["recipe"], "data": {"num_symbols": 5, "rows": 500_000, "max_size": 25}}
    builder = {"num_symbols": 3, "text": "/home/somebody/f.txt", "base_words": []}
    data = {"source": "/home/somebody/data/three", "builder": builder, "splits": splits}
    return {**RECORD, "recipe": recipe, "data": {**data, **changes}}


def test_the_data_of_training_are_those_that_the_run_used_and_not_those_of_the_recipe(tiny):
    told = sections(model_card(replace(read_facts(tiny), record=with_data())))["Training"]
    assert "on three. The data were made with these options: num_symbols 3, text f.txt, base_words none." in told
    train, test = f"| train | 400 | 0 – 3 | 1 – 12 | `{'ab' * 32}` |", f"| test | 50 | 1 – 3 | 2 – 11 | `{'cd' * 32}` |"
    assert f"\n{train}\n{test}\n" in told
    assert not re.search(r"500,?000|symbols 5|size 25|0 – 5|drawn at random", told) and "somebody" not in told
    told = sections(model_card(replace(read_facts(tiny), record=with_data(source=None))))["Training"]
    assert "The recipe drew the data that the model was trained on. The formulas are drawn at random by Deep" in told
    told = sections(model_card(read_facts(tiny)))["Training"]
    assert "The data that the model was trained on were not recorded." in told
    assert "num_symbols" not in told and "rows 500" not in told and "drawn at random" not in told
    part = with_data(builder=None, splits={"train": {"rows": 400}})
    told = sections(model_card(replace(read_facts(tiny), record=part)))["Training"]
    assert "\n| train | 400 | not recorded | not recorded | not recorded |\n" in told and "options" not in told


def test_a_later_evaluation_on_the_test_split_takes_the_place_of_the_runs_own(tiny):
    facts = replace(read_facts(tiny), results=[evaluation()])
    results = sections(model_card(facts))["Results"]
    assert "This command measured answers to split test of data/ltl:" in results and "67.0" not in results
    assert "| symbols 3 | 4 |" in results and "Decoding used num_beams 3" in results
    short = evaluation(generation={"num_beams": 3, "num_candidates": 1, "max_new_tokens": 30, "embedding_seed": 4})
    assert " --max-new-tokens 30 --embedding-seed 4\n" in model_card(replace(facts, results=[short]))


def test_the_card_of_the_bundled_checkpoint_is_the_commands_own():
    folder = ROOT / "hf_symbinv" / "checkpoints" / "ltl-small"
    card = (folder / "README.md").read_text()
    facts = read_facts(folder, name="hf_symbinv/checkpoints/ltl-small")
    assert card == model_card(facts, notes=notes_in(card)), "run `symbinv card` with this --name"
    assert len(facts.results) == 7


@pytest.mark.parametrize(
    "path",
    sorted((ROOT / "hf_symbinv" / "checkpoints").glob("*/*.json")),
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_records_of_bundled_checkpoints_name_no_folder_of_a_machine(path):
    assert not re.findall(r'"/\w[^"]*"', path.read_text())


def test_an_evaluation_without_the_grammar_stands_beside_that_with_it(tiny):
    with_it = evaluation(grammar="lasso", generation={"num_beams": 3}, verified_by="spot 2.13")
    without = evaluation(grammar=None, generation={"num_beams": 3, "grammar": None}, verified_by="spot 2.13")
    text = model_card(replace(read_facts(tiny), results=add_results([with_it], [without])))
    assert "The grammar lasso constrained the answers." in text and "No grammar constrained the answers." in text
    assert text.count("Decoding used num_beams 3.") == 2
    assert text.count("answers verified by spot 2.13, written without the grammar, ") == 1
    text = model_card(replace(read_facts(tiny), results=[evaluation()]))
    assert "Whether a grammar constrained the answers was not recorded." in text
    own = model_card(read_facts(tiny))
    assert "The grammar lasso constrained the answers." in own, "the run's own test follows the model's"


def test_best_of_n_is_named_so_and_the_first_candidate_is_the_accuracy(tiny):
    measured = evaluation(correct=5, verified_by="spot 2.13", generation={"num_beams": 5, "num_candidates": 5})
    for group in measured["groups"]:
        group["best_of_n"] = {"n": 5, "verified": 0.9, "verified_interval": [0.6, 1.0]}
    card = ModelCard(model_card(replace(read_facts(tiny), results=[measured])))
    accuracy, best = card.data.eval_results
    assert (accuracy.metric_type, accuracy.metric_value) == ("accuracy", 0.5)
    assert accuracy.metric_name == "first answers verified by spot 2.13, 59.6 – 98.2 % (95 %), 10 questions"
    assert (best.metric_type, best.metric_value) == ("best_of_5", 0.9)
    assert best.metric_name == "best of 5: an answer among 5 verified by spot 2.13, 60.0 – 100.0 % (95 %), 10 questions"
    told = sections(card.text)["Results"]
    assert "\n| questions | number | verified | 95 % interval | best of 5 | 95 % interval |\n" in told
    assert "\n| all | 10 | 50.0 % | 59.6 – 98.2 % | 90.0 % | 60.0 – 100.0 % |\n" in told
    assert 'The column "verified" counts the first candidate.' in told
    alone = model_card(replace(read_facts(tiny), results=[evaluation()]))
    assert "best of" not in alone and "best_of" not in alone and "first answers" not in alone


def test_alpha_covariance_is_told_and_what_was_decoded(tiny):
    old = {"alpha_covariance": 0.95, "examples": 9, "excluded": 1, "predictions": 5000}
    told = "over 9 questions and 5,000 answers to renamed ones."
    text = model_card(replace(read_facts(tiny), results=[evaluation(alpha_covariance=old)]))
    assert f"Alpha-covariance is 0.9500 {told}\n" in text
    new = {**old, "interval": [0.85, 1.0], "renamed": True}
    text = model_card(replace(read_facts(tiny), results=[evaluation(alpha_covariance=new)]))
    once = "Each question was decoded once and its answer was renamed, because names do not reach a model with streams."
    assert f"Alpha-covariance is 0.9500 (0.8500 – 1.0000) {told} {once}\n" in text


def test_a_folder_without_records_gets_a_card_that_says_so(weights):
    told = sections(ModelCard(model_card(read_facts(weights))).text)
    assert "No results were recorded." in told["Results"] and "How it was trained was not recorded." in told["Training"]


def test_a_folder_without_a_model_or_its_weights_is_refused(tiny, tmp_path):
    with pytest.raises(CardError, match=r"has no config.json; name the folder of a model \(`symbinv data` writes"):
        read_facts(tmp_path)
    (tiny / "model.safetensors").write_bytes(b"cut")
    with pytest.raises(CardError, match=r"model.safetensors: damaged .*; save the model again or copy the file anew"):
        read_facts(tiny)
    (tiny / "model.safetensors").unlink()
    with pytest.raises(CardError, match=r"has no weights \(\*.safetensors\)"):
        read_facts(tiny)


def test_neither_tokens_nor_the_machines_folders_are_told(tiny):
    facts = replace(read_facts(tiny), results=[evaluation("/home/somebody/data/ltl")])
    text = model_card(facts)
    assert "hf_xxx" not in text and "somebody" not in text and str(tiny.parent) not in text
    assert "symbinv train ltl-small --output tiny" in text
    assert public("a --b=/x/y/z '/x/y' ~/d https://x.y/z data/ltl") == "a --b=z 'y' d https://x.y/z data/ltl"


def test_what_a_model_was_made_of_is_its_base_model_if_it_is_on_the_hub(tiny, weights):
    facts = read_facts(weights)
    how = {"source": "them/vanilla", "how": "A row became another.", "base_model": "them/vanilla"}
    card = ModelCard(model_card(replace(facts, conversion=how)))
    assert card.data.base_model == "them/vanilla" and "A row became another." in card.text
    assert "fine-tune it before you use it" in card.text
    how = {"source": str(tiny), "how": "So.", "base_model": None}
    local = ModelCard(model_card(replace(facts, conversion=how)))
    assert local.data.base_model is None and "was made of tiny." in local.text
    record = {**RECORD, "recipe": {**RECORD["recipe"], "start": "runs/vanilla"}}
    tuned = ModelCard(model_card(replace(facts, record=record)))
    assert tuned.data.base_model is None and "started from the weights of runs/vanilla" in tuned.text


def test_notes_by_hand_are_kept_and_other_cards_are_not_touched(tiny):
    with pytest.raises(CardError, match=r"card: datasets='a/b/c': is no name on the Hub; write OWNER/NAME"):
        write_model_card(tiny, read_facts(tiny), datasets=["a/b/c"])
    assert not (tiny / "README.md").exists()
    path = write_model_card(tiny, read_facts(tiny))
    marked = path.read_text().replace("<!-- notes -->\n", "<!-- notes -->\n\n### By hand\n\nStopped once.\n")
    path.write_text(marked)
    for _ in range(2):
        write_model_card(tiny, read_facts(tiny))
        assert notes_in(path.read_text()) == "### By hand\n\nStopped once."
    path.write_text("# My own card")
    with pytest.raises(CardError, match=r"README.md: was not written by this command; move it away, or choose"):
        write_model_card(tiny, read_facts(tiny))
    assert path.read_text() == "# My own card"
    assert not [path for path in tiny.iterdir() if path.name.startswith(".")]


@pytest.mark.slow
def test_the_snippets_of_a_card_run_where_the_folder_is(tiny):
    with_package, without = programs(model_card(read_facts(tiny)))
    for program in (with_package, without):
        result = subprocess.run(
            [sys.executable, "-c", program], cwd=tiny.parent, capture_output=True, text=True, check=False
        )
        assert result.returncode == 0 and result.stdout, result.stderr
    assert "hf_symbinv" not in without


def test_a_users_own_task_has_its_file_in_the_snippet(tmp_path):
    from hf_symbinv import load_task

    task = load_task(ROOT / "examples" / "graph_colouring.py")
    folder = tmp_path / "graphs"
    sizes = {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "num_attention_heads": 2, "d_ff": 8}
    SymbolInvariantForConditionalGeneration(task.config(**sizes)).save_pretrained(folder)
    task.tokenizer().save_pretrained(folder)
    (folder / "run.json").write_text(json.dumps({"recipe": {"task": "examples/graph_colouring.py"}}))
    program, _ = programs(model_card(read_facts(folder)))
    assert 'pipeline("symbol-task", model="graphs", symbol_task="graph_colouring.py")' in program
    load_task("copy").tokenizer().save_pretrained(folder)  # with the base tokens of every task without any of its own
    (folder / "run.json").write_text(json.dumps({"recipe": {"task": str(ROOT / "examples" / "graph_colouring.py")}}))
    with pytest.raises(CardError, match="name it: --task "):
        read_facts(folder)


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("run.json", [1], "holds no JSON object"),
        ("run.json", {"recipe": ["ltl"]}, "recipe=['ltl']: must be an object"),
        ("run.json", {"log": [{"step": "10"}]}, "log.0.step='10': must be a whole number"),
        ("run.json", {"seconds": float("inf")}, "seconds=inf: must be less than inf"),
        ("config.json", {"grammar": {}}, "grammar={}: must be an object with name"),
        ("tokenizer_config.json", {"base_tokens": 3}, "base_tokens=3: must be a list"),
    ],
)
def test_recorded_values_of_wrong_kinds_are_named(tiny, file, content, sentence):
    (tiny / file).write_text(json.dumps(content))
    with pytest.raises(CardError) as caught:
        read_facts(tiny)
    message = str(caught.value)
    assert message.startswith(f"{tiny / file}: {sentence}") and message.endswith("; write it again or remove it")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"groups": [{"label": "all"}]}, "groups.0={'label': 'all'}: must be an object with summary"),
        ({"alpha_covariance": {"alpha_covariance": 1.0}}, "must be an object with examples"),
        ({"generation": {"num_beams": float("nan")}}, "holds a number that is not finite"),
    ],
)
def test_an_evaluation_with_values_of_wrong_kinds_is_none(change, sentence, tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps({**evaluation(), **change}))
    with pytest.raises(CardError) as caught:
        read_results([path])
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and sentence in message
    assert message.endswith("; give what `symbinv evaluate --output` wrote")

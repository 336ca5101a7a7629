"""`symbinv card`: a folder and evaluations in, README.md and results.json out."""

import json
import shutil

import pytest
from huggingface_hub import ModelCard


def evaluation(**changes):
    summary = {"count": 10, "accuracy": 0.9, "accuracy_interval": [0.5958, 0.9821]}
    content = {
        "model": "tiny", "task": "ltl", "data": "data/ltl", "split": "test", "generation": {"num_beams": 3},
        "groups": [{"label": "all", "summary": summary}], "alpha_covariance": None,
    }  # fmt: skip
    return {**content, **changes}


@pytest.fixture
def model(checkpoint, tmp_path):
    folder = tmp_path / "tiny"
    shutil.copytree(checkpoint, folder)
    return folder


def test_results_are_added_to_the_folder_and_stay_in_its_card(symbinv, model, tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    first.write_text(json.dumps(evaluation()))
    second.write_text(json.dumps([evaluation(split="validation"), evaluation()]))
    result = symbinv("card", model, "--results", first, "--name", "me/tiny", "--dataset", "me/data")
    assert result.code == 0 and result.out.endswith("parameters, 1 evaluation\n") and "me/tiny" in result.out
    result = symbinv("card", model, "--results", first, second)
    assert result.code == 0 and result.out.endswith("parameters, 2 evaluations\n")
    assert len(json.loads((model / "results.json").read_text())) == 2
    assert symbinv("card", model, "--name", "me/tiny", "--dataset", "me/data", "--license", "mit").code == 0
    card = ModelCard.load(model / "README.md")
    assert len(card.data.eval_results) == 2 and card.data.datasets == ["me/data"] and card.data.license == "mit"
    assert card.data.model_name == "tiny" and '"me/tiny", trust_remote_code=True' in card.text


def test_what_evaluate_writes_is_what_card_reads(symbinv, model, tmp_path):
    data, results = tmp_path / "data", tmp_path / "results.json"
    (data / "data").mkdir(parents=True)
    from hf_symbinv.datasets_scripts.storage import Pair, write_split
    from hf_symbinv.tasks import LTL

    write_split(LTL, data, "test", [Pair("Xa", "1;a;{1}"), Pair("&ab", "&ab;{1}"), Pair("b", "b;{1}")], "spot")
    options = ("--data", data, "--beams", 1, "--max-new-tokens", 12, "--alpha-covariance", 2)
    assert symbinv("evaluate", model, *options, "--output", results).code == 0
    assert symbinv("card", model, "--results", results).code == 0
    card = ModelCard.load(model / "README.md")
    accuracy, covariance = card.data.eval_results
    assert accuracy.metric_name.startswith("answers verified by spot 2.") and accuracy.dataset_type == "ltl"
    assert accuracy.dataset_name == "data" and covariance.metric_value == 1.0
    assert "Alpha-covariance is 1.0000 (1.0000 – 1.0000) over 3 questions" in card.text
    assert "The grammar lasso constrained the answers." in card.text and str(tmp_path) not in card.text


def test_what_cannot_be_done_is_said_in_a_sentence(symbinv, model, tmp_path):
    def fails(*arguments):
        result = symbinv("card", *arguments)
        assert result.code == 2 and result.out == "" and result.err.count("\n") == 1
        return result.err

    assert "none: has no config.json; name the folder of a model" in fails(tmp_path / "none")
    results = tmp_path / "results.json"
    assert "results.json: No such file or directory" in fails(model, "--results", results)
    results.write_text("{}")
    assert "results.json: {}: must be an object with model; give what `symbinv" in fails(model, "--results", results)
    results.write_text(json.dumps(evaluation(task="prop")))
    message = "results.json: of task prop, and the model is for ltl; give its own results"
    assert message in fails(model, "--results", results)
    assert "datasets='nothing here': is no name on the Hub" in fails(model, "--dataset", "nothing here")
    assert not (model / "README.md").exists() and not (model / "results.json").exists()
    (model / "README.md").write_text("# Mine\n")
    assert "README.md: was not written by this command" in fails(model)

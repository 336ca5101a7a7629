"""From a file of pairs to a model, in this process: training, measures, card, Auto classes, pipeline, and refusals."""

import contextlib
import io
import json
import random
import re

import pytest
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, pipeline

from hf_symbinv.cli import main
from hf_symbinv.evaluation import load_checkpoint
from hf_symbinv.evaluation.own_pairs import measure_pairs
from hf_symbinv.hub.cards.model import CARD

TINY = (
    "model.d_model=8", "model.num_attention_heads=2", "model.d_ff=8", "model.encoder_layers=1",
    "model.decoder_layers=1", "trainer.max_steps=4", "trainer.per_device_train_batch_size=8", "trainer.save_steps=4",
    "test_rows=8", "evaluation_rows=4",
)  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path, generator = tmp_path_factory.mktemp("data") / "pairs.csv", random.Random(0)
    lines = ["source,target"]
    for _ in range(300):
        names = generator.choices(["x", "total", "n1", "rest"], k=generator.randint(1, 6))
        lines.append(f"swap {' '.join(names)},done {' '.join(reversed(names))}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


OWN = ("--symbols", r"[a-z]\w*", "--base-words", "swap,done")


@pytest.fixture(scope="module")
def trained(file, tmp_path_factory):
    """The folder of a model, and what its training printed."""
    folder, out, err = tmp_path_factory.mktemp("trained") / "run", io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["train", "--pairs", str(file), *OWN, "--output", str(folder), *TINY])
    assert code == 0, err.getvalue()
    return folder, out.getvalue(), err.getvalue()


@pytest.mark.slow
def test_a_file_of_pairs_becomes_a_model_that_everything_loads(trained, file):
    folder, out, err = trained
    results = json.loads(out)
    assert results["test_count"] == 8 and results["test_alpha_covariance"] == 1
    assert "test_exact" in results and "test_correct" not in results  # nobody judges other answers
    assert re.search(r"\{'step': '?4'?, .*'train_loss': ", err)
    assert err.startswith(f"symbinv train: reading {file}\n")
    sentence, further, picture = err.splitlines()[-3:]
    assert picture.startswith("no picture of its learning curve: ")  # four steps log no loss
    assert re.fullmatch(r"8 test questions: \S+ % of the answers as in the data, 95 % interval \S+ to \S+ %", sentence)
    assert further == (
        f"the model is in {folder}; the same command with trainer.max_steps=8 trains it longer, `symbinv evaluate "
        f"{folder} --data {file}` measures it, and `symbinv solve --model {folder} QUESTION` asks it"
    )
    assert f"{file}: 300 rows, columns source and target" in err and "2 base words: done swap" in err

    card = (folder / CARD).read_text(encoding="utf-8")
    assert r"the columns source and target. A symbol is what the regular expression `[a-z]\w*` matches" in card
    assert "symbinv evaluate run --data pairs.csv --split test --rows 8" in card and "verify=True" not in card

    settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert settings["fixed_names"] is None  # names of the data stay where they are

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForSeq2SeqLM.from_pretrained(folder)
    batch = tokenizer(["swap new_name other"], return_tensors="pt")
    ids = model.generate(**batch, num_beams=3, max_new_tokens=6, do_sample=False)
    answer = tokenizer.batch_decode(ids, symbols=batch.symbols, skip_special_tokens=True)[0]
    solve = pipeline("symbol-task", model=str(folder))
    assert solve("swap new_name other", max_new_tokens=6)["answer"] == answer
    with pytest.raises(ValueError, match="task pairs: it has no judge, so answers cannot be verified"):
        solve("swap x", verify=True)
    with pytest.raises(ValueError, match=r"position 7 of 'swap x \+ y': '\+' is no symbol by the rule"):
        solve("swap x + y")


@pytest.mark.slow
def test_the_folder_is_measured_and_asked_again(symbinv, trained, file, tmp_path):
    folder, out, _ = trained
    solved = symbinv("solve", "--model", folder, "--json", "swap a b", "swap ?")
    first, second = map(json.loads, solved.out.splitlines())
    assert solved.code == 2 and first["verdict"] == "unchecked" and "'?' is no symbol" in second["error"]
    assert symbinv("solve", "--model", folder, "swap a b").code == 0

    told = symbinv(
        "evaluate", folder, "--data", file, "--rows", 8, "--alpha-covariance", 2, "--every-renaming", "--json"
    )
    assert told.code == 0, told.err
    measured = json.loads(told.out)
    assert measured["groups"][0]["summary"]["accuracy"] == json.loads(out)["test_accuracy"]
    assert measured["alpha_covariance"]["alpha_covariance"] == 1 and not measured["alpha_covariance"]["renamed"]
    every = symbinv("evaluate", folder, "--data", file, "--split", "all", "--rows", 300, "--n-best", 2)
    assert re.search(r"questions  as in the data .*\nall +300 ", every.out) and "verified" not in every.out
    assert measure_pairs(folder)["test_alpha_covariance"] == 1

    again = symbinv("train", "--pairs", file, *OWN, "--output", folder, *TINY)
    assert again.code == 0 and json.loads(again.out) == json.loads(out)
    other = symbinv("train", "--pairs", file, *OWN, "--output", folder, *TINY, "trainer.learning_rate=0.5")
    assert other.code == 2 and "holds another run" in other.err


@pytest.mark.slow
def test_a_baseline_has_a_row_for_each_name_of_training(symbinv, file, tmp_path):
    result = symbinv("train", "--pairs", file, *OWN, "--output", tmp_path, *TINY, "model.symbol_embedding=learned")
    assert result.code == 0, result.err
    checkpoint = load_checkpoint(str(tmp_path))
    assert checkpoint.model.config.num_symbols == 4 == len(checkpoint.tokenizer.fixed_names)
    solved = symbinv("solve", "--model", tmp_path, "--json", "swap n1 x", "swap brand_new")
    known, new = map(json.loads, solved.out.splitlines())
    assert known["verdict"] == "unchecked" and new["verdict"] == "invalid"

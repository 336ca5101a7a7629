"""`symbinv train` with `trainer.push_to_hub=true` leaves the run on the Hub: model, code, card, record."""

import json

import pytest

from .fixtures import TOKEN, run, tokens_in

RECIPE = """
task: copy
data: {num_symbols: 2, min_size: 2, max_size: 5, rows: 40, seed: 0}
model: {num_symbols: 2, d_model: 16, num_attention_heads: 2, encoder_layers: 1, decoder_layers: 1, d_ff: 24}
evaluation_rows: 4
test_rows: 4
trainer:
  max_steps: 2
  save_steps: 1
  per_device_train_batch_size: 8
  per_device_eval_batch_size: 8
  use_cpu: true
  report_to: none
  push_to_hub: true
  hub_model_id: alice/run
  hub_private_repo: true
"""
# Two runs of the same command: the Hub fails at the end of the first, so that only the push is left to the second.
TRAIN = """
import contextlib, io
from pathlib import Path
from hf_symbinv.cli import main

Path("recipe.yaml").write_text(given["recipe"])
command = ["train", "recipe.yaml", "--output", "run", f"trainer.hub_token={given['token']}"]
result = []
for _ in range(2):
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        code = main(command)
    result.append([code, errors.getvalue()])
    print(errors.getvalue())
"""
PULL = """
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

result = []
for name in given:
    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(name), AutoTokenizer.from_pretrained(name)
    batch = tokenizer(["abba", "b"], padding=True, return_tensors="pt")
    loss = model(**batch, labels=batch["input_ids"]).loss.item()
    result.append([loss, model.generate(**batch, max_new_tokens=6).tolist()])
"""


@pytest.mark.slow
def test_a_run_is_pushed_when_it_is_complete_and_a_push_that_failed_by_the_same_command(server, tmp_path):
    home = tmp_path / "alice"
    server.fail("POST", "/models/alice/run/commit/", 500)
    first, second = run(server, TRAIN, {"recipe": RECIPE, "token": TOKEN}, home, token=None)
    assert first[0] == 2
    assert first[1].endswith(
        "symbinv train: alice/run: the Hub fails with status 500 (No); repeat the command later\n"
    ), first[1]
    assert second[0] == 0

    repository = server["model", "alice/run"]
    assert repository.private and len(repository.commits) == 2  # an empty repository, and all at once
    files = repository.files()
    assert set(files) == {
        ".gitattributes", "README.md", "arguments_symbinv.py", "base_symbinv.py", "cache_symbinv.py", "config.json",
        "configuration_symbinv.py", "embedding_symbinv.py", "generation_config.json", "generation_symbinv.py",
        "grammar_symbinv.py", "layers_symbinv.py", "listed_tokens_symbinv.py",
        "loss_symbinv.py", "model.safetensors", "modeling_symbinv.py", "numbering_symbinv.py", "recipe.json",
        "run.json", "search_symbinv.py", "slots_symbinv.py", "tokenization_symbinv.py", "tokenizer_config.json",
        "versions_symbinv.py",
    }  # fmt: skip
    assert json.loads(files["run.json"])["finished"] and b"symbol-invariance" in files["README.md"]
    assert not list(home.rglob("training_args.bin"))
    assert tokens_in(home) == []
    assert not [path for path, content in files.items() if TOKEN.encode() in content]

    ours, copy = run(server, "import hf_symbinv" + PULL, [str(home / "run"), "alice/run"], tmp_path)
    assert ours == copy

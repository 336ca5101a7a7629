"""Train a model to say which variable was forgotten, and test it on programs with more variables than training had.

    accelerate launch -m papers.shapes.train_pointing
    accelerate launch -m papers.shapes.train_pointing --output runs/canonical --embedding canonical

Every variable of a program is used. One use is masked, as in `c = 1 ; a = 1 ; b = c + c ; return <mask> + b`, and the
model points at the variable. Embeddings are `streams`, `canonical`, `learned` and `renamed`. Sizes are in
sizes.yaml, and SECTION.KEY=VALUE changes them. Started again with the same folder, it goes on.
"""

import argparse
import random
import string
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from transformers import DataCollatorForTokenClassification, TrainingArguments, set_seed

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForMaskedLM, SymbolInvariantWordTokenizer
from hf_symbinv.metrics import wilson_interval
from hf_symbinv.training import data_record, fit, load_sections, measure_rows, model_errors, training_arguments
from papers.harness.programs import run_program, say_how_to_go_on
from papers.shapes.programs import BASE_TOKENS, forgotten

NAMES = string.ascii_lowercase
WORDS: dict[str, Any] = {
    "base_tokens": [*BASE_TOKENS],
    "symbols": {name: [i, 0] for i, name in enumerate(NAMES)},
    "mask_token": "<mask>",
}


def drawn(tokenizer: SymbolInvariantWordTokenizer, seed: str, count: int, variables: list[int]) -> list[dict[str, Any]]:
    """Rows with `input_ids`, and as `labels` the variable's id at the mask."""
    generator, rows = random.Random(seed), []
    for _ in range(count):
        text, name = forgotten(generator, NAMES, *variables)
        ids, [label] = tokenizer(text)["input_ids"], tokenizer.convert_tokens_to_ids([name])
        rows.append({"input_ids": ids, "labels": [label if i == tokenizer.mask_token_id else -100 for i in ids]})
    return rows


@torch.inference_mode()
def correct(model: SymbolInvariantForMaskedLM, rows: list[dict[str, Any]], collate: Any) -> int:
    """How many masks get the right variable as the most probable token."""
    batches = (collate(rows[start : start + 50]).to(model.device) for start in range(0, len(rows), 50))
    return sum(int((model(**batch).logits.argmax(-1) == batch["labels"]).sum()) for batch in batches)


def train(args: argparse.Namespace) -> None:
    recipe, folder = load_sections(Path(__file__).with_name("sizes.yaml"), args.override), args.output / "model"
    training_arguments(TrainingArguments, folder, recipe["trainer"])  # refuses what is wrong before data are made
    fields, data = {"base_vocab_size": len(BASE_TOKENS), "num_symbols": len(NAMES), "decoder_layers": 0}, recipe["data"]
    with model_errors():
        config = SymbolInvariantConfig(symbol_embedding=args.embedding, **fields, **recipe["model"])
    tokenizer = SymbolInvariantWordTokenizer(**WORDS)
    collate = DataCollatorForTokenClassification(tokenizer)  # pads labels too
    rows = drawn(tokenizer, f"train {data['seed']}", data["rows"], data["variables"])
    texts = ((tokenizer.decode(row["input_ids"]), str(max(row["labels"]))) for row in rows)
    measured = measure_rows(texts, lambda text: len({*text.split()} & {*NAMES}), lambda text: len(text.split()))
    set_seed(recipe["trainer"]["seed"])
    model = SymbolInvariantForMaskedLM(config)
    fit(model, folder, recipe["trainer"], data=data_record(None, data, {"train": measured}), train_dataset=rows,
        data_collator=collate, words=WORDS, card=True)  # fmt: skip
    if not PartialState().is_main_process:
        return
    for key in ("variables", "more_variables"):
        test = drawn(tokenizer, f"test {data['seed']}", data["test_rows"], data[key])
        right, (fewest, most) = correct(model.eval(), test, collate), data[key]
        low, high = wilson_interval(right, len(test))
        print(f"{len(test):,} test programs with {fewest} to {most} variables: {right / len(test):.1%} correct, "
              f"95 % interval {low:.1%} to {high:.1%}")  # fmt: skip
    say_how_to_go_on(folder, recipe["trainer"]["max_steps"])


if __name__ == "__main__":
    run_program(
        __doc__,
        train,
        "runs/pointing",
        {"--embedding": {"default": "streams", "help": "of symbols (default: %(default)s)"}},
    )

"""Train a language model to recall what a variable was set to, and test it with more variables than training had.

    accelerate launch examples/train_recall.py
    accelerate launch examples/train_recall.py --output runs/learned --embedding learned

A text is a row of assignments, as in `c = a ; b = c ; c = b ; b = c ; c = b`. The first are random, and the last repeat
what their variables were set to. A decoder alone reads from left to right, and with streams forks one for a variable
when that first occurs. Embeddings are `streams`, `learned`, `renamed` and `gaussian`. Sizes are in train_recall.yaml,
and SECTION.KEY=VALUE changes them. Started again with the same folder, it goes on.
"""

import argparse
import random
import string
import sys
from pathlib import Path

import torch
from accelerate import PartialState
from transformers import DataCollatorForTokenClassification, TrainingArguments, set_seed

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForCausalLM, SymbolInvariantWordTokenizer
from hf_symbinv.errors import refusals
from hf_symbinv.metrics import wilson_interval
from hf_symbinv.training import data_record, fit, load_sections, measure_rows, model_errors, training_arguments

TOKENS, NAMES = ["<s>", "<pad>", "</s>", "=", ";"], string.ascii_lowercase
WORDS = {"base_tokens": TOKENS, "symbols": {name: [i, 0] for i, name in enumerate(NAMES)}}


def drawn(seed: str, count: int, assignments: int, repeated: int, variables: list[int]) -> list[str]:
    """Texts of `assignments` and some `repeated` ones, between `variables[0]` to `variables[1]` variables."""
    generator, texts = random.Random(seed), []
    for _ in range(count):
        names, last = generator.sample(NAMES, generator.randint(*variables)), dict[str, str]()
        set_to = [(generator.choice(names), generator.choice(names)) for _ in range(assignments)]
        last |= set_to  # of equal variables, the last counts
        set_to += generator.choices(list(last.items()), k=repeated)
        texts.append(" ; ".join(f"{name} = {value}" for name, value in set_to))
    return texts


@torch.inference_mode()
def recalled(model: SymbolInvariantForCausalLM, tokenizer: SymbolInvariantWordTokenizer, texts: list[str]) -> int:
    """To how many of `texts`, which are of one length, the model writes the right end."""
    right = 0
    for start in range(0, len(texts), 50):
        batch = tokenizer(texts[start : start + 50], return_tensors="pt", add_special_tokens=False).to(model.device)
        prompts = {name: tensor[:, :-1] for name, tensor in batch.items()}
        answers = model.generate(**prompts, max_new_tokens=1, do_sample=False)
        right += int((answers[:, -1] == batch["input_ids"][:, -1]).sum())
    return right


def train(args: argparse.Namespace) -> None:
    recipe, folder = load_sections(Path(__file__).with_suffix(".yaml"), args.override), args.output / "model"
    training_arguments(TrainingArguments, folder, recipe["trainer"])  # refuses what is wrong before data are made
    fields, data = {"base_vocab_size": len(TOKENS), "num_symbols": len(NAMES), "encoder_layers": 0}, recipe["data"]
    with model_errors():
        config = SymbolInvariantConfig(symbol_embedding=args.embedding, **fields, **recipe["model"])
    tokenizer = SymbolInvariantWordTokenizer(**WORDS)
    lengths, repeated = (data["assignments"], data["repeated"]), slice(4 * data["assignments"] + 2, None, 4)
    texts = drawn(f"train {data['seed']}", data["rows"], *lengths, data["variables"])
    every_ids = tokenizer(texts, add_special_tokens=False)["input_ids"]
    rows = [{"input_ids": ids, "labels": [-100] * len(ids)} for ids in every_ids]
    for row in rows:  # what the other assignments set is random
        row["labels"][repeated] = row["input_ids"][repeated]
    measured = measure_rows(
        ((text, "") for text in texts), lambda text: len({*text} & {*NAMES}), lambda text: len(text.split())
    )
    set_seed(recipe["trainer"]["seed"])
    model = SymbolInvariantForCausalLM(config)
    fit(model, folder, recipe["trainer"], data=data_record(None, data, {"train": measured}), train_dataset=rows,
        data_collator=DataCollatorForTokenClassification(tokenizer), words=WORDS, card=True)  # fmt: skip
    if not PartialState().is_main_process:
        return
    for key in ("variables", "more_variables"):
        test = drawn(f"test {data['seed']}", data["test_rows"], *lengths, data[key])
        right, (fewest, most) = recalled(model.eval(), tokenizer, test), data[key]
        low, high = wilson_interval(right, len(test))
        print(f"{len(test):,} test texts with {fewest} to {most} variables: {right / len(test):.1%} recalled, "
              f"95 % interval {low:.1%} to {high:.1%}")  # fmt: skip
    sys.stdout.flush()
    print(f"the model is in {folder}; the same command with trainer.max_steps={2 * recipe['trainer']['max_steps']} "
          "trains it longer", file=sys.stderr)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("runs/recall"), help="folder (default: %(default)s)")
    parser.add_argument("--embedding", default="streams", help="of symbols (default: %(default)s)")
    parser.add_argument("override", nargs="*", help="SECTION.KEY=VALUE, such as trainer.max_steps=100")
    args = parser.parse_args()
    with refusals(parser):
        train(args)


if __name__ == "__main__":
    main()

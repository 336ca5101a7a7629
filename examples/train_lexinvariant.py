"""Train a lexinvariant language model on characters, and print its perplexity by place in the window.

    accelerate launch examples/train_lexinvariant.py --output runs/lexinvariant
    accelerate launch examples/train_lexinvariant.py --output runs/novels --corpus novels.txt model.decoder_layers=6
    accelerate launch examples/train_lexinvariant.py --output runs/learned model.symbol_embedding=learned
    accelerate launch examples/train_lexinvariant.py --output runs/lexinvariant test.draws=8

The corpus is a text file, a folder of texts or a data set on the Hub; without one, the sources of Python's standard
library. Sizes are in train_lexinvariant.yaml, and SECTION.KEY=VALUE changes them. Started again with the same output
folder, it goes on from the last checkpoint.
"""

import argparse
from pathlib import Path

import torch
from accelerate import PartialState
from transformers import set_seed

from hf_symbinv import ModelCardCallback, SymbolInvariantConfig, SymbolInvariantForCausalLM
from hf_symbinv.datasets_scripts.language.characters import (
    BASE_TOKENS,
    CorpusConfig,
    encode,
    load_windows,
    prepare,
    words,
)
from hf_symbinv.errors import refusals
from hf_symbinv.training.fitting import fit
from hf_symbinv.training.recipe import load_sections


@torch.inference_mode()
def losses_by_place(model: SymbolInvariantForCausalLM, batches: list[torch.Tensor], draws: int) -> torch.Tensor:
    """The mean loss of each character of the windows, predicted with so many draws of the embeddings."""
    found = []
    for ids in batches:
        logits = model(input_ids=ids.to(model.device), num_draws=draws).logits[:, :-1].float().cpu()
        found.append(torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none"))
    return torch.cat(found).mean(0)


def train(args: argparse.Namespace) -> None:
    recipe = load_sections(Path(__file__).with_suffix(".yaml"), args.override)
    draws = recipe["test"]["draws"]
    if not isinstance(draws, int) or draws < 1:
        raise ValueError(f"test.draws={draws}: how many embeddings are drawn in evaluation; it must be at least 1")
    corpus = CorpusConfig(name="corpus", source=args.corpus, **recipe["data"])
    with PartialState().main_process_first():
        prepare(corpus, args.output / "data")
    windows = load_windows(args.output / "data")

    def collate(rows: list[dict[str, str]]) -> dict[str, torch.Tensor]:
        ids = torch.from_numpy(encode([row["text"] for row in rows], corpus.characters))
        return {"input_ids": ids, "labels": ids}

    set_seed(recipe["trainer"]["seed"])
    model = SymbolInvariantForCausalLM(SymbolInvariantConfig.from_preset(
        "lexinvariant", base_vocab_size=len(BASE_TOKENS), num_symbols=len(corpus.characters), **recipe["model"]
    ))  # fmt: skip
    arguments = {"remove_unused_columns": False, **recipe["trainer"]}  # Trainer sees no column that the model takes
    fit(
        model,
        args.output / "model",
        arguments,
        train_dataset=windows["train"],
        data_collator=collate,
        words=words(corpus.characters),
        callbacks=[ModelCardCallback()],
    )
    if not PartialState().is_main_process:
        return
    texts = windows["test"].shuffle(seed=0)["text"][: recipe["test"]["rows"]]
    batches = [
        torch.from_numpy(encode(texts[start : start + 20], corpus.characters)) for start in range(0, len(texts), 20)
    ]
    set_seed(recipe["trainer"]["seed"])  # embeddings are drawn in evaluation too
    losses = losses_by_place(model.eval(), batches, draws)
    start, end = 0, 8
    while start < len(losses):
        print(f"characters {start + 1} to {min(end, len(losses))}: perplexity {losses[start:end].mean().exp():.2f}")
        start, end = end, 2 * end


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="folder for the windows, the model and checkpoints")
    parser.add_argument("--corpus", default="python", help="a file, a folder, OWNER/NAME on the Hub, or python for the "
                        "standard library (default: %(default)s)")  # fmt: skip
    parser.add_argument("override", nargs="*", help="SECTION.KEY=VALUE, such as trainer.max_steps=100")
    args = parser.parse_args()
    with refusals(parser):
        train(args)


if __name__ == "__main__":
    main()

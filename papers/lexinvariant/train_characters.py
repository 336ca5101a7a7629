"""Train a lexinvariant language model on characters, and print its perplexity by place in the window.

    accelerate launch -m papers.lexinvariant.train_characters
    accelerate launch -m papers.lexinvariant.train_characters trainer.max_steps=5000
    accelerate launch -m papers.lexinvariant.train_characters --output runs/novels --corpus novels.txt
    accelerate launch -m papers.lexinvariant.train_characters --output runs/learned model.symbol_embedding=learned
    accelerate launch -m papers.lexinvariant.train_characters test.draws=8

The first takes two minutes on one CPU core, and the second trains its model for longer. Its corpus, `markov`, is drawn
from a language of six letters: a model that does not know which letter is which has to find out in every window, so its
perplexity falls along the window, below that of counting the letters so far. Other corpora are a text file, a folder of
texts, a data set on the Hub, and `python`, the sources of Python's standard library, on which a model of this size does
worse than counting. Sizes are in sizes.yaml, and SECTION.KEY=VALUE changes them. Started again with the
same output folder, it goes on from the last checkpoint. With `accelerate launch --quiet`, a program that cannot use
what it was given ends with its own sentence, and without a traceback of accelerate's.
"""

import argparse
import math
import sys
from pathlib import Path

import numpy as np
import torch
from accelerate import PartialState
from transformers import TrainingArguments, set_seed

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForCausalLM
from hf_symbinv.errors import UserError
from hf_symbinv.files import write_atomically
from hf_symbinv.metrics import normal_interval
from hf_symbinv.training import data_record, fit, load_sections, measure_rows, model_errors, training_arguments
from papers.harness.programs import run_program
from papers.lexinvariant.characters import (
    BASE_TOKENS,
    CorpusConfig,
    MarkovLanguage,
    encode,
    load_windows,
    prepare,
    words,
)

MARKOV, LETTERS = "markov", "abcdef"


def markov_corpus(path: Path, length: int, characters: int) -> None:
    """Writes texts of a Markov language, each as long as a window, one after the other."""
    language = MarkovLanguage.random(len(LETTERS), seed=3, concentration=0.2)
    rows = language.sample(characters // length // 10 * 10, length, seed=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, np.frombuffer(LETTERS.encode(), np.uint8)[rows].tobytes())


@torch.inference_mode()
def losses_by_place(model: SymbolInvariantForCausalLM, batches: list[torch.Tensor], draws: int) -> torch.Tensor:
    """The loss of each character of the windows (rows, L), predicted with so many draws of the embeddings."""
    found = []
    for ids in batches:
        logits = model(input_ids=ids.to(model.device), num_draws=draws).logits[:, :-1].float().cpu()
        found.append(torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none"))
    return torch.cat(found)


def losses_of_counting(batches: list[torch.Tensor]) -> torch.Tensor:
    """The same (rows, L) of who counts: a character is as likely as it was often in the window so far, plus one."""
    places = torch.cat(batches)[:, 1:] - len(BASE_TOKENS)
    one_hot = torch.nn.functional.one_hot(places)
    before = one_hot.cumsum(1) - one_hot
    characters = len(places.unique())
    return -((before.gather(2, places[..., None])[..., 0] + 1) / (before.sum(2) + characters)).log()


def shown(losses: torch.Tensor, counted: torch.Tensor) -> str:
    """Perplexities of windows (rows, places), with the 95 % interval of the model's."""
    means = losses.double().mean(1)
    low, high = (math.exp(end) for end in normal_interval(means.tolist()) or (math.nan, math.nan))
    return (
        f"perplexity {means.mean().exp():.2f}, 95 % interval {low:.2f} to {high:.2f}; by counting "
        f"{counted.mean().exp():.2f}"
    )


def train(args: argparse.Namespace) -> None:
    recipe = load_sections(Path(__file__).with_name("sizes.yaml"), args.override)
    draws, folder = recipe["test"]["draws"], args.output / "model"
    if not isinstance(draws, int) or draws < 1:
        raise UserError(f"test.draws={draws}: how many embeddings are drawn in evaluation; it must be at least 1")
    drawn = args.corpus == MARKOV
    source = str(args.output / "markov.txt") if drawn else args.corpus
    corpus = CorpusConfig(name="corpus", source=source, **recipe["data"])
    characters = LETTERS if drawn else corpus.characters
    with model_errors():
        config = SymbolInvariantConfig.from_preset(
            "lexinvariant", base_vocab_size=len(BASE_TOKENS), num_symbols=len(characters), **recipe["model"]
        )
    arguments = {"remove_unused_columns": False, **recipe["trainer"]}  # Trainer sees no column that the model takes
    training_arguments(TrainingArguments, folder, arguments)  # refuses what is wrong before data are made
    with PartialState().main_process_first():
        if drawn and not Path(source).exists():
            markov_corpus(Path(source), corpus.length, corpus.max_characters)
        prepare(corpus, args.output / "data")
    windows = load_windows(args.output / "data")

    def collate(rows: list[dict[str, str]]) -> dict[str, torch.Tensor]:
        ids = torch.from_numpy(encode([row["text"] for row in rows], characters))
        return {"input_ids": ids, "labels": ids}

    set_seed(recipe["trainer"]["seed"])
    model = SymbolInvariantForCausalLM(config)
    measured = measure_rows(((text,) for text in windows["train"]["text"]), lambda text: len(set(text)), len)
    fit(
        model,
        folder,
        arguments,
        data=data_record(None if drawn else args.corpus, corpus.recipe(), {"train": measured}),
        train_dataset=windows["train"],
        data_collator=collate,
        words=words(characters),
        card=True,
    )
    if not PartialState().is_main_process:
        return
    texts = windows["test"].shuffle(seed=0)["text"][: recipe["test"]["rows"]]
    batches = [torch.from_numpy(encode(texts[start : start + 20], characters)) for start in range(0, len(texts), 20)]
    set_seed(recipe["trainer"]["seed"])  # embeddings are drawn in evaluation too
    losses, counted = losses_by_place(model.eval(), batches, draws), losses_of_counting(batches)
    start, end = 0, 8
    while start < losses.shape[1]:
        part = slice(start, end)
        print(f"characters {start + 1} to {min(end, losses.shape[1])}: {shown(losses[:, part], counted[:, part])}")
        start, end = end, 2 * end
    sys.stdout.flush()
    print(f"{len(texts)} test windows; the model is in {folder}; the same command with trainer.max_steps="
          f"{2 * recipe['trainer']['max_steps']} trains it longer", file=sys.stderr)  # fmt: skip


if __name__ == "__main__":
    run_program(
        __doc__,
        train,
        "runs/lexinvariant",
        {
            "--corpus": {
                "default": MARKOV,
                "help": "a file, a folder, OWNER/NAME on the Hub, python for the standard library, or markov (default: "
                "%(default)s)",
            }
        },
    )

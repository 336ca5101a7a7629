"""Train a GPT-2 on a template task, and test it on symbols that it has never seen.

    accelerate launch -m papers.identity.train_templates
    accelerate launch -m papers.identity.train_templates --output runs/vanilla --vanilla
    accelerate launch -m papers.identity.train_templates --task papers/identity/first_in_majority.yaml --output runs/own

The first takes a minute on one CPU core. --vanilla leaves out what identity-reparametrised attention adds: two
scalars for each head, here with a tenfold learning rate. A task of one's own is a file with templates, see
papers.identity.templates. Sizes are in sizes.yaml, and SECTION.KEY=VALUE changes them. Started
again with the same output folder, it goes on from the last checkpoint. With `accelerate launch --quiet`, a program that
cannot use what it was given ends with its own sentence, and without a traceback of accelerate's.
"""

import argparse
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from accelerate import PartialState
from torch import nn
from transformers import TrainingArguments, set_seed

from hf_symbinv import (
    IdentityGPT2Config,
    IdentityGPT2ForSequenceClassification,
    IdentityGPT2LMHeadModel,
)
from hf_symbinv.metrics import normal_interval
from hf_symbinv.training import data_record, fit, load_sections, measure_rows, model_errors, training_arguments
from papers.harness.programs import run_program, say_how_to_go_on
from papers.identity.templates import TemplatesConfig, TemplateTask, drawn, encoded, template_task, write


def build(task: TemplateTask, vocab_size: int, vanilla: bool, sizes: dict[str, Any]) -> IdentityGPT2LMHeadModel:
    """A model without dropout: a regression if labels are numbers, a language model if they are tokens."""
    config = IdentityGPT2Config(
        vocab_size=vocab_size + 1, pad_token_id=vocab_size, bos_token_id=None, eos_token_id=None, num_labels=1,
        n_positions=len(task.templates[0].tokens) + 2, identity_qk=not vanilla, identity_vo=not vanilla,
        **{"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, **sizes},
    )  # fmt: skip
    model = IdentityGPT2LMHeadModel(config) if task.symbolic else IdentityGPT2ForSequenceClassification(config)
    for table in (model.transformer.wte, model.transformer.wpe):
        nn.init.normal_(table.weight)  # with GPT-2's 0.02 symbols would be too much alike
    return model


@torch.inference_mode()
def errors_of(model: IdentityGPT2LMHeadModel, task: TemplateTask, rows: list[dict[str, Any]]) -> list[float]:
    """Of each row 1 if the token is wrong, or the squared error."""
    found = []
    for start in range(0, len(rows), 250):
        ids, labels = (torch.tensor([row[key] for row in rows[start : start + 250]]) for key in ("input_ids", "labels"))
        logits = model(input_ids=ids.to(model.device)).logits.float().cpu()
        found.append(logits[:, -2].argmax(-1) != labels[:, -1] if task.symbolic else (logits[:, 0] - labels) ** 2)
    return torch.cat(found).float().tolist()


def measured(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What `run.json` says of rows: all their tokens are symbols."""
    texts = ((" ".join(map(str, row["input_ids"])), str(row["labels"])) for row in rows)
    return measure_rows(texts, lambda text: len(set(text.split())), lambda text: len(text.split()))


def train(args: argparse.Namespace) -> None:
    recipe, folder = load_sections(Path(__file__).with_name("sizes.yaml"), args.override), args.output / "model"
    data = TemplatesConfig(name="custom", task=args.task, **recipe["data"])
    task = template_task(args.task)
    training_arguments(TrainingArguments, folder, recipe["trainer"])  # refuses what is wrong before data are made
    set_seed(recipe["trainer"]["seed"])
    with model_errors():
        model = build(task, data.vocab_size(), args.vanilla, recipe["model"])
    with PartialState().main_process_first():
        write(data, args.output / "data")
    splits = {split: encoded(task, rows) for split, rows in drawn(data).items()}
    fit(
        model,
        folder,
        recipe["trainer"],
        data=data_record(None, data.options(), {split: measured(rows) for split, rows in splits.items()}),
        train_dataset=splits["train"],
        card=True,
    )
    if not PartialState().is_main_process:
        return
    measure = "tokens wrong" if task.symbolic else "squared error"
    print(f"template diversity {task.diversity(len(data.alphabets()['train'])):g}")
    for split, what in (("train", "training rows"), ("test", "test rows with unseen symbols")):
        errors = errors_of(model.eval(), task, splits[split])
        low, high = normal_interval(errors) or (errors[0], errors[0])
        print(f"{len(errors):,} {what}: {measure} {fmean(errors):.4f}, 95 % interval {low:.4f} to {high:.4f}")
    say_how_to_go_on(folder, recipe["trainer"]["max_steps"])


if __name__ == "__main__":
    run_program(
        __doc__,
        train,
        "runs/templates",
        {
            "--task": {"default": "aba-abb", "help": "a task's name or YAML file (default: %(default)s)"},
            "--vanilla": {"action": "store_true", "help": "without the scalars"},
        },
    )

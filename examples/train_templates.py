"""Train a GPT-2 on a template task, and test it on symbols that it has never seen.

    accelerate launch examples/train_templates.py --task aba-abb --rows 256 --output runs/templates
    accelerate launch examples/train_templates.py --task aba-abb --rows 256 --output runs/vanilla --vanilla
    accelerate launch examples/train_templates.py --task examples/first_in_majority.yaml --output runs/own

--vanilla leaves out what identity-reparametrised attention adds: two scalars for each head, here with a tenfold
learning rate. A task of one's own is a file with templates, see hf_symbinv.datasets_scripts.templates.
"""

import argparse
import json

from torch import nn
from transformers import Trainer, TrainingArguments, set_seed

from hf_symbinv import IdentityGPT2Config, IdentityGPT2ForSequenceClassification, IdentityGPT2LMHeadModel
from hf_symbinv.datasets_scripts.templates import TemplatesConfig, TemplateTask, drawn, encoded, template_task


def build(task: TemplateTask, vocab_size: int, vanilla: bool) -> IdentityGPT2LMHeadModel:
    """A small model: a regression if labels are numbers, a language model if they are tokens."""
    config = IdentityGPT2Config(
        vocab_size=vocab_size + 1, pad_token_id=vocab_size, bos_token_id=None, eos_token_id=None, num_labels=1,
        n_positions=len(task.templates[0].tokens) + 2, n_embd=128, n_layer=2, n_head=4,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        identity_qk=not vanilla, identity_vo=not vanilla, identity_multiplier=10.0,
    )  # fmt: skip
    model = IdentityGPT2LMHeadModel(config) if task.symbolic else IdentityGPT2ForSequenceClassification(config)
    for table in (model.transformer.wte, model.transformer.wpe):
        nn.init.normal_(table.weight)  # with GPT-2's 0.02 symbols would be too much alike
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="aba-abb", help="a task's name or YAML file (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=256, help="of training, and symbols in them (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=600, help="of 64 rows (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of data and weights (default: %(default)s)")
    parser.add_argument("--vanilla", action="store_true", help="without the scalars")
    parser.add_argument("--output", required=True, help="folder for the model")
    args = parser.parse_args()
    data = TemplatesConfig(name="custom", task=args.task, rows=args.rows, seed=args.seed)
    task = template_task(args.task)
    splits = {split: encoded(task, rows) for split, rows in drawn(data).items()}
    set_seed(args.seed)

    def answers(logits, labels):
        return logits[:, -2].argmax(-1) if task.symbolic else logits[:, 0]

    def error(found):
        """The share of wrong tokens, or the mean squared error."""
        given, wanted = found.predictions, found.label_ids
        wrong = given != wanted[:, -1] if task.symbolic else (given - wanted) ** 2
        return {"error": float(wrong.mean())}

    trainer = Trainer(
        model=build(task, data.vocab_size(), args.vanilla),
        args=TrainingArguments(
            args.output, max_steps=args.steps, seed=args.seed, learning_rate=1e-3, lr_scheduler_type="constant",
            per_device_train_batch_size=64, per_device_eval_batch_size=250, save_strategy="no", logging_steps=100,
            report_to="none", disable_tqdm=True, dataloader_pin_memory=False,
        ),
        train_dataset=splits["train"],
        compute_metrics=error,
        preprocess_logits_for_metrics=answers,
    )  # fmt: skip
    trainer.train()
    result = {"diversity": task.diversity(args.rows)}
    for split in ("train", "test"):
        result[f"{split}_error"] = trainer.predict(splits[split], metric_key_prefix=split).metrics[f"{split}_error"]
    trainer.save_model()
    if trainer.is_world_process_zero():
        print(json.dumps(result))
    trainer.end()


if __name__ == "__main__":
    main()

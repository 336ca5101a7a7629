"""`symbinv info`: versions, recipes and checkpoints of this installation, or what is in a checkpoint."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_symbinv import __version__
from hf_symbinv.cli import DONE
from hf_symbinv.cli.arguments import add_task, command_parser
from hf_symbinv.cli.models import load_quietly, quiet
from hf_symbinv.evaluation import bundled_checkpoints, load_other_model
from hf_symbinv.hub.cards import families
from hf_symbinv.hub.cards.facts import RECORD, STATE, CardError, read_recorded
from hf_symbinv.hub.cards.records import Record, State
from hf_symbinv.tasks import load_task

# What tells models of this family apart.
FIELDS: tuple[str, ...] = (
    "symbol_embedding", "components", "d_model", "encoder_layers", "encoder_passes", "decoder_layers",
    "num_attention_heads", "d_ff", "encoder_positions", "decoder_positions", "loss", "base_vocab_size", "num_symbols",
)  # fmt: skip

DESCRIPTION = """\
Show what this installation has: versions, machine, recipes, and the folders of its
checkpoints, which `from_pretrained` takes. Or, for a model, its size, configuration,
license, and how it was trained.

exit codes: 0 shown, 2 bad usage or input
"""

EXAMPLE = """\
$ symbinv info ltl-small
model                ltl-small
task                 ltl
parameters           534,976
dtype                float32
symbol_embedding     streams
components           EP DP EA CP
d_model              64
encoder_layers       4
encoder_passes       1
decoder_layers       4
num_attention_heads  4
d_ff                 256
encoder_positions    tree
decoder_positions    rope
loss                 cross_entropy
base_vocab_size      13
num_symbols          5
license              apache-2.0
trained by           train_ltl.py --recipe ltl-small --output runs/ltl-small --data data/ltl25
training seconds     4150
results              test_count 1,000, test_accuracy 0.892, test_exact 0.611
"""


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv info`."""
    command = command_parser("info", DESCRIPTION, EXAMPLE)
    command.add_argument("model", nargs="?", metavar="MODEL", help="folder, bundled name or name on the Hub")
    add_task(command, "that of the model")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    return command


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    options = parser().parse_args(arguments)
    content = _installation() if options.model is None else _checkpoint(options.model, options.task)
    if options.json:
        print(json.dumps(content))
    else:
        width = max(map(len, content))
        for name, value in content.items():
            for place, line in enumerate(_lines(name, value)):
                print(f"{'' if place else name:{width}}  {line}")
    return DONE


def _lines(name: str, value: Any) -> list[str]:
    """What is shown beside `name`: a line for each checkpoint, because a path is long; one for anything else."""
    if name == "checkpoints":
        width = max(map(len, value), default=0)
        return [f"{checkpoint:{width}}  {folder}" for checkpoint, folder in value.items()] or ["none"]
    return [_shown(_headline(value) if name == "results" else value)]


def _installation() -> dict[str, Any]:
    from hf_symbinv.training import recipe_names
    from hf_symbinv.training.cards import environment

    found = environment()
    packages = {name: version for name, version in found.pop("packages").items() if name != "hf_symbinv"}
    return {
        "hf_symbinv": __version__,
        **found,
        "packages": {name: version or "not installed" for name, version in packages.items()},
        "recipes": recipe_names(),
        "checkpoints": {name: str(folder) for name, folder in bundled_checkpoints().items()},
    }


def _checkpoint(name: str, task: str | None) -> dict[str, Any]:
    with quiet():
        other = load_other_model(name) if task is None else None
    if other is None:
        checkpoint = load_quietly(name, "cpu", None if task is None else load_task(task))
        folder, model, fields = checkpoint.folder, checkpoint.model, FIELDS
        kind = {"task": checkpoint.task.name}
    else:
        folder, model = other
        fields = families.FIELDS
        kind = {"class": type(model).__name__}
    content: dict[str, Any] = {
        "model": name,
        **kind,
        "parameters": model.num_parameters(),
        "dtype": str(model.dtype).removeprefix("torch."),
        **{field: getattr(model.config, field) for field in fields if hasattr(model.config, field)},
    }
    if folder is not None:
        content["license"] = _license(folder / "README.md") or "not stated"
        content |= _training(folder)
    return content


def _license(card: Path) -> str | None:
    """The license that a model card states."""
    if not card.is_file():
        return None
    lines = card.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("license:")), None)


def _training(folder: Path) -> dict[str, Any]:
    """How it was trained, as far as the record of a run says, or else the state that any Trainer leaves."""
    found = {}
    for file, kind in ((RECORD, Record), (STATE, State)):
        try:
            found[file] = read_recorded(folder / file, kind)
        except CardError:
            return {"trained by": f"{file} is damaged"}
    if record := found[RECORD]:
        return {
            "trained by": record.get("command", "not stated"),
            "training seconds": record.get("seconds", "not stated"),
            "results": record.get("results", {}),
        }
    if state := found[STATE]:
        return {"training steps": state.get("global_step", "not stated")}
    return {}


def _headline(results: dict[str, Any]) -> dict[str, Any]:
    """What the final test counted: how many rows, and the shares that are verified and exact."""
    return {name: results[name] for name in ("test_count", "test_accuracy", "test_exact") if name in results}


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(item)}" for name, item in value.items())
    if isinstance(value, list):
        return " ".join(map(str, value)) or "none"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)

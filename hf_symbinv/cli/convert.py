"""`symbinv convert`: a vanilla model becomes one with streams."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from hf_symbinv.cli import DONE
from hf_symbinv.cli.arguments import add_task, command_parser
from hf_symbinv.cli.models import load_quietly
from hf_symbinv.errors import UserError
from hf_symbinv.files import path_here
from hf_symbinv.tasks import load_task
from hf_symbinv.tasks.base import symbol_names

DESCRIPTION = """\
Make a model with streams of a checkpoint with a fixed vocabulary
(symbol_embedding learned, renamed or canonical). Its answers do not depend on
names, and it has the same parameters but for the symbols' rows (SIT section 5.8).
Fine-tune it then: symbinv train RECIPE --output FOLDER start=OUTPUT

exit codes: 0 the model is written, 2 bad usage or input
"""

EXAMPLE = """\
$ symbinv convert runs/baseline --output runs/converted
runs/converted: streams, EP DP CP, 5,810,048 parameters
"""


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv convert`."""
    command = command_parser("convert", DESCRIPTION, EXAMPLE)
    command.add_argument("source", metavar="SOURCE", help="folder, bundled name or name on the Hub")
    command.add_argument("--output", type=path_here, required=True, metavar="FOLDER", help="a new folder")
    add_task(command, "found by its tokens")
    command.add_argument(
        "--aggregated", action="store_true", help="add EA blocks, without an effect before they are trained"
    )
    return command


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    options = parser().parse_args(arguments)
    if options.output.exists() and (not options.output.is_dir() or any(options.output.iterdir())):
        raise UserError(f"--output {options.output}: exists; name a new folder")

    from hf_symbinv.training.conversion import ConversionError, save_converted

    try:
        model, tokenizer, how = _to_streams(options.source, options.task, options.aggregated)
    except ConversionError as error:
        raise UserError(f"{options.source}: {error}") from error
    save_converted(model, tokenizer, options.output, source=options.source, how=how)
    config, parameters = model.config, model.num_parameters()
    print(f"{options.output}: {config.symbol_embedding}, {' '.join(config.components)}, {parameters:,} parameters")
    return DONE


def _to_streams(source: str, task: str | None, aggregated: bool) -> tuple[Any, Any, str]:
    from hf_symbinv.training.conversion import to_streams

    checkpoint = load_quietly(source, "cpu", load_task(task) if task else None)
    names = checkpoint.tokenizer.fixed_names or symbol_names(checkpoint.model.config.num_symbols)
    if len(names) < 2:
        raise UserError(f"{source}: has a row for one symbol only; streams are made of two rows")
    how = (
        f"The row of symbol {names[0]} became the actual row, that of {names[1]} the placeholder row; all other "
        "parameters are those of the source (SIT section 5.8)."
    )
    if aggregated:
        how += " Each EA block was added without an effect on the output."
    return to_streams(checkpoint.model, 0, 1, aggregated=aggregated), checkpoint.task.tokenizer(), how

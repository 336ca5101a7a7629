"""`symbinv convert`: a vanilla model becomes one with streams, a checkpoint of an earlier release one of ours."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_symbinv.cli import DONE
from hf_symbinv.cli.arguments import command_parser
from hf_symbinv.cli.models import load_quietly
from hf_symbinv.errors import UserError
from hf_symbinv.remote import path_here
from hf_symbinv.tasks.base import symbol_names

DESCRIPTION = """\
Make a model of another. SOURCE is

- a checkpoint of this package with a fixed vocabulary (symbol_embedding learned
  or renamed): OUTPUT gets a model with streams, whose answers do not depend on
  names, with the same parameters but for the symbols' rows (SIT section 5.8).
  Fine-tune it then: symbinv train RECIPE --output FOLDER start=OUTPUT
- a folder with config.json and pytorch_model.bin from the authors of
  "Interchangeable Token Embeddings", or such a folder on the Hub, called
  OWNER/NAME/FOLDER: OUTPUT gets the same model for this package. Convert that
  again for one with streams.

With access to the Hub, this reads one of the authors' models; what folders there
are, the command says when it is given the repository alone:

  symbinv convert necrashter/interchangeable-token-embeddings/FOLDER --output ours

exit codes: 0 the model is written, 2 bad usage or input
"""

EXAMPLE = """\
$ symbinv convert runs/baseline --output runs/converted
runs/converted: streams, EP DP CP, 5,810,048 parameters
"""


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv convert`."""
    command = command_parser("convert", DESCRIPTION, EXAMPLE)
    command.add_argument("source", metavar="SOURCE", help="folder, file of weights, OWNER/NAME or OWNER/NAME/FOLDER")
    command.add_argument("--output", type=path_here, required=True, metavar="FOLDER", help="a new folder")
    command.add_argument("--actual", metavar="NAME", help="symbol whose row a stream sees at its own (default: a)")
    command.add_argument("--placeholder", metavar="NAME", help="symbol whose row it sees elsewhere (default: b)")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    return command


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    command = parser()
    options = command.parse_args(arguments)
    if options.output.exists() and (not options.output.is_dir() or any(options.output.iterdir())):
        raise UserError(f"--output {options.output}: exists; name a new folder")

    from hf_symbinv.training.conversion import ConversionError, save_converted
    from hf_symbinv.training.convert_ite_checkpoints import find_release

    given = options.actual, options.placeholder
    try:
        release = find_release(options.source)
        if release is not None:
            if given != (None, None):
                command.error("--actual and --placeholder: a release stays what it is; convert the OUTPUT again")
            model, tokenizer, how = _from_release(release)
        else:
            names = [default if name is None else name for name, default in zip(given, "ab", strict=True)]
            model, tokenizer, how = _to_streams(options.source, *names)
    except ConversionError as error:
        raise UserError(f"{options.source}: {error}") from error
    save_converted(model, tokenizer, options.output, source=options.source, how=how)
    config, parameters = model.config, model.num_parameters()
    if options.json:
        content = {
            "source": options.source, "output": str(options.output), "symbol_embedding": config.symbol_embedding,
            "components": config.components, "parameters": parameters,
        }  # fmt: skip
        print(json.dumps(content))
    else:
        print(f"{options.output}: {config.symbol_embedding}, {' '.join(config.components)}, {parameters:,} parameters")
    return DONE


def _from_release(source: Path) -> tuple[Any, Any, str]:
    from hf_symbinv.training.convert_ite_checkpoints import read_release
    from hf_symbinv.training.recipe_run import GENERATION

    model, task = read_release(source)
    model.generation_config.update(**GENERATION)
    return (
        model,
        task.tokenizer(model.config),
        'Read from a release of "Interchangeable Token Embeddings"; the parameters are its own.',
    )


def _to_streams(source: str, actual: str, placeholder: str) -> tuple[Any, Any, str]:
    from hf_symbinv.training.conversion import to_streams

    checkpoint = load_quietly(source, "cpu")
    names = checkpoint.tokenizer.fixed_names or symbol_names(checkpoint.model.config.num_symbols)
    if unknown := [name for name in (actual, placeholder) if name not in names]:
        raise UserError(
            f"--actual {actual!r} --placeholder {placeholder!r}: the model has no row for {unknown[0]!r}; use two of "
            f"{' '.join(names)}"
        )
    referents = [names.index(name) for name in (actual, placeholder)]
    how = (
        f"The row of symbol {actual} became the actual row, that of {placeholder} the placeholder row; all other "
        "parameters are those of the source (SIT section 5.8)."
    )
    return to_streams(checkpoint.model, *referents), checkpoint.task.tokenizer(), how

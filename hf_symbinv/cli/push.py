"""`symbinv push`: a model, a data set or a Space goes to the Hub."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from hf_symbinv.cli import DONE
from hf_symbinv.cli.arguments import command_parser
from hf_symbinv.files import path_here

DESCRIPTION = """\
Push a folder to the Hub, in one commit. FOLDER holds

  a model     what `symbinv train`, `symbinv convert` or save_pretrained wrote;
              checkpoints to resume from stay here
  a data set  what `symbinv data` wrote: Parquet files and a card
  a Space     an app with a card whose first lines say `sdk: gradio`, as the
              demo in examples/space

What belongs to one of these goes, and what stays here is listed. --include
takes more of it along. Refused are files that are not read as what they are:
safetensors, Parquet or text, but for PNG and JPEG; so are links that lead out of
FOLDER, and files with an access token or a private key in them.

The repository is made if there is none. Repeat a push that broke off: until it
is done the repository stays as it was. The token is that of HF_TOKEN or of
`hf auth login`; HF_ENDPOINT names another Hub.

exit codes: 0 everything is on the Hub, or may go there; 2 bad usage or input, or
nothing changed because the Hub did not take it
"""

EXAMPLE = """\
$ symbinv push runs/tiny alice/tiny --private
alice/tiny: model, 20 files
"""


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv push`."""
    command = command_parser("push", DESCRIPTION, EXAMPLE)
    add = command.add_argument
    add("folder", type=path_here, metavar="FOLDER", help="what is pushed")
    add("name", metavar="OWNER/NAME", help="the repository")
    add("--private", action="store_true", help="make a new repository private")
    add("--revision", default="main", metavar="BRANCH", help="branch (default: %(default)s)")
    more = "push these files too, such as 'plots/*'"
    add("--include", action="append", default=[], metavar="PATTERN", help=more)
    add("--dry-run", action="store_true", help="check all, list what would go, and send nothing; needs no network")
    return command


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    options = parser().parse_args(arguments)

    from huggingface_hub.utils import disable_progress_bars, logging

    from hf_symbinv.hub import content_of, push_folder

    if options.dry_run:
        content = content_of(options.folder, options.name, options.include)
        if content.left_out:
            print(f"symbinv push: would stay here: {', '.join(content.left_out)}", file=sys.stderr)
        print(*sorted(content.files), sep="\n")
        print(f"{options.name}: {content.type}, {len(content.files)} files would go")
        return DONE
    logging.set_verbosity_error()  # it tells of each attempt
    if not sys.stderr.isatty():
        disable_progress_bars()
    pushed = push_folder(
        options.folder, options.name, private=options.private, revision=options.revision, include=options.include
    )
    for warning in pushed.warnings:
        print(f"symbinv push: {warning}", file=sys.stderr)
    if pushed.left_out:
        print(f"symbinv push: left here: {', '.join(pushed.left_out)}", file=sys.stderr)
    print(f"symbinv push: {pushed.url}", file=sys.stderr)
    branch = "" if pushed.revision == "main" else f", branch {pushed.revision}"
    print(f"{options.name}: {pushed.type}, {pushed.files} files{branch}")
    return DONE

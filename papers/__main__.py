"""`python -m papers`: a table of the papers, made again at a chosen size."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path

DONE, UNUSABLE, UNFINISHED = 0, 2, 3

DESCRIPTION = """\
Make a table of the papers again: data are generated, models trained, measured,
and the numbers printed as Markdown beside the papers'. What is there already is
used, so a command that was stopped goes on when it is repeated, and tables share
their models. All files lie in FOLDER/SCALE; tables/TABLE.md is what is printed.

Scales: smoke shows in minutes that everything fits together; cpu shows the
papers' orderings in hours on two cores; paper is the papers' own sizes, for a
GPU, in pieces: with --max-minutes 9 each call stops in time with a checkpoint.
The tables of lexinvariant models of text also have gpu: sizes for about an hour
on one large GPU, because the paper's take days.

With --executor models are trained and measured on the machines of a Ray cluster,
all of which have this checkout, FOLDER and the packages under the same path.

exit codes: 0 the table is complete, 2 bad usage or input, 3 the time was too
short: repeat the command to go on
"""

EXAMPLE = """\
$ python -m papers --list
sit-1                Renamed and reduced training data (SIT Table 1, ITE Tables 2, 7 and 8)
sit-2                Components, propositional logic (SIT Tables 2 and 6)
sit-3                Components, LTL (SIT Tables 3 and 6)
sit-4                Trained models converted to streams (SIT Table 4)
sit-heatmap          More symbols and longer formulas than in training (SIT Figure 2, ITE Figures 3 and 5)
sit-supplement       Heat maps of alpha-renaming before and after the supplement, LTL (SIT Figure 4)
sit-topn             Top-N accuracy on the heat map, propositional logic (SIT Appendix I)
sit-cost             Decoding time and memory by number of symbols (SIT Appendix J and section 5.7)
sit-scale            Embeddings with and without the factor sqrt(D) (in no paper)
sit-dp               Streams without DP, after trainings of several kinds, LTL (SIT Table 6)
ite-3                Alpha-covariance with more symbols than in training (ITE Table 3)
ite-copy             Copying strings: mean edit distances (ITE Tables 5 and 6, Appendix E, SIT Appendix E)
ite-ablation         Random embeddings without their normalisations (ITE Figure 5)
sit-tuned            Equal tuning of all models, LTL (in no paper)
sit-tuned-prop       Equal tuning of all models, propositional logic, where renamed twins are rare (in no paper)
sit-symbols          Training rows by number of symbols, before and after the supplement (SIT Figure 3)
ite-times            Time in which Spot finds a trace, by symbols and length (ITE Figure 4)
symbols-curve        Right answers by number of symbols and by size, and when a wrapper is enough (in no paper)
lexinv-markov        A language of six symbols, with the exact best lexinvariant predictor (LI Theorem 2.1)
lexinv-streams       The language of six symbols by streams and by others, of one size and training (not in LI)
lexinv-text          Characters of prose and code: perplexity by context (LI Figures 3 and 7)
lexinv-cipher        Substitution ciphers: entries of the key that a probe recovers (LI Figures 4 and 5)
lexinv-streams-keys  Ciphers of the language of six symbols, by streams and by others (not in LI)
lexinv-symbols       Puzzles over random symbols, by models of text (LI Tables 1 and 2)
identity-templates   Templates: error on unseen symbols by training rows (Abstract symbols, Figure 1 and Appendix B)
identity-symbols     Symbols as labels: error on unseen symbols by training rows (Abstract symbols, Figure 2)
identity-copy        Copying unseen symbols by embedding width (Abstract symbols, Figure 3 and section 5)
identity-kernel      The kernel condition: N must not be singular (Abstract symbols, section 4)
identity-gpt2        GPT-2 with two scalars a head (Abstract symbols, Figure 4)
renamer-blocks       Cycles of basic blocks, as they are and renamed (Renamer Tables 1 and 2, Tiny)
renamer-sizes        Cycles of basic blocks by larger models (Renamer Tables 1 and 2, Mini and Small)
renamer-figure2      Predictions for all renamings of one block (Renamer Figure 2)
renamer-derivatives  Derivatives or not, also with one more coefficient (Renamer Tables 3 and 4)
shape-views          Symbols of several views in answers: derivatives of terms with unknown functions (in no paper)
shape-pointing       Pointing at symbols: which variable was forgotten? (in no paper)
shape-tokens         Classes of tokens: is a variable assigned before, is it read later? (in no paper)
shape-pairs          A user's own pairs: expressions in prefix notation (in no paper)
shape-fresh          Answers with new names: Tseitin's clauses and three-address code (in no paper)
code-misuse          Misused variables in Python functions (in no paper)
code-exchange        Exchanged arguments in Python functions (in no paper)
rules-names          Rules in English about people: who is young? (in no paper)
rules-time           The same rules by the other encoders, in about the time that training streams takes (in no paper)
"""


def parser() -> argparse.ArgumentParser:
    """The options of `python -m papers`."""
    from hf_symbinv.remote import path_here
    from papers.harness.scales import GPU, SCALES

    command = argparse.ArgumentParser(
        prog="python -m papers",
        description=DESCRIPTION,
        epilog=f"example:\n{EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("tables", nargs="*", metavar="TABLE", help="which tables, such as sit-1")
    command.add_argument("--list", action="store_true", help="list the tables")
    command.add_argument("--scale", choices=(*SCALES, GPU), default="smoke", help="how large (default: %(default)s)")
    command.add_argument(
        "--output", type=path_here, default=Path("runs/papers"), metavar="FOLDER",
        help="for data, runs, results and tables (default: %(default)s)",
    )  # fmt: skip
    command.add_argument("--seeds", type=int, default=1, metavar="N", help="trainings of each model (default: 1)")
    command.add_argument(
        "--max-minutes", type=float, metavar="MINUTES", help="stop after this time, go on another time"
    )
    command.add_argument(
        "--executor", metavar="ray:ADDRESS",
        help="train and measure on a Ray cluster, auto or the HOST:PORT of its head (default: on this machine)",
    )  # fmt: skip
    command.add_argument("--json", action="store_true", help="print one JSON object per table instead of Markdown")
    return command


def check(command: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Ends the process with a sentence if `options` ask for what there is not."""
    from hf_symbinv.errors import refusals
    from hf_symbinv.solvers import Cluster
    from papers.catalogue import TABLES, scales_of

    if not options.tables:
        command.error(f"no TABLE: give some of {', '.join(TABLES)}")
    for name in options.tables:
        if name not in TABLES:
            command.error(f"table {name!r}: unknown; use some of {', '.join(TABLES)}")
        scales = scales_of(TABLES[name])
        if options.scale not in scales:
            command.error(f"table {name!r}: has no scale {options.scale}; use one of {', '.join(scales)}")
    if options.seeds < 1:
        command.error(f"--seeds {options.seeds}: must be an integer of at least 1")
    if options.max_minutes is not None and not 0 < options.max_minutes < math.inf:
        command.error(f"--max-minutes {options.max_minutes:g}: must be a positive number of minutes")
    if options.executor is not None:
        with refusals(command):
            options.executor = Cluster.parse(options.executor)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with `arguments`, those of the process by default; its exit code."""
    if missing := missing_package():
        print(f"python -m papers: error: {missing}", file=sys.stderr)
        return UNUSABLE
    from hf_symbinv.errors import refusals
    from papers.catalogue import TABLES

    command = parser()
    options = command.parse_args(arguments)
    if options.list:
        width = max(map(len, TABLES))
        for name, table in TABLES.items():
            print(f"{name.ljust(width)}  {table.title} ({table.source})")
        return DONE
    check(command, options)
    if not sys.stderr.isatty():
        import datasets
        from transformers.utils import logging

        datasets.disable_progress_bars()
        logging.disable_progress_bar()
    with refusals(command):
        return make(options)


def make(options: argparse.Namespace) -> int:
    """Makes the tables that `options` ask for and prints them; the exit code."""
    from papers.catalogue import find, load_scale
    from papers.harness.reproduction import reproduce
    from papers.harness.spreading import spread
    from papers.harness.workspace import Workspace

    place = Workspace(
        options.output,
        load_scale(options.scale),
        max_seconds=None if options.max_minutes is None else 60 * options.max_minutes,
        say=lambda line: print(line, file=sys.stderr, flush=True),
        cluster=options.executor,
    )
    code, seeds = DONE, range(options.seeds)
    if options.executor is not None:
        spread(place, [find(name) for name in options.tables], seeds, options.executor)
    for name in options.tables:
        with contextlib.redirect_stdout(sys.stderr):  # where Trainer prints its log
            result = reproduce(place, find(name), seeds)
        print(json.dumps(result.to_dict()) if options.json else result.markdown(), flush=True)
        place.say(f"table {name}: also in {place.folder / 'tables' / f'{name}.md'}")
        if result.missing:
            code = UNFINISHED
    return code


def missing_package() -> str | None:
    """What to do if the folder of this file is not one from which tables can be made; None if it is."""
    checkout = Path(__file__).resolve().parents[1]
    try:
        import papers.catalogue  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name == "papers":
            return f"{Path.cwd()} is no checkout; run `python -m papers` in {checkout}"
        if (error.name or "").startswith(("papers.", "hf_symbinv.")):
            raise  # a bug, no missing package
        return f"{error.name} is not installed; run `pip install -e '.[train,plot,algebra]'` in {checkout}"
    return None


if __name__ == "__main__":
    sys.exit(main())

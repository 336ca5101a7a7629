"""`python -m papers`: a table of the papers, made again at a chosen size."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import re
import sys
from collections.abc import Sequence
from pathlib import Path

DONE, UNUSABLE, UNFINISHED = 0, 2, 3
LISTED = "choose from those that `python -m papers --list` prints"

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

exit codes: 0 the table is complete, 2 bad usage or input, 3 the time was too
short: repeat the command to go on
"""

EXAMPLE = """\
$ python -m papers --list
sit-1               159 Renamed and reduced training data (SIT Table 1, ITE Tables 2, 7 and 8)
sit-2               349 Components, propositional logic (SIT Tables 2 and 6)
sit-3               332 Components, LTL (SIT Tables 3 and 6)
sit-4                81 Trained models converted to streams (SIT Table 4)
sit-heatmap          69 More symbols and longer formulas than in training (SIT Figure 2, ITE Figures 3 and 5)
sit-supplement       14 Heat maps of alpha-renaming before and after the supplement, LTL (SIT Figure 4)
sit-topn             10 Top-N accuracy on the heat map, propositional logic (SIT Appendix I)
sit-cost             26 Decoding time and memory by number of symbols (SIT Appendix J and section 5.7)
sit-scale           188 Embeddings with and without the factor sqrt(D), propositional logic (in no paper)
sit-dp              122 Streams without DP, after trainings of several kinds, LTL (SIT Table 6)
ite-3                99 Alpha-covariance with more symbols than in training (ITE Table 3)
ite-copy            103 Copying strings: mean edit distances (ITE Tables 5 and 6, Appendix E, SIT Appendix E)
ite-ablation         25 Random embeddings without their normalisations (ITE Figure 5)
sit-tuned           106 Equal tuning of all models, LTL (in no paper)
sit-tuned-prop      118 Equal tuning of all models, propositional logic, where renamed twins are rare (in no paper)
sit-symbols           6 Training rows by number of symbols, before and after the supplement (SIT Figure 3)
ite-times             1 Time in which Spot finds a trace, by symbols and length (ITE Figure 4)
symbols-curve       107 Right answers by number of symbols and by size, and when a wrapper is enough (in no paper)
symbols-curve-prop      Right assignments by number of symbols and by size, and when a wrapper is enough (in no paper)
symbols-curve-copy  139 Right copies by number of symbols and by length, and when a wrapper is enough (in no paper)
symbols-catch-up        How many rows with more symbols canonical names need to catch up with streams (in no paper)
lexinv-markov        59 A language of six symbols, with the exact best lexinvariant predictor (LI Theorem 2.1)
lexinv-streams       68 The language of six symbols by streams and by others, of one size and training (not in LI)
lexinv-text          71 Characters of prose and code: perplexity by context (LI Figures 3 and 7)
lexinv-cipher         7 Substitution ciphers: entries of the key that a probe recovers (LI Figures 4 and 5)
lexinv-streams-keys   4 Ciphers of the language of six symbols, by streams and by others (not in LI)
lexinv-symbols        1 Puzzles over random symbols, by models of text (LI Tables 1 and 2)
identity-templates  112 Templates: error on unseen symbols by training rows (Abstract symbols, Figure 1 and Appendix B)
identity-symbols     44 Symbols as labels: error on unseen symbols by training rows (Abstract symbols, Figure 2)
identity-copy        22 Copying unseen symbols by embedding width (Abstract symbols, Figure 3 and section 5)
identity-kernel       1 The kernel condition: N must not be singular (Abstract symbols, section 4)
identity-gpt2       102 GPT-2 with two scalars a head (Abstract symbols, Figure 4)
renamer-blocks       74 Cycles of basic blocks, as they are and renamed (Renamer Tables 1 and 2, Tiny)
renamer-sizes        23 Cycles of basic blocks by larger models (Renamer Tables 1 and 2, Mini and Small)
renamer-figure2       1 Predictions for all renamings of one block (Renamer Figure 2)
renamer-derivatives 132 Derivatives or not, also with one more coefficient (Renamer Tables 3 and 4)
shape-views          15 Symbols of several views in answers: derivatives of terms with unknown functions (in no paper)
shape-pointing        8 Pointing at symbols: which variable was forgotten? (in no paper)
shape-tokens          5 Classes of tokens: is a variable assigned before, is it read later? (in no paper)
shape-pairs           9 A user's own pairs: expressions in prefix notation (in no paper)
shape-fresh          63 Answers with new names: Tseitin's clauses and three-address code (in no paper)
code-misuse         133 Misused variables in Python functions (in no paper)
code-exchange       194 Exchanged arguments in Python functions (in no paper)
rules-names          83 Rules in English about people: who is young? (in no paper)
rules-time           46 The same rules by the other encoders, in about the time that streams take (in no paper)
The numbers are the minutes that a core took for all seeds of the published table, at scale cpu.
A command that is interrupted goes on when it is repeated.
"""


def parser() -> argparse.ArgumentParser:
    """The options of `python -m papers`."""
    from hf_symbinv.files import path_here
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
    command.add_argument("--seeds", type=trainings, default=1, metavar="N", help="trainings of each model (default: 1)")
    stop = "stop after this time, go on another time; in the last half minute nothing is begun"
    command.add_argument("--max-minutes", type=float, metavar="MINUTES", help=stop)
    command.add_argument("--json", action="store_true", help="print one JSON object per table instead of Markdown")
    return command


def trainings(text: str) -> int:
    """The value of --seeds."""
    if not re.fullmatch(r"[+-]?\d+", text):
        raise argparse.ArgumentTypeError(f"{text!r}: must be a number of trainings, such as 3")
    return int(text)


def minutes(table: str) -> str:
    """What all trainings and measurements of the published table took; empty if there is none."""
    path = Path(__file__).with_name("results") / f"{table}-cpu.json"
    seconds = json.loads(path.read_text(encoding="utf-8"))["made"]["seconds"] if path.is_file() else {}
    return f"{max(sum(seconds.values()) / 60, 1):.0f}" if seconds else ""


def hint(name: str) -> str:
    """The table that may be meant by a name that is none: by its number in a paper, or by how it is written."""
    from hf_symbinv.errors import nearest
    from papers.catalogue import TABLES

    if number := re.fullmatch(r"([a-z]+)-?(\d+)", name):
        paper = {"table": r"\w+", "lexinv": "LI"}.get(number[1], number[1])
        pattern = rf"(?i:\b{paper} tables?) ([\d, and]+)"
        listed = {one: " ".join(re.findall(pattern, table.source)) for one, table in TABLES.items()}
        found = [one for one, numbers in listed.items() if number[2] in re.findall(r"\d+", numbers)]
        return f"Table {number[2]} is in {', '.join(found)}; " if found else ""
    near = nearest(name, TABLES)
    return f"did you mean {near}? " if near else ""


def check(command: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Ends the process with a sentence if `options` ask for what there is not."""
    from papers.catalogue import TABLES, scales_of

    if not options.tables:
        command.error(f"no TABLE: {LISTED}")
    for name in options.tables:
        if name not in TABLES:
            command.error(f"table {name!r}: unknown; {hint(name.lower())}{LISTED}")
        scales = scales_of(TABLES[name])
        if options.scale not in scales:
            command.error(f"table {name!r}: has no scale {options.scale}; use one of {', '.join(scales)}")
    if options.seeds < 1:
        command.error(f"--seeds {options.seeds}: must be an integer of at least 1")
    if options.max_minutes is not None and not 0 < options.max_minutes < math.inf:
        command.error(f"--max-minutes {options.max_minutes:g}: must be a positive number of minutes")


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
        with refusals(command):
            for name, table in TABLES.items():
                print(f"{name.ljust(width)} {minutes(name):>3} {table.title} ({table.source})")
            print("The numbers are the minutes that a core took for all seeds of the published table, at scale cpu.")
            print("A command that is interrupted goes on when it is repeated.")
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
    from papers.catalogue import TABLES, find, load_scale
    from papers.harness.reproduction import reproduce
    from papers.harness.workspace import Workspace

    place = Workspace(
        options.output,
        load_scale(options.scale),
        max_seconds=None if options.max_minutes is None else 60 * options.max_minutes,
        say=lambda line: print(line, file=sys.stderr, flush=True),
    )
    code, seeds = DONE, range(options.seeds)
    for name in options.tables:
        with contextlib.redirect_stdout(sys.stderr):  # where Trainer prints its log
            result = reproduce(place, find(name), seeds)
        print(json.dumps(result.to_dict()) if options.json else result.markdown(), flush=True)
        written = (place.folder / "tables").glob(f"{name}*.png")
        pictures = sorted(one.name for one in written if max(filter(one.name.startswith, TABLES), key=len) == name)
        place.say(
            f"table {name}: also in {place.folder / 'tables' / f'{name}.md'}, {', '.join((f'{name}.json', *pictures))}"
        )
        if result.missing:
            place.say(f"table {name}: is not complete; repeat the command to go on")
            code = UNFINISHED
        elif options.scale == "smoke" and (Path(__file__).parent / "results" / f"{name}-cpu.md").exists():
            place.say(f"models of this scale have learned next to nothing; papers/results/{name}-cpu.md has others")
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
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # while torch and the tables are imported, which takes many seconds on a busy machine
        print("python -m papers: interrupted", file=sys.stderr)
        sys.exit(130)

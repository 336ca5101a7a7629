"""`symbinv invariance`: a model of texts in, how many of its answers change under renaming out."""

from __future__ import annotations

import argparse
import json
import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hf_symbinv.auto_classes import imports_transformers, register_auto_classes
from hf_symbinv.cli import DONE
from hf_symbinv.cli.arguments import at_least, command_parser
from hf_symbinv.errors import UserError, first_line, hub_failure, in_short
from hf_symbinv.evaluation.grid import aligned
from hf_symbinv.files import bundled_checkpoints, path_here, require_writable, write_atomically
from hf_symbinv.logic.notation import is_spaced
from hf_symbinv.plotting.figures import PICTURES

FUNCTION = """\
  def first(texts):
      return [min(text.split()) for text in texts]
"""

DESCRIPTION = f"""\
Rename the symbols of texts, ask a model, and count the answers that change.
Each text is asked as it is written, under random renamings, and minified: b for
the first symbol, c for the second. Printed are the share of texts whose answer
some renaming changes, alpha-covariance and, with --reference, the accuracy as
written, renamed, by the worst renaming (all answers to a text must be right),
and minified, with 95 % intervals, and by number of symbols.

MODEL is a folder, a bundled name, OWNER/NAME on the Hub, or FILE.py:NAME, a
function from a list of texts to a list of results. It may ask an address, or be
as small as

{FUNCTION}
which takes a word for the answer by its name.

exit codes: 0 the table is complete, 2 bad usage or input
"""

EXAMPLE = """\
$ symbinv invariance words.py:first --data sums.jsonl --symbols '[a-z]+' --reference answer
                      all   95 % interval  symbols 2  symbols 3
texts                   3                          2          1
changed           100.0 %  43.9 - 100.0 %    100.0 %    100.0 %
alpha-covariance    0.917   0.370 - 0.995      0.938      0.875
right as written  100.0 %  43.9 - 100.0 %    100.0 %    100.0 %
renamed            47.9 %   11.6 - 86.5 %     46.9 %     50.0 %
worst               0.0 %    0.0 - 56.1 %      0.0 %      0.0 %
minified            0.0 %    0.0 - 56.1 %      0.0 %      0.0 %
"""
# End of an architecture's name -> task of a pipeline; `text2text` has none in transformers 5.
TASKS = {
    "ForSequenceClassification": "text-classification", "ForTokenClassification": "token-classification",
    "ForCausalLM": "text-generation", "LMHeadModel": "text-generation", "ForConditionalGeneration": "text2text",
}  # fmt: skip
# Of the data, so that a reader sees keywords among them; our choice: one line.
NAMES_SHOWN = 12
MEASURES = {
    "changed": "changed", "alpha_covariance": "alpha-covariance", "written": "right as written", "renamed": "renamed",
    "worst": "worst", "minified": "minified",
}  # fmt: skip


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv invariance`."""
    command = command_parser("invariance", DESCRIPTION, EXAMPLE)
    add, count = command.add_argument, at_least(1)
    add("model", metavar="MODEL", help="what is asked")
    add("--data", required=True, help="file of texts (.jsonl, .csv, .parquet), folder, or OWNER/NAME on the Hub")
    add("--symbols", required=True, metavar="REGEX", help="expression of the names that change")
    add("--keep", default="", metavar="WORDS", help="words that are no symbols, with commas between them")
    add("--question-column", metavar="COLUMN", help="texts (default: question, input, source or prompt)")
    add("--reference", "--answer-column", metavar="COLUMN", help="right answers, for accuracies")
    add("--task", help=f"{', '.join(dict.fromkeys(TASKS.values()))} or feature-extraction (default: the model's)")
    add("--renamings", type=count, default=16, metavar="N", help="of each text (default: %(default)s)")
    add("--rows", type=count, metavar="N", help="the first N texts (default: all)")
    add("--max-new-tokens", type=count, metavar="N", help="length of a written answer (default: the model's)")
    add("--answers", type=path_here, metavar="FILE", help="keep each answer here; the same command then goes on")
    pictures = f"write the JSON object (.json) or a picture ({', '.join(PICTURES)}); may be repeated"
    add("--output", action="append", type=path_here, default=[], metavar="FILE", help=pictures)
    add("--json", action="store_true", help="print one JSON object instead of the table")
    return command


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    command = parser()
    options = command.parse_args(arguments)
    for path in options.output:
        if path.suffix not in (".json", *PICTURES):
            command.error(f"--output {path}: unknown kind of file; end it in .json, {', '.join(PICTURES)}")
    for path in filter(None, (options.answers, *options.output)):
        require_writable(path)
        if path.suffix in PICTURES:
            import matplotlib  # noqa: F401  # before the model is asked, not after
    report = _measured(options)
    for path in options.output:
        if path.suffix == ".json":
            write_atomically(path, json.dumps(report) + "\n")
        else:
            from hf_symbinv.plotting import draw_by_symbols, save_picture

            save_picture(draw_by_symbols(_series(report), "share of texts"), path)
    print(json.dumps(report) if options.json else _table(report, options.renamings))
    return DONE


def _measured(options: argparse.Namespace) -> dict[str, Any]:
    from hf_symbinv.datasets_scripts.pair_files import read_pairs
    from hf_symbinv.evaluation.invariance_report import measure_invariance
    from hf_symbinv.evaluation.invariant import SymbolRule

    keep = [word.strip() for word in options.keep.split(",") if word.strip()]
    rule = SymbolRule(options.symbols, keep)  # refuses an expression that is none before a model is loaded
    question = options.question_column
    splits, _ = read_pairs(options.data, question, options.reference or question)
    rows = next(splits[name] for name in ("test", "validation", "train") if name in splits)[: options.rows]
    names = [*dict.fromkeys(name for row in rows for _, name in rule.symbols_of(row.question))]
    shown = f"{', '.join(names[:NAMES_SHOWN])}{', ...' * (len(names) > NAMES_SHOWN)}"
    model, how = load(options.model, options.task, options.max_new_tokens)
    print(f"{len(rows):,} texts with {len(names):,} names: {shown}", file=sys.stderr, flush=True)
    return measure_invariance(
        model,
        [row.question for row in rows],
        options.symbols,
        [row.answer for row in rows] if options.reference else None,
        keep=keep,
        renamings=options.renamings,
        answers=options.answers,
        name=options.model,
        progress=True,
        **how,
    )


def load(name: str, task: str | None, longest: int | None) -> tuple[Callable[..., Any], dict[str, Any]]:
    """A callable from texts to results, and what else it is called with.

    Raises:
        UserError: If there is no such function or model.
    """
    path, _, function = name.rpartition(":")
    try:
        if not path.endswith(".py"):
            return _load_model(name, task, longest)
        if imports_transformers(Path(path)):
            register_auto_classes()
        return runpy.run_path(path)[function], {}
    except Exception as error:  # whatever a user's file raises, and transformers, which uses several types
        if not path.endswith(".py") and not isinstance(error, (OSError, ValueError, KeyError)):
            raise
        told = f"{name}: cannot be loaded ({type(error).__name__}: {first_line(error)})"
        if failure := hub_failure(error, name):
            told = f"{name}: no such folder, and {failure.removeprefix(f'{name}: ')}"
        raise UserError(
            f"{told}; give a folder, a bundled name, OWNER/NAME on the Hub, or FILE.py:NAME, a function in it"
        ) from error


def _load_model(name: str, task: str | None, longest: int | None) -> tuple[Callable[..., Any], dict[str, Any]]:
    from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoTokenizer, pipeline

    from hf_symbinv.cli.models import quiet

    register_auto_classes()
    limit = {} if longest is None else {"max_new_tokens": longest}
    source = name if Path(name).is_dir() else str(bundled_checkpoints().get(name, name))
    with quiet():
        architecture = (AutoConfig.from_pretrained(source).architectures or [""])[0]
        task = task or next((one for end, one in TASKS.items() if architecture.endswith(end)), "feature-extraction")
        if task != "text2text":
            greedy = {"do_sample": False, "return_full_text": False, **limit} if task == "text-generation" else {}
            return pipeline(task, model=source), greedy
        tokenizer, model = AutoTokenizer.from_pretrained(source), AutoModelForSeq2SeqLM.from_pretrained(source)

    def answer(text: str, **how: Any) -> str:
        batch = tokenizer(text, return_tensors="pt")
        names = getattr(batch, "symbols", None)  # of our tokenizers
        options = {} if names is None else {"symbols": names}
        written: str = tokenizer.batch_decode(model.generate(**batch, **how), skip_special_tokens=True, **options)[0]
        # A formula of one-letter names has no blanks, and renamed it would be written in another way.
        is_compact = type(tokenizer).__name__ == "SymbolInvariantTokenizer" and not is_spaced(written)
        return " ".join(written) if is_compact else written

    def write(texts: list[str], **how: Any) -> list[str]:  # one by one, because padding changes last bits
        answers = []
        for text in texts:
            try:
                answers.append(answer(text, **how))
            except ValueError as error:
                raise UserError(f"{in_short(text)}: {name} cannot answer it ({first_line(error)})") from error
        return answers

    write.tokenizer, write.task = tokenizer, task  # type: ignore[attr-defined]
    return write, limit


def _table(report: dict[str, Any], renamings: int) -> str:
    parts = report["by_symbols"]
    rows = [["", "all", "95 % interval", *(f"symbols {part['symbols']}" for part in parts)]]
    rows += [["texts", f"{report['count']:,}", "", *(f"{part['count']:,}" for part in parts)]]
    for name in (name for name in MEASURES if name in report):
        scale, unit, form = (1, "", ".3f") if name == "alpha_covariance" else (100, " %", ".1f")
        shares = [f"{scale * part[name]:{form}}{unit}" for part in (report, *parts)]
        interval = " - ".join(f"{scale * bound:{form}}" for bound in report[f"{name}_interval"])
        rows.append([MEASURES[name], shares[0], f"{interval}{unit}", *shares[1:]])
    lines, left_out, different = [aligned(rows)], report["without_symbols"], report["different_answers"]
    if left_out:
        lines.append(f"without {left_out:,} texts that have no symbol")
    if 1 < different <= renamings / 4:  # few labels, which most askings share
        least = 1 - (different - 1) / renamings
        lines.append(
            f"alpha-covariance is at least {least:.3f} here: there are {different} different answers in all, and each "
            f"text was asked {renamings + 1} times"
        )
    return "\n".join(lines)


def _series(report: dict[str, Any]) -> list[Any]:
    from hf_symbinv.plotting import Series

    return [
        Series(said, tuple((p["symbols"], p[name], *p[f"{name}_interval"]) for p in parts))
        for parts in [report["by_symbols"]]
        for name, said in MEASURES.items()
        if name in report
    ]

"""Solves formulas with the bundled checkpoint, has Spot verify the answers, and shows that names do not matter.

python examples/demo.py [CHECKPOINT]
"""

import sys
import textwrap
from pathlib import Path

from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
from transformers.utils import logging

import hf_symbinv
from hf_symbinv import Checker, parse, parse_trace, to_infix, to_prefix, trace_to_infix

FORMULAS = {
    "five symbols, as in training": ["X(a & !b) & (c U (d & X e))", "(!a U b) & X X(a & !(c U d))"],
    "more symbols than in training": [
        "X p & (q U r) & X(s & t) & X X(!u & v)",
        "(p U q) & X(r U s) & X X(t U u)",
    ],
    "any names": ["!grant_1 U (request & X grant_1)", "X door_open & (!alarm U (door_open & alarm))"],
    "operators that the model does not know": ["G(request -> F grant)", "F(start & X done) & (ready R !start)"],
    "no witness exists": ["a & X b & !a"],
}
RENAMED = "(a U b) & X(b U (c & X !a))"
RENAMINGS = [{"a": "b", "b": "c", "c": "a"}, {"a": "z", "b": "a", "c": "quite_another_name"}]


def load(folder):
    """The model and tokenizer in `folder`."""
    logging.disable_progress_bar()
    return AutoModelForSeq2SeqLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)


def answers_to(model, tokenizer, formulas):
    """Answers as traces in prefix notation, by beam search."""
    batch = tokenizer([to_prefix(formula.to_base()) for formula in formulas], padding=True, return_tensors="pt")
    ids = model.generate(**batch, num_beams=3, max_new_tokens=100)
    return tokenizer.batch_decode(ids, symbols=batch.symbols, skip_special_tokens=True)


def show(text, indent):
    """Prints `text`, wrapped to 98 columns."""
    print(textwrap.fill(text, 98, initial_indent=" " * indent, subsequent_indent=" " * (indent + 4)))


def show_answers(model, tokenizer):
    """Answers and verifies all of FORMULAS in one batch."""
    formulas = [parse(text) for texts in FORMULAS.values() for text in texts]
    traces = answers_to(model, tokenizer, formulas)
    with Checker() as checker:
        verdicts = [result.verdict for result in checker.check(zip(map(to_prefix, formulas), traces, strict=True))]
    rows = zip(formulas, traces, verdicts, strict=True)
    for title, texts in FORMULAS.items():
        print(f"\n{title}")
        for _ in texts:
            formula, trace, verdict = next(rows)
            mark = "verified by Spot" if verdict == "correct" else f"not verified: {verdict}"
            print(f"  {to_infix(formula):<60}  {mark}")
            show(trace_to_infix(parse_trace(trace)), 6)
    print(f"\n{verdicts.count('correct')} of {len(verdicts)} answers are verified.")


def show_renamings(model, tokenizer):
    """Answers RENAMED under other names; whether every answer is the first one renamed."""
    formula = parse(RENAMED)
    print("\nrename the question, and the answer is renamed")
    first = show_pair(model, tokenizer, formula)
    same = True
    for renaming in RENAMINGS:
        same = show_pair(model, tokenizer, formula.rename(renaming)) == first.rename(renaming) and same
    print("  All answers agree with the renaming." if same else "  SOME ANSWERS DIFFER.")
    return same


def show_pair(model, tokenizer, formula):
    """Prints a formula and the answer to it, which is returned."""
    trace = parse_trace(*answers_to(model, tokenizer, [formula]))
    print(f"  {to_infix(formula)}")
    show(trace_to_infix(trace), 6)
    return trace


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else hf_symbinv.checkpoint("ltl-base"))
    model, tokenizer = load(folder)
    symbols = model.config.num_symbols
    print(f"{folder.name}: {model.num_parameters():,} parameters, trained on formulas with at most {symbols} symbols")
    show_answers(model, tokenizer)
    return 0 if show_renamings(model, tokenizer) else 1


if __name__ == "__main__":
    sys.exit(main())

"""`symbinv verify` for certificates and recorded traces."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

from hf_symbinv.answers import Check, Portfolio, Specification, read_certificate, verify_certificate
from hf_symbinv.answers.certificates import confirmed, read_claim, witness_text
from hf_symbinv.answers.clauses import ranges, read_clauses_certificate, verify_clauses
from hf_symbinv.answers.recorded import PropertyVerdict, verify_recording
from hf_symbinv.answers.traces import ENDS, TABLE, WAVEFORM, Recording, read_recording, recording_of
from hf_symbinv.cli import BAD_INPUT, DONE, NOT_VERIFIED
from hf_symbinv.cli.specifications import is_file, read_question
from hf_symbinv.cli.texts import Text, block, one_line
from hf_symbinv.errors import UserError
from hf_symbinv.files import kind_of
from hf_symbinv.logic import read_trace
from hf_symbinv.tasks import LTL


def verify_evidence(options: argparse.Namespace) -> int:
    """Check a certificate, or a recorded trace; the exit code."""
    with Portfolio(["spot"], timeout=options.timeout, memory=options.memory) as portfolio:
        verify = _verify_certificate if len(options.pair) == 1 else _verify_recording
        return verify(options, portfolio)


def _verify_certificate(options: argparse.Namespace, portfolio: Portfolio) -> int:
    path = Path(options.pair[0])
    look = _look_at_clauses if "clauses" in read_claim(path) else _look_at_specification
    seen = look(path, portfolio)
    if options.json:
        content = {"certificate": options.pair[0], "result": seen.result, "confirmed": seen.holds}
        print(json.dumps({**content, "checks": [asdict(check) for check in seen.checks]}))
    else:
        rows = [(seen.result, seen.evidence)]
        rows += [(check.checker, ": ".join(filter(None, [check.verdict, check.message]))) for check in seen.checks]
        rows.append(("verdict", "confirmed" if seen.holds else "not confirmed"))
        print(block(options.pair[0], rows), flush=True)
    return DONE if seen.holds else NOT_VERIFIED


class _Seen(NamedTuple):
    """What a certificate claims, and what became of it."""

    result: str
    evidence: str
    checks: tuple[Check, ...]
    holds: bool


def _look_at_specification(path: Path, portfolio: Portfolio) -> _Seen:
    certificate = read_certificate(path)
    checks = verify_certificate(certificate, portfolio)
    evidence = ", ".join(certificate.subset)
    if certificate.witness is not None:
        evidence = witness_text(certificate.specification, certificate.witness) or "none needed"
    return _Seen(certificate.result, evidence, checks, confirmed(certificate.witness is not None, checks))


def _look_at_clauses(path: Path, portfolio: Portfolio) -> _Seen:
    question, claim = read_clauses_certificate(path)
    checks = verify_clauses(question, claim, portfolio)
    evidence = ranges(claim["subset"]) if claim["subset"] else " ".join(map(str, claim["model"] or ()))
    return _Seen(claim["result"], evidence, checks, confirmed(claim["model"] is not None, checks))


def _verify_recording(options: argparse.Namespace, portfolio: Portfolio) -> int:
    question, name = options.pair
    try:
        specification = read_question(Text("formula", question), LTL, options.notation or "infix", options.finite)
        if not isinstance(specification, Specification):
            raise UserError(f"{question}: clauses have no traces; give a formula or a FILE.ltl")
        if kind_of(name) in (TABLE, WAVEFORM) or is_file(name):  # of any other kind, which is refused
            recording = read_recording(Path(name), specification.symbols(), options.clock, name)
        else:
            recording = _written(name, specification)
    except ValueError as error:
        if not options.json:
            raise UserError(str(error)) from error  # also of formulas and of traces in text
        print(json.dumps({"specification": question, "trace": name, "error": str(error)}))
        return BAD_INPUT
    verdicts = verify_recording(specification, recording, portfolio)
    if options.json:
        content: dict[str, Any] = {"specification": question, "trace": name, "steps": len(recording.steps)}
        print(json.dumps({**content, "properties": [asdict(verdict) for verdict in verdicts]}))
    else:
        steps = f"{len(recording.steps)} step{'s' * (len(recording.steps) > 1)}"
        rows = [(verdict.name, _told(verdict)) for verdict in verdicts]
        print(block(f"{question} on {name}, {steps}", rows), flush=True)
    return DONE if all(verdict.verdict == "correct" for verdict in verdicts) else NOT_VERIFIED


def _written(text: str, specification: Specification) -> Recording:
    """A trace as `symbinv solve` writes it: a lasso, or for finite traces steps with `, and ends` behind them."""
    steps, ends, _ = text.partition(ENDS)
    if bool(ends) != specification.finite:
        finite = f"end its steps with `{ENDS}`, or leave out --finite"
        remedy = finite if specification.finite else "add --finite, or give it a cycle{...}"
        raise UserError(f"{one_line(text)}: is no {'' if specification.finite else 'in'}finite trace; {remedy}")
    trace = read_trace(f"{steps}; cycle{{1}}" if ends else text)
    try:
        found = recording_of(trace, specification.symbols())
    except ValueError as error:
        raise UserError(f"{one_line(text)}: {error}; write each step as `request & !grant`") from None
    return replace(found, steps=found.steps[:-1], loop=None) if ends else found


def _told(verdict: PropertyVerdict) -> str:
    return f"{verdict.verdict}: {one_line(verdict.message)}" if verdict.message else verdict.verdict

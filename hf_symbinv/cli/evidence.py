"""`symbinv verify` for certificates and recorded traces."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from hf_symbinv.answers import Portfolio, read_certificate, verify_certificate
from hf_symbinv.answers.certificates import confirmed
from hf_symbinv.answers.recorded import PropertyVerdict, verify_recording
from hf_symbinv.answers.traces import read_recording
from hf_symbinv.cli import DONE, NOT_VERIFIED
from hf_symbinv.cli.specifications import read_question
from hf_symbinv.cli.texts import Text, one_line
from hf_symbinv.logic import trace_to_infix
from hf_symbinv.remote import local_copy


def verify_evidence(options: argparse.Namespace) -> int:
    """Check a certificate, or a recorded trace; the exit code."""
    with Portfolio(["spot"], timeout=options.timeout, memory=options.memory) as portfolio:
        verify = _verify_certificate if len(options.pair) == 1 else _verify_recording
        return verify(options, portfolio)


def _verify_certificate(options: argparse.Namespace, portfolio: Portfolio) -> int:
    path = options.pair[0]
    certificate = read_certificate(local_copy(path))
    checks = verify_certificate(certificate, portfolio)
    holds = confirmed(certificate, checks)
    evidence = ", ".join(certificate.subset)
    if certificate.witness is not None:
        evidence = trace_to_infix(certificate.witness)
    if options.json:
        content = {"certificate": path, "result": certificate.result, "confirmed": holds}
        print(json.dumps({**content, "checks": [asdict(check) for check in checks]}))
    else:
        rows = [(certificate.result, evidence)]
        rows += [(check.checker, ": ".join(filter(None, [check.verdict, check.message]))) for check in checks]
        rows.append(("verdict", "confirmed" if holds else "not confirmed"))
        _print(path, rows)
    return DONE if holds else NOT_VERIFIED


def _verify_recording(options: argparse.Namespace, portfolio: Portfolio) -> int:
    question, name = options.pair
    specification = read_question(Text("formula", question), options.notation or "infix", options.finite)
    recording = read_recording(local_copy(name), options.clock).of(specification.symbols(), name)
    verdicts = verify_recording(specification, recording, portfolio)
    if options.json:
        content: dict[str, Any] = {"specification": question, "trace": name, "steps": len(recording.steps)}
        print(json.dumps({**content, "properties": [asdict(verdict) for verdict in verdicts]}))
    else:
        steps = f"{len(recording.steps)} step{'s' * (len(recording.steps) > 1)}"
        _print(f"{one_line(question)} on {name}, {steps}", [(verdict.name, _told(verdict)) for verdict in verdicts])
    return DONE if all(verdict.verdict == "correct" for verdict in verdicts) else NOT_VERIFIED


def _told(verdict: PropertyVerdict) -> str:
    return f"{verdict.verdict}: {one_line(verdict.message)}" if verdict.message else verdict.verdict


def _print(head: str, rows: Iterable[tuple[str, str]]) -> None:
    rows = list(rows)
    width = max(len(label) for label, _ in rows)
    print("\n".join([head, *(f"  {label.ljust(width)}  {text}" for label, text in rows)]), flush=True)

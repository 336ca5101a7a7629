"""Certificates: answers as JSON objects that others can check again, with Spot and with the package's own checker."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from hf_symbinv import __version__
from hf_symbinv.answers.portfolio import MEMBERS, Answer, Check, Portfolio
from hf_symbinv.answers.specification import Specification, SpecificationError, read_specification
from hf_symbinv.errors import UserError
from hf_symbinv.files import read_object
from hf_symbinv.logic import FormulaSyntaxError, Trace, read_assignment, read_trace, trace_to_infix
from hf_symbinv.logic.infix import infix_name
from hf_symbinv.solvers.lasso import EmptyStepError, conjunction, in_literals, literals

FORMAT = 1
AGAIN = "write it again with `symbinv solve --output`"
KINDS: dict[str, type | tuple[type, ...]] = {
    "specification": str,
    "finite": bool,
    "propositional": bool,
    "normal_form": str,
    "result": str,
    "witness": (str, type(None)),
    "found_by": (str, type(None)),
    "subset": list,
    "minimal": bool,
}
# Seconds for a second opinion on a proof, which may go on for ever. Our choice.
SECOND_OPINION = 2.0


class CertificateError(UserError):
    """A file that is no certificate, or one that contradicts itself."""


class Certificate(NamedTuple):
    """What a certificate claims.

    Attributes:
        specification: The question.
        result: `satisfiable`, `unsatisfiable` or `unknown`.
        witness: Of a satisfiable question.
        subset: Names of properties that no trace satisfies together, of an unsatisfiable one.
        minimal: Without any one of them, one does.
    """

    specification: Specification
    result: str
    witness: Trace | None
    subset: tuple[str, ...]
    minimal: bool


def certify(answer: Answer, portfolio: Portfolio) -> dict[str, Any]:
    """The certificate of a portfolio's answer, as JSON has it."""
    specification = answer.specification
    versions = {"hf_symbinv": __version__, "spot": portfolio.spot_version()}
    if answer.found_by == "bounded":
        from importlib.metadata import version  # here, because few answers need it

        versions["python-sat"] = version("python-sat")
    return {
        "certificate": FORMAT,
        "specification": specification.text,
        "finite": specification.finite,
        "propositional": specification.propositional,
        "normal_form": specification.normal_form(),
        "result": answer.result,
        "witness": None if answer.witness is None else witness_text(specification, answer.witness),
        **in_json(answer),
        "versions": versions,
    }


def witness_text(specification: Specification, witness: Trace) -> str:
    """A witness in infix: a trace, or the assignment that its only step is where formulas are propositional."""
    if not specification.propositional:
        return trace_to_infix(witness)
    return ", ".join(f"{infix_name(name)}={value:d}" for name, value in literals(witness.cycle[0]).items())


def _read_witness(specification: Specification, text: str) -> Trace:
    if not specification.propositional:
        return in_literals(read_trace(text))
    return Trace((), (conjunction(dict(read_assignment(text).values) if text else {}),))


def read_claim(path: Path) -> dict[str, Any]:
    """The content of a file that says that it is a certificate of this version's format."""
    content = read_object(path, AGAIN, CertificateError)
    found = content.get("certificate")
    if type(found) is not int:
        raise CertificateError(f"{path}: no certificate, certificate is missing or of another kind; {AGAIN}")
    if found != FORMAT:
        raise CertificateError(f"{path}: a certificate of format {found}, and this version reads {FORMAT}; {AGAIN}")
    return content


def read_certificate(path: Path) -> Certificate:
    """What the certificate in a file claims.

    Raises:
        CertificateError: If it is none, or its normal form is not that of its specification.
        OSError: If it cannot be read.
    """
    content = read_claim(path)
    for key, kind in KINDS.items():
        if key not in content or not isinstance(content[key], kind):
            raise CertificateError(f"{path}: no certificate, {key} is missing or of another kind; {AGAIN}")
    try:
        specification = read_specification(
            content["specification"], f"{path}, specification",
            finite=content["finite"], propositional=content["propositional"],
        )  # fmt: skip
        witness = None if content["witness"] is None else _read_witness(specification, content["witness"])
    except SpecificationError as error:
        raise CertificateError(str(error)) from None
    except (FormulaSyntaxError, EmptyStepError) as error:
        raise CertificateError(f"{path}: witness: {error}; {AGAIN}") from None
    if specification.normal_form() != content["normal_form"]:
        raise CertificateError(f"{path}: the normal form is not that of the specification; {AGAIN}")
    subset = content["subset"]
    unknown = [name for name in subset if name not in specification.names]
    if unknown or content["result"] not in ("satisfiable", "unsatisfiable", "unknown"):
        result = f"no result is called {content['result']!r}"
        wrong = f"subset: no property is called {unknown[0]!r}" if unknown else result
        raise CertificateError(f"{path}: {wrong}; {AGAIN}")
    require_evidence(path, content["result"], witness is not None, bool(subset))
    return Certificate(specification, content["result"], witness, tuple(subset), content["minimal"])


def require_evidence(path: Path, result: str, has_witness: bool, has_subset: bool) -> None:
    """Makes sure that a certificate has the evidence of its result, and no other."""
    if (result == "satisfiable", result == "unsatisfiable") != (has_witness, has_subset):
        raise CertificateError(f"{path}: a result {result!r} with another's evidence; {AGAIN}")


def verify_certificate(certificate: Certificate, portfolio: Portfolio) -> tuple[Check, ...]:
    """What checkers say of a certificate's claim now; nothing of what it says of its checks is believed.

    Returns:
        For a witness, the verdicts of both checkers. For a subset, what each exact member finds: `unsatisfiable`,
        `satisfiable`, or that it reached its limit; and `not minimal`, if fewer properties are enough against what it
        says. None for `unknown`.
    """
    specification = certificate.specification
    if certificate.witness is not None:
        return portfolio.check(specification.conjuncts(), certificate.witness)
    if certificate.result == "unknown":
        return ()
    found: list[Check] = []
    conjuncts = specification.only(certificate.subset).conjuncts()
    for name in MEMBERS:
        limit = {} if name == "spot" else {"limit": SECOND_OPINION}
        outcome = portfolio.prove(conjuncts, name, **limit)
        if outcome.status == "done":
            found.append(Check(name, "unsatisfiable" if outcome.value else "satisfiable", outcome.seconds))
        else:
            found.append(Check(name, outcome.status, outcome.seconds, outcome.value))
    if certificate.minimal and len(certificate.subset) > 1:
        kept, _ = portfolio.minimal_subset(
            specification.only(certificate.subset), range(len(certificate.subset)), "spot"
        )
        if kept != certificate.subset:
            found.append(Check("spot", "not minimal", 0.0, f"{', '.join(kept)} contradict each other already"))
    return tuple(found)


def confirmed(has_witness: bool, checks: tuple[Check, ...]) -> bool:
    """The checks confirm the claim: all of a witness, at least one proof and none that denies it of a subset."""
    verdicts = {check.verdict for check in checks}
    if has_witness:
        return verdicts == {"correct"}
    return "unsatisfiable" in verdicts and not {"satisfiable", "not minimal"} & verdicts


def in_json(answer: Any) -> dict[str, Any]:
    """What certificates of all kinds have of an answer, as JSON has it."""
    return {
        "found_by": answer.found_by,
        "checks": [{**asdict(check), "seconds": round(check.seconds, 6)} for check in answer.checks],
        "subset": list(answer.subset),
        "minimal": answer.minimal,
        "tried": [{**asdict(tried), "seconds": round(tried.seconds, 6)} for tried in answer.tried],
        "seconds": round(answer.seconds, 6),
    }

"""Specifications get answers that were checked or proved, by a portfolio of solvers; nothing here imports torch."""

from hf_symbinv.answers.certificates import Certificate, CertificateError, certify, read_certificate, verify_certificate
from hf_symbinv.answers.collection import Pattern, read_collection
from hf_symbinv.answers.portfolio import MEMBERS, Answer, Check, Portfolio, Tried
from hf_symbinv.answers.specification import (
    Property,
    Specification,
    SpecificationError,
    read_specification,
    read_specification_file,
)

__all__ = [
    "MEMBERS",
    "Answer",
    "Certificate",
    "CertificateError",
    "Check",
    "Pattern",
    "Portfolio",
    "Property",
    "Specification",
    "SpecificationError",
    "Tried",
    "certify",
    "read_certificate",
    "read_collection",
    "read_specification",
    "read_specification_file",
    "verify_certificate",
]

"""Specifications, clauses and traces that cannot be read are refused with file and place."""

from pathlib import Path

import pytest
import yaml

from hf_symbinv.answers import SpecificationError, read_dimacs, read_specification, read_tlsf
from hf_symbinv.answers.recordings import TraceFileError
from hf_symbinv.answers.traces import read_recording

from .test_tlsf import ARBITER

CASES = yaml.safe_load(Path(__file__).with_name("refusals.yaml").read_text(encoding="utf-8"))
HEADER = "$scope module t $end\n$var wire 1 ! a $end\n$upscope $end\n$enddefinitions $end\n"


def read_trace(folder, name, content, clock=None):
    (folder / name).write_text(content.replace("HEADER\n", HEADER))
    return read_recording(folder / name, ("a",), clock)


READERS = {
    "specification": lambda folder, text: read_specification(text, "f.ltl"),
    "propositional": lambda folder, text: read_specification(text, propositional=True),
    "dimacs": lambda folder, text: read_dimacs(text, "f.cnf"),
    "tlsf": lambda folder, old, new: read_tlsf(ARBITER.replace(old, new), "f.tlsf"),
    "trace": read_trace,
}
LONG = ["x.csv", "a\n" + "1" * (2**22 + 1), "a line of over 4,194,304 characters; split the table by columns"]


@pytest.mark.parametrize(
    ("reader", "given", "message"),
    [(reader, given, said) for reader, own in [*CASES.items(), ("trace", [LONG])] for *given, said in own],
)
def test_what_cannot_be_read_is_told_with_its_place(reader, given, message, tmp_path):
    assert reader != "tlsf" or given[0] in ARBITER
    with pytest.raises((SpecificationError, TraceFileError)) as caught:
        READERS[reader](tmp_path, *given)
    said = str(caught.value)
    assert message in said and (reader != "trace" or given[0] in said)

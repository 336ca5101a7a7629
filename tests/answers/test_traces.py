"""Recorded traces are read, written and checked: what is written comes back, and a waveform has its clock's steps."""

import pytest

from hf_symbinv.answers import Portfolio, read_specification
from hf_symbinv.answers.recorded import verify_recording
from hf_symbinv.answers.traces import Recording, TraceFileError, read_recording, recording_of, write_recording
from hf_symbinv.logic import read_trace, trace_to_infix

SIMULATED = """\
$timescale 1ns $end
$scope module top $end
$var wire 1 ! clk $end
$var reg 2 " st [1:0] $end
$scope module cpu $end
$var wire 1 # irq $end
$var integer 32 $ n $end
$upscope $end
$upscope $end
$enddefinitions $end
#0
$dumpvars
0!
b0 "
x#
b11 $
$end
#5
1!
b01 "
#10
0!
0#
#15
1!
b10 "
1#
#20
"""


@pytest.mark.parametrize("suffix", [".csv", ".vcd"])
@pytest.mark.parametrize("witness", ["a; a; cycle{a & !cpu.irq; !a}", 'cycle{"req[3]"}', "!a; cycle{1}"])
def test_a_witness_that_is_written_comes_back(witness, suffix, tmp_path):
    trace = read_trace(witness)
    path = tmp_path / f"witness{suffix}"
    recording = recording_of(trace, ("a", "cpu.irq", "req[3]"))
    write_recording(path, recording)
    again = read_recording(path)
    assert (again.steps, again.loop, set(again.names)) == (recording.steps, recording.loop, set(recording.names))
    assert again.of(trace.symbols(), str(path)).trace() == trace


def test_steps_of_a_waveform_are_rising_edges_of_its_clock_with_the_values_before_them(tmp_path):
    path = tmp_path / "run.vcd"
    path.write_text(SIMULATED)
    recording = read_recording(path, clock="clk").of(("st[0]", "st[1]", "irq"), "run.vcd")
    assert recording == Recording(
        ("st[0]", "st[1]", "irq"),
        ({"st[0]": False, "st[1]": False}, {"st[0]": True, "st[1]": False, "irq": False}),
        None,
    )


def test_without_a_clock_each_time_with_a_change_is_a_step(tmp_path):
    path = tmp_path / "run.vcd"
    path.write_text(SIMULATED)
    steps = read_recording(path).of(("top.st[1]", "cpu.irq"), "run.vcd").steps
    assert [(step.get("top.st[1]"), step.get("cpu.irq")) for step in steps] == [
        (False, None), (False, None), (False, False), (True, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", "", "has no step; give at least one"),
        ("x.csv", "a\n2\n", "x.csv:2: a is '2'; write 1, 0, or nothing where it is unknown"),
        ("x.csv", "a,b\n1\n", "x.csv:2: 1 cells under 2 names; give each step all"),
        ("x.csv", "a,a\n1,1\n", "x.csv:1: 2 columns; give each its own name"),
        ("x.csv", "a,symbinv.cycle\n1,1\n1,0\n", "symbinv.cycle is 1 and then 0 again"),
        ("x.csv", b"\xff", "no table ("),
        ("x.vcd", "", "has no step; give at least one"),
        ("x.vcd", "garbage", "no waveform ("),
        ("x.txt", "", "unknown kind of trace; its name ends in .csv or .vcd"),
    ],
)
def test_what_is_no_trace_is_refused_by_name(name, content, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(TraceFileError) as caught:
        read_recording(path)
    assert message in str(caught.value) and name in str(caught.value)


def test_propositions_are_found_by_the_end_of_their_names_if_only_one_ends_so():
    recording = Recording(("a.irq", "b.irq", "b.x"), ({"a.irq": True},), None)
    assert recording.of(("x",), "t").names == ("x",)
    with pytest.raises(
        TraceFileError, match=r"t: no proposition is called irq, and it has several that end so, a.irq, b.irq"
    ):
        recording.of(("irq",), "t")
    with pytest.raises(TraceFileError, match=r"no proposition is called y, and it has 'a.irq, b.irq, b.x'"):
        recording.of(("y",), "t")


def test_a_waveform_cannot_have_blanks_in_names(tmp_path):
    with pytest.raises(TraceFileError, match="a waveform's names have no blanks"):
        write_recording(tmp_path / "x.vcd", Recording(("next state",), ({},), None))


@pytest.fixture(scope="module")
def verdicts():
    """`verdicts(text, steps, loop=None)`: of each property of a specification on a recording."""
    pytest.importorskip("spot")
    with Portfolio(["spot"]) as portfolio:

        def verify(text, steps, loop=None):
            specification = read_specification(text)
            recording = Recording(specification.symbols(), tuple(steps), loop)
            return [(item.verdict, item.message) for item in verify_recording(specification, recording, portfolio)]

        yield verify


class TestVerdicts:
    def test_a_beginning_decides_what_no_continuation_can_change(self, verdicts):
        steps = [{"a": True, "b": False}, {"a": False, "b": False}]
        assert verdicts("F a; G a; F b; G(a -> X b); X !a; G(b | !b)", steps) == [
            ("correct", ""),
            ("incorrect", "whatever comes after step 1"),
            ("open", "some words that go on as the trace does satisfy it, and some do not"),
            ("incorrect", "whatever comes after step 1"),
            ("correct", ""),
            ("correct", ""),
        ]

    def test_a_cycle_decides_everything_that_it_knows(self, verdicts):
        steps = [{"a": False}, {"a": True}, {"b": False}]
        result = verdicts("G F a; F G a; G !b; F b", steps, loop=1)
        assert [verdict for verdict, _ in result] == ["correct", "open", "open", "open"]

    def test_a_finite_trace_ends_where_it_does(self, verdicts):
        steps = [{"a": True}, {"a": False}]
        result = verdicts("traces finite\nF a; X X a; X[2!] a; F G !a; G F a", steps)
        assert [verdict for verdict, _ in result] == ["correct", "correct", "incorrect", "correct", "incorrect"]


def test_a_finite_witness_is_written_without_what_comes_after_it():
    specification = read_specification("traces finite\na & X[!] b")
    recording = recording_of(read_trace("a & alive; b & alive; cycle{!alive}"), ("a", "b"), specification.alive)
    assert recording == Recording(("a", "b"), ({"a": True}, {"b": True}), None)
    assert trace_to_infix(recording.trace(specification.alive)) == "alive & a; alive & b; cycle{!alive}"

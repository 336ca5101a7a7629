"""Recorded traces are read, written and checked: what is written comes back, and a waveform has its clock's steps."""

import pytest

from hf_symbinv.answers import Portfolio, read_specification
from hf_symbinv.answers.recorded import verify_recording
from hf_symbinv.answers.recordings import Names, TraceFileError
from hf_symbinv.answers.traces import Recording, read_recording, recording_of, write_recording
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
    again = read_recording(path, recording.names)
    assert again == recording
    assert read_recording(path, trace.symbols()).trace() == trace


def test_steps_of_a_waveform_are_rising_edges_of_its_clock_with_the_values_before_them(tmp_path):
    path = tmp_path / "run.vcd"
    path.write_text(SIMULATED)
    recording = read_recording(path, ("st[0]", "st[1]", "irq"), "clk")
    assert recording == Recording(
        ("st[0]", "st[1]", "irq"),
        ({"st[0]": False, "st[1]": False}, {"st[0]": True, "st[1]": False, "irq": False}),
        None,
    )


def test_without_a_clock_each_time_with_a_change_is_a_step(tmp_path):
    path = tmp_path / "run.vcd"
    path.write_text(SIMULATED)
    steps = read_recording(path, ("top.st[1]", "cpu.irq")).steps
    assert [(step.get("top.st[1]"), step.get("cpu.irq")) for step in steps] == [
        (False, None), (False, None), (False, False), (True, True),
    ]  # fmt: skip


HEADER = "$scope module t $end\n$var wire 1 ! a $end\n$upscope $end\n$enddefinitions $end\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", "", "is empty; write a line of names"),
        ("x.csv", "a\n", "has no step; give at least one"),
        ("x.csv", "a\n2\n", "x.csv:2: a is '2'; write 1, 0, or nothing where it is unknown"),
        ("x.csv", "# by hand\n\na,b\n1\n", "x.csv:4: 1 cells under 2 names; give each name one"),
        ("x.csv", "a,b\n1,0,1\n", "x.csv:2: 3 cells under 2 names; give each name one"),
        (
            "x.csv",
            "a[1],a[0]\n1,0\n",
            "no signal is called a, and it has 'a[1], a[0]'; a bit of a vector is called \"a[0]\"",
        ),
        ("x.csv", "a,a\n1,1\n", "2 signals are called a; give each its own name"),
        ("x.csv", "0,1\n1,1\n", "its first line has values; write a line of names before it"),
        ("x.csv", "a,symbinv.cycle\n1,1\n1,0\n", "symbinv.cycle is 1 and then 0 again"),
        ("x.csv", "a\n" + "1" * (2**22 + 1), "a line of over 4,194,304 characters; split the table by columns"),
        ("x.csv.gz", b"a\n1\n", "damaged (Not a gzipped file (b'a\\n')); compress it again"),
        ("x.vcd", "", "no waveform (it has no $enddefinitions)"),
        ("x.vcd", "garbage", "no waveform ('garbage' where a header should be)"),
        ("x.vcd", HEADER, "has no step; give at least one"),
        ("x.vcd", f"{HEADER}#0\n1!\n#1_0\n", "no waveform ('#1_0' is no time)"),
        ("x.vcd", f"{HEADER}#5\n1!\n#0\n0!\n", "no waveform (time goes back from 5 to 0)"),
        ("x.vcd", f"{HEADER}#5\nnews\n", "no waveform ('news' is no change of a value)"),
        ("x.vcd", f"{HEADER}#5\nb2 !\n", "no waveform ('b2' is no value)"),
        ("x.vcd", f"{HEADER}#5\nb1", "no waveform ('b1' is the value of no signal)"),
        ("x.vcd", "$upscope $end\n", "no waveform ($upscope where no scope is open)"),
        ("x.txt", "", "unknown kind of trace; its name ends in .csv or .vcd"),
    ],
)
def test_what_is_no_trace_is_refused_by_name(name, content, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(TraceFileError) as caught:
        read_recording(path, ("a",))
    assert message in str(caught.value) and name in str(caught.value)


def test_propositions_are_found_by_the_end_of_their_names_if_only_one_ends_so():
    names = Names(["x", "irq", "y", "clk"])
    for key, name in enumerate(["a.irq", "b.irq", "b.x"]):
        names.show(name)
        names.add(name, key)
    for name in ("top.clk", "top.cpu.clk"):  # a port is the signal that it is connected to
        names.add(name, "%")
    assert (names.key("x", "t"), names.key("clk", "t")) == (2, "%")
    with pytest.raises(
        TraceFileError, match=r"t: no signal is called irq, and it has several that end so, 'a.irq, b.irq'"
    ):
        names.key("irq", "t")
    with pytest.raises(TraceFileError, match=r"no signal is called y, and it has 'a.irq, b.irq, b.x'; write its full"):
        names.key("y", "t")
    names = Names(["iqr"])
    names.show("top.irq")
    with pytest.raises(TraceFileError, match=r"no signal is called iqr, and it has 'top.irq'; did you mean irq\?"):
        names.key("iqr", "t")


def values(path, *symbols, clock=None):
    """The steps of a recording, as characters: `1`, `0`, and `?` where a value is unknown."""
    steps = read_recording(path, symbols, clock).steps
    return " ".join("".join("?" if name not in step else str(int(step[name])) for name in symbols) for step in steps)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("a,b\n1,0\n0,1", "10 01"),
        ("a;b\r\n1;0\r\n0;1\r\n", "10 01"),
        ("sep=\t\na\tb\n1\t0\n0\t1", "10 01"),
        ("a\tb\n1\t0\n0\t1", "10 01"),
        ("\ufeffa,b\n1,0\n0,1", "10 01"),
        ("Sample in Buffer,a,b\nRadix - UNSIGNED,HEX,HEX\n0,1,0\n1,0,1", "10 01"),
        ("; CSV, generated by libsigrok 0.5.2\n; Channels (2/8): a, b\nlogic,logic\n1,0\n0,1", "10 01"),
        ("# a comment\n// and more\n\na,b\n1,0\n\n0,1\n", "10 01"),
        ('time,a,b,note\n1e-9,1.0,0.0,"x, y"\n2e-9,0.0,1.0,"2\n3"', "10 01"),
        ("Time,a,b\n(ms),(V),[V]\n\n0.1,1,0\n0.2,0,1", "10 01"),
        ("a,b\nTrue,False\nlow,H", "10 01"),
        ("a,b\nU,x\nNaN,", "?? ??"),
        ("a,b\n1,0\n,\n , \n0,1", "10 ?? ?? 01"),
        ('"a; (V)";a;b\n0;1;0\n1;0;1', "10 01"),
        ("state,top.a,top.b\nIDLE,1,0\nRUN,0,1", "10 01"),
        ("a,b\n1,0,,\n0,1,,\n", "10 01"),
    ],
)
def test_tables_of_other_programs_are_read(header, expected, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(header, encoding="utf-8", newline="")
    assert values(path, "a", "b") == expected
    path.write_text(header.removeprefix("\ufeff"), encoding="utf-16", newline="")
    assert values(path, "a", "b") == expected


@pytest.mark.parametrize(
    ("declared", "changes", "symbols", "expected"),
    [
        ("$var reg 4 # d[3:0] $end", "#0\nbHL01 #\n#1\nbU #\n#2\nb1 #", ("d[3]", "d[0]"), "11 ?? 01"),
        ("$var reg 2 # d [0:1] $end", "#0\nb10 #", ("d[0]", "d[1]"), "10"),
        ("$var reg 2 # m[7] [1:0] $end", "#0\nb10 #", ("m[7][1]", "m[7][0]"), "10"),
        ("$var reg 3 # d $end", "#0\nb110 #", ("d[2]", "d[0]"), "10"),
        ("$var wire 1 # d [3] $end", "#0\n1#", ("d[3]",), "1"),
        ("$var real 64 ! r $end $var wire 1 # a $end", "#0\nr1.5 !\n1#\n#1\nsIDLE !\n0#", ("a",), "1 0"),
        ("$var event 1 ! e $end $var wire 1 # a $end", "$dumpvars 0# $end #0 1# #1 1!", ("a",), "1 1"),
        ("$scope module $end $var wire 1 # a $end $upscope $end", "#0 1 #", ("t.a",), "1"),
        ("$var wire 1 # a $end $scope fork f $end $var wire 1 # b $end $upscope $end", "#0 1#", ("a", "f.b"), "11"),
        ("$foreign thing of $some tool $end $var wire 1 # a $end", "#0 1# $comment 0# $end", ("a",), "1"),
    ],
)
def test_waveforms_of_other_programs_are_read(declared, changes, symbols, expected, tmp_path):
    path = tmp_path / "x.vcd"
    header = f"$version caf\xe9 $end $scope module t $end {declared} $upscope $end $enddefinitions $end\n"
    path.write_bytes(header.encode("latin-1") + changes.encode())
    assert values(path, *symbols) == expected


def test_of_many_signals_and_times_only_those_that_are_asked_for_are_kept(tmp_path):
    path = tmp_path / "x.vcd"
    declared = "".join(f"$var wire 64 c{place} s{place} $end\n" for place in range(150_000))
    changes = "".join(f"#{time}\nb{time:b} c{time % 7}\n{time % 2}!\n" for time in range(20_000))
    path.write_text(f"{declared}$var wire 1 ! clk $end\n$enddefinitions $end\n{changes}")
    steps = read_recording(path, ("s3[0]",), "clk").steps
    assert len(steps) == 10_000 and len({id(step) for step in steps}) == 3


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
            ("incorrect", "by step 1, whatever comes after it"),
            ("open", "what comes later decides"),
            ("incorrect", "by step 1, whatever comes after it"),
            ("correct", ""),
            ("correct", ""),
        ]

    def test_a_cycle_decides_everything_that_it_knows(self, verdicts):
        steps = [{"a": False}, {"a": True}, {"b": False}]
        result = verdicts("G F a; F G a; G !b; F b", steps, loop=1)
        assert [verdict for verdict, _ in result] == ["correct", "open", "open", "open"]
        assert [message.rpartition(" that of ")[2] for _, message in result[1:]] == [
            "a at step 2",
            *["b at step 0"] * 2,
        ]

    def test_what_is_open_says_what_decides(self, verdicts):
        steps = [{"a": True}, {"a": True, "b": False}]
        unknown = "unknown values decide, as that of b at step 0"
        assert verdicts("G(a -> F b); F !a; G(a -> b | X a) & b", steps) == [
            ("open", f"{unknown}, or what comes later decides"),
            ("open", "what comes later decides"),
            ("open", f"{unknown}, or what comes later decides"),
        ]
        assert verdicts("traces finite\nb | X b", steps) == [("open", unknown)]

    def test_a_finite_trace_ends_where_it_does(self, verdicts):
        steps = [{"a": True}, {"a": False}]
        result = verdicts("traces finite\nF a; X X a; X[2!] a; F G !a; G F a", steps)
        assert [verdict for verdict, _ in result] == ["correct", "correct", "incorrect", "correct", "incorrect"]


def test_a_finite_witness_is_written_without_what_comes_after_it():
    specification = read_specification("traces finite\na & X[!] b")
    recording = recording_of(read_trace("a & alive; b & alive; cycle{!alive}"), ("a", "b"), specification.alive)
    assert recording == Recording(("a", "b"), ({"a": True}, {"b": True}), None)
    assert trace_to_infix(recording.trace(specification.alive)) == "alive & a; alive & b; cycle{!alive}"

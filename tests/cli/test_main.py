"""`symbinv` itself: quick help, one sentence for each failure, and quiet ends."""

import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hf_symbinv
from hf_symbinv.cli import COMMANDS, main

MODULE = [sys.executable, "-m", "symbinv"]


def python(program, *arguments):
    """A fresh interpreter's exit code and output."""
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)


class TestHelp:
    def test_it_names_every_command_and_comes_in_half_a_second(self):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = subprocess.run([*MODULE, "--help"], capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert all(f"  {name} " in result.stdout for name in COMMANDS)
        assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5  # of processor time

    def test_help_of_a_command_imports_neither_torch_nor_datasets(self):
        """One after the other in one process; the options of `data` are those of its builders."""
        program = """if True:
            import sys, symbinv
            _, *commands = sys.argv
            for command in commands:
                sys.argv = ["symbinv", command, "--help"]
                try:
                    symbinv.main()
                except SystemExit as end:
                    assert not end.code, command
                found = {"torch", "transformers", "datasets", "evaluate"} & set(sys.modules)
                assert not found, (command, found)"""
        result = python(program, *sorted(set(COMMANDS) - {"data"}))
        assert (result.returncode, result.stderr) == (0, "")

    @pytest.mark.parametrize("command", COMMANDS)
    def test_help_of_a_command_says_what_exit_codes_mean_and_ends_with_an_example(self, command, symbinv):
        result = symbinv(command, "--help")
        assert result.code == 0 and "exit codes: 0 " in result.out
        assert f"\n$ symbinv {command} " in result.out.partition("\nexample:\n$ symbinv ")[2].join(["\n$ symbinv ", ""])

    def test_the_version_is_the_package_s(self, symbinv):
        assert symbinv("--version").out == f"hf_symbinv {hf_symbinv.__version__}\n"


class TestUsage:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [([], "solve"), (["xyz"], "'xyz' (choose from"), (["trian", "x"], "'trian': no command; did you mean train?")],
    )
    def test_what_is_no_command_is_refused_with_the_known_ones(self, symbinv, arguments, said):
        result = symbinv(*arguments)
        assert result.code == 2 and said in result.err and not result.out

    def test_missing_spot_is_named_with_what_installs_it(self, tmp_path):
        (tmp_path / "spot.py").write_text("raise ImportError('no spot here')\n")
        program = """if True:
            import sys, symbinv
            sys.path.insert(0, sys.argv.pop())  # workers look where this process looks
            sys.exit(symbinv.main())"""
        result = python(program, "verify", "a", "cycle{a}", str(tmp_path))
        assert result.returncode == 2 and result.stderr.count("\n") == 1
        assert result.stderr.startswith("symbinv verify: drawing formulas, checking and solving LTL needs")
        assert "pip install '.[logic]'" in result.stderr

    @pytest.mark.slow
    def test_solving_needs_the_logic_extra_and_no_other(self, checkpoint):
        """It is all that `make demo` installs."""
        program = """if True:
            import sys, symbinv
            for package in ("accelerate", "datasets", "evaluate", "matplotlib", "pyarrow", "rapidfuzz", "tensorboard"):
                sys.modules[package] = None
            sys.exit(symbinv.main())"""
        result = python(program, "solve", "F a", "--model", str(checkpoint))
        assert (result.returncode, result.stderr) == (0, "")
        assert result.stdout == "F a\n  witness  a; cycle{1}\n  verdict  correct\n"

    def test_a_bug_is_no_failure_of_the_user_and_keeps_its_traceback(self, monkeypatch):
        monkeypatch.setattr("hf_symbinv.cli.verify.main", lambda arguments: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            main(["verify"])


class TestEnds:
    def test_a_reader_that_goes_away_ends_the_command_quietly(self, tmp_path):
        pairs = tmp_path / "pairs"
        pairs.write_text("a\tcycle{a}\n" * 20_000)
        command = subprocess.Popen(
            [*MODULE, "verify", "--file", str(pairs)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert command.stdout.readline() == "a\n"
        command.stdout.close()
        assert command.stderr.read() == ""
        assert command.wait(timeout=60) == 141
        command.stderr.close()

    def test_a_full_disk_is_said_once(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run(
                [*MODULE, "verify", "a", "cycle{a}"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert result.returncode == 2
        assert (
            result.stderr
            == "symbinv verify: writing failed: the disk is full; free some space, and repeat the command\n"
        )

    def test_ctrl_c_ends_it_in_one_sentence_and_without_orphans(self, hanging_formula):
        command = subprocess.Popen(
            [*MODULE, "verify", "--timeout", "600", hanging_formula, "cycle{1}"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            # Background jobs of a shell start with the signal ignored, and so would their children.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
        workers = children_of(command.pid)
        command.send_signal(signal.SIGINT)
        assert command.communicate(timeout=60) == ("", "symbinv verify: interrupted\n")
        assert command.returncode == 130
        eventually(lambda: not any(is_running(worker) for worker in workers))


def children_of(pid):
    """The children of a process, as soon as it has some."""
    return eventually(lambda: Path(f"/proc/{pid}/task/{pid}/children").read_text().split())


def is_running(pid):
    """Whether a process exists and is more than an entry that nobody has asked for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def eventually(condition):
    """What `condition` returns as soon as it is true."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if result := condition():
            return result
        time.sleep(0.01)
    raise TimeoutError("nothing happened for a minute")


def test_a_failure_has_a_line_of_its_own_where_a_progress_bar_is_drawn(capsys):
    from tqdm import tqdm

    with tqdm(total=2, file=sys.stderr, disable=False):
        assert main(["card", "no-such-folder"]) == 2
    assert any(line.startswith("symbinv card: no-such-folder: ") for line in capsys.readouterr().err.splitlines())

"""Whatever is wrong with a repository, the network or the token is said in one sentence, and leaves nothing behind."""

import shutil

import pytest

from hf_symbinv import LTL, SymbolInvariantConfig, SymbolInvariantForConditionalGeneration

from .fixtures import OTHER, STRANGER, run, tokens_in

pytestmark = pytest.mark.slow

# Runs the commands one after the other, without a wait between two attempts; for each: exit code, stdout, stderr.
COMMANDS = """
import contextlib, io, types
from hf_symbinv.cli import main
from huggingface_hub.utils import _http

_http.time = types.SimpleNamespace(sleep=lambda seconds: None)

result = []
for command in given:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(command)
    result.append([code, out.getvalue(), err.getvalue()])
"""


def solve(name):
    return ["solve", "a", "--model", name]


def refusals(server, commands, home, **options):
    """What is said on each command, after it was made sure that it is one sentence and that nothing else was done."""
    found = run(server, COMMANDS, commands, home, **options)
    messages = []
    for command, (code, out, err) in zip(commands, found, strict=True):
        start = f"symbinv {command[0]}: "
        assert (code, out) == (2, "") and err.startswith(start) and err.count("\n") == 1, (command, code, out, err)
        messages.append(err.removeprefix(start).rstrip("\n"))
    assert {path.name for path in home.iterdir()} <= {"cache", "output.txt", "result.json"}
    assert not [path for path in home.rglob("*") if path.name.endswith((".incomplete", ".lock.tmp"))]
    assert tokens_in(home) == []
    return messages


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model as save_pretrained writes it: name → content."""
    folder = tmp_path_factory.mktemp("model")
    config = SymbolInvariantConfig.from_preset("ltl", d_model=16, encoder_layers=1, decoder_layers=1, d_ff=24)
    SymbolInvariantForConditionalGeneration(config).save_pretrained(folder)
    LTL.tokenizer().save_pretrained(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_repositories_that_cannot_be_used(server, files, tmp_path):
    half = files["model.safetensors"][: len(files["model.safetensors"]) // 2]
    server.put("model", "alice/private", files, private=True)
    server.put("model", "alice/half", {**files, "model.safetensors": half})
    server.put("model", "alice/words", {"README.md": b"# Words"})
    names = ["alice/gone", "alice/private", "alice/half", "alice/words"]
    data = ["evaluate", "ltl-small", "--data", "alice/gone"]
    gone, private, cut, words, no_data = refusals(server, [*map(solve, names), data], tmp_path, token=OTHER)
    absent = "no such folder, and the Hub has no such repository, or it is private; check the name, or set HF_TOKEN or "
    assert gone == f"alice/gone: {absent}run `hf auth login`"
    assert private == f"alice/private: {absent}run `hf auth login`"
    assert cut.startswith("alice/half: no such folder, and from the Hub its weights cannot be read (")
    assert cut.endswith("); save or download it again")
    assert words == "alice/words: has no config.json; name a repository that holds a model"
    assert no_data == (
        "alice/gone, split test: cannot be loaded (Dataset 'alice/gone' doesn't exist on the Hub or cannot be "
        "accessed); make a data set with `symbinv data`"
    )


def test_a_wrong_token_and_no_network(server, files, tmp_path, monkeypatch):
    server.put("model", "alice/whole", files)
    (message,) = refusals(server, [solve("alice/whole")], tmp_path / "token", token=STRANGER)
    assert message == (
        "alice/whole: no such folder, and the Hub does not accept the token; set HF_TOKEN or run `hf auth login`"
    )
    monkeypatch.setattr(server, "endpoint", "http://127.0.0.1:1")
    asked, shown = refusals(
        server, [solve("alice/whole"), ["evaluate", "alice/whole", "--data", "x"]], tmp_path / "network"
    )
    assert asked == shown
    assert asked.startswith("alice/whole: no such folder, and the Hub at http://127.0.0.1:1 cannot be reached (")
    assert asked.endswith("); check the network, and repeat the command")


def test_a_download_that_breaks_off_is_taken_up_or_done_again(server, files, tmp_path):
    server.put("model", "alice/whole", files)
    server.fail("GET", "/cdn/", cut=10_000)
    first = run(server, COMMANDS, [solve("alice/whole")], tmp_path)
    assert first[0][0] in (0, 1) and first[0][1].startswith("a\n  witness  ")
    shutil.rmtree(tmp_path / "cache")
    server.fail("GET", "/config.json", 503, times=99)
    (message,) = refusals(server, [solve("alice/whole")], tmp_path)
    assert message == "alice/whole: no such folder, and the Hub fails with status 503 (No); repeat the command later"
    server.failures.clear()
    assert run(server, COMMANDS, [solve("alice/whole")], tmp_path)[0][:2] == first[0][:2]

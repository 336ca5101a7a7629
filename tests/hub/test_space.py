"""The demo is a Space: pushed, taken from the Hub by somebody else, and run as the Hub runs it."""

from pathlib import Path

import pytest

from .fixtures import run, tokens_in

SPACE = Path(__file__).parents[2] / "examples" / "space"
PUSH = """
from hf_symbinv.cli import main
result = main(["push", given, "alice/names-dont-matter"])
"""
# What the Hub does: it takes the files of the repository and runs the app that the card names; a visitor then opens it.
VISIT = """
import os, pathlib, signal, socket, subprocess, time, urllib.request
from huggingface_hub import SpaceCard, snapshot_download

folder = pathlib.Path(snapshot_download("alice/names-dont-matter", repo_type="space", local_dir="space")).resolve()
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
app = SpaceCard.load(folder / "README.md").data.app_file
environment = {**os.environ, "GRADIO_SERVER_PORT": str(port)}
server = subprocess.Popen([sys.executable, app], cwd=folder, env=environment, start_new_session=True)
page = ""
try:
    for _ in range(600):
        try:
            page = urllib.request.urlopen(f"http://127.0.0.1:{port}/").read().decode()
            break
        except OSError:
            assert server.poll() is None, "the app has ended"
            time.sleep(0.2)
finally:
    os.killpg(server.pid, signal.SIGTERM)
    server.wait(30)
result = {
    "files": {str(path.relative_to(folder)): path.read_bytes().hex() for path in folder.rglob("*") if path.is_file()},
    "page": page,
}
"""


@pytest.mark.slow
def test_the_demo_is_pushed_and_runs_where_it_is_pulled(server, tmp_path):
    home, other = tmp_path / "alice", tmp_path / "user"
    assert run(server, PUSH, str(SPACE), home) == 0
    assert server["space", "alice/names-dont-matter"].sdk == "gradio"
    found = run(server, VISIT, None, other)
    kept = {path for path in SPACE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    ours = {str(path.relative_to(SPACE)): path.read_bytes().hex() for path in kept}
    theirs = {path: content for path, content in found["files"].items() if not path.startswith((".", "__pycache__"))}
    assert theirs == ours
    assert "Names don" in found["page"] and "Witness of (request U grant)" in found["page"]
    assert tokens_in(home) == tokens_in(other) == []

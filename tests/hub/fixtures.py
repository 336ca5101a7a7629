"""A Hub for the clients in this process, and for programs that run as a user would: alone, with a home of their own."""

import json
import os
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .. import forks
from .hub_server import HubServer

TOKEN = "hf_" + "SecretOfAlice" * 3
STRANGER = "hf_" + "SecretOfNobody" * 3
OTHER = "hf_" + "SecretOfBob" * 4


@pytest.fixture(scope="module")
def server() -> Iterator[HubServer]:
    """One Hub for all tests of a file, with the users alice and bob."""
    with HubServer({TOKEN: "alice", OTHER: "bob"}) as hub:
        yield hub


@pytest.fixture
def hub(server: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HubServer:
    """The Hub, empty, and this process is alice, who does not wait between two attempts."""
    from huggingface_hub import constants
    from huggingface_hub.utils import _http

    server.repositories.clear()
    server.objects.clear()
    server.requests.clear()
    server.failures.clear()
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(constants, "ENDPOINT", server.endpoint)
    template = server.endpoint + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub-cache"))
    monkeypatch.setattr(_http, "time", types.SimpleNamespace(sleep=lambda seconds: None))
    return server


def run(
    hub: HubServer, program: str, given: Any, home: Path, *, token: str | None = TOKEN, flags: tuple[str, ...] = ()
) -> Any:
    """What `program` finds: it has `given`, and leaves `result`, which goes through JSON.

    It runs in a process of its own, against the Hub, and in the folder `home`, which keeps all that it downloads. With
    flags of Python it is a new interpreter.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "PYTHON"))}
    environment = {**kept, "OMP_NUM_THREADS": "1", **hub.environment(token, home / "cache")}
    found = home / "result.json"
    before = "import json, sys\ngiven = json.loads(sys.argv[1])"
    text = f"{before}\n{program}\nwith open(sys.argv[2], 'w') as file:\n    json.dump(result, file)"
    home.mkdir(parents=True, exist_ok=True)
    words = ["-c", text, json.dumps(given), str(found)]
    if flags:
        done = subprocess.run(
            [sys.executable, *flags, *words], env=environment, cwd=home, capture_output=True, text=True, timeout=280,
            check=False,
        )  # fmt: skip
    else:
        done = forks.run(words, imported=forks.TORCH, folder=home, environment=environment)
    (home / "output.txt").write_text(done.stdout + done.stderr)
    assert done.returncode == 0, done.stderr
    return json.loads(found.read_text())


def tokens_in(folder: Path) -> list[str]:
    """The files below a folder that hold a token."""
    secrets = [token.encode() for token in (TOKEN, STRANGER, OTHER)]
    return [
        str(path)
        for path in folder.rglob("*")
        if path.is_file() and any(secret in path.read_bytes() for secret in secrets)
    ]

"""Puts transformers' own tests, which no wheel holds, into build/peers: `python tests/peers/fetch.py`.

The files of `SDIST` come from PyPI. Those of `GITHUB` are in no release: they come from GitHub, or with
`TRANSFORMERS_CHECKOUT=folder` from a clone of huggingface/transformers. All are pinned by their SHA-256. Where GitHub
cannot be reached, an empty base class stands in for each that is missing, so that the other tests run.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "build" / "peers"
# Another name than `tests`, which is that of this project's own folder.
PACKAGE = "transformers_tests"

VERSION = "5.23.0"
SDIST = "19d647a4d5d903a7c644ca5cde2d86efc3dde7d8c687ae7988806ff2205efa71"
# The last commit of main whose files were at hand: 2026-08-19, after 5.15. Its mixins run with those of 5.23.
COMMIT = "decba1d2ea4ed3cbf0495d1828abad4b2dba1846"
GITHUB = {
    "tests/causal_lm_tester.py": "3354e78ec40ee2982eddeac490233ac469f7dd16ebfa416ecbdc9e139c6c7d55",
    "tests/exporters/test_export.py": "d205f597d055c81dd892a775a727d62a51a6bbd33ff2af36fd2ff02db02e02e2",
    "tests/fixtures/sample_text.txt": "5205aafa90afb0841b24b05cb461345e3692a85d8ea8027d8935af103fd5c613",
    "tests/generation/test_utils.py": "9c3b4bce16f6ae1dbf97901e0b9b1eda4db9edf56e5f7fb7308ec2b32a42f966",
    "tests/models/bart/test_modeling_bart.py": "caa77ed00a1a14ac98763b3644fceb4c5a9c06d507d115dca4d1467df0b6eef9",
    "tests/models/gpt2/test_modeling_gpt2.py": "abc5d222e286a7ec71d045dbc6398fbad28cee2e7138657f18d0975913477297",
    "tests/utils/test_configuration_utils.py": "55bfa68f1b7819c84201f5d2e0fff768da9b26c3771a25f6e5098c9028d6d484",
    "tests/utils/tiny_model_summary.json": "834084f1400aa777e80951ec9a4d819bdb67893ca839365017dd4a95b9e6d816",
    "utils/test_module/custom_configuration.py": "993703cf0d9c8330510382303d7fec33512d00f410bea266d6a4fe18f389a351",
}
# What stands in for missing mixins: nothing is tested by it, and `unreachable` says so.
STAND_INS = {
    "exporters/test_export.py": "class ExportTesterMixin:\n    pass\n",
    "generation/test_utils.py": "class GenerationTesterMixin:\n    pass\n",
    "utils/test_configuration_utils.py": "config_common_kwargs = {}\n",
    "fixtures/sample_text.txt": "",
}
# The release's mixins of sharded models import a helper that is in neither source; models here are on one device.
SHARDED = {
    "test_fsdp_mixin.py": "class FSDPTesterMixin:\n    pass\n",
    "test_tensor_parallel_mixin.py": "class TensorParallelTesterMixin:\n    pass\n",
}


def _sdist(folder: Path) -> Path:
    """The tests' folder of the release, unpacked inside `folder`.

    Raises:
        OSError: if pip cannot download it.
    """
    (folder / "requirement.txt").write_text(f"transformers=={VERSION} --hash=sha256:{SDIST}\n")
    command = "-m pip download --quiet --retries 1 --no-deps --no-build-isolation --no-binary :all: --require-hashes -r"
    result = subprocess.run(
        [sys.executable, *command.split(), "requirement.txt"], cwd=folder, capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise OSError(
            f"pip cannot download the source of transformers {VERSION}: {result.stderr.strip().splitlines()[-1:]}"
        )
    with tarfile.open(folder / f"transformers-{VERSION}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / f"transformers-{VERSION}" / "tests"


def _file_of_commit(path: str) -> bytes:
    """A file of `COMMIT`, checked.

    Raises:
        OSError: if neither the clone nor GitHub gives it.
        ValueError: if it is another one than was pinned.
    """
    if clone := os.environ.get("TRANSFORMERS_CHECKOUT"):
        result = subprocess.run(["git", "-C", clone, "show", f"{COMMIT}:{path}"], capture_output=True, check=False)
        if result.returncode:
            raise OSError(f"TRANSFORMERS_CHECKOUT={clone}: git shows no {path} of {COMMIT}; fetch that commit there")
        content = result.stdout
    else:
        address = f"https://raw.githubusercontent.com/huggingface/transformers/{COMMIT}/{path}"
        with urllib.request.urlopen(address, timeout=10) as answer:
            content = answer.read()
    if hashlib.sha256(content).hexdigest() != GITHUB[path]:
        raise ValueError(f"{path} of {COMMIT} has another SHA-256 than {GITHUB[path]}: not the pinned file")
    return content


def _github(folder: Path) -> str:
    """Writes the files of the commit below `folder`; why they are missing, or "" if they are not."""
    try:
        contents = {path: _file_of_commit(path) for path in GITHUB}
    except (OSError, urllib.error.URLError) as error:
        return str(error) if os.environ.get("TRANSFORMERS_CHECKOUT") else f"GitHub is not reachable ({error})"
    for path, content in contents.items():
        in_package = path.startswith("tests/") and not path.endswith(".json")  # which is read, not imported
        target = folder / (path.replace("tests", PACKAGE, 1) if in_package else path)
        target.parent.mkdir(parents=True, exist_ok=True)
        # The only import of the package by its name, all others are relative.
        target.write_bytes(content.replace(b"from tests.", f"from {PACKAGE}.".encode()))
    return ""


def fetch() -> str:
    """Makes `FOLDER` anew; what is missing there, or "".

    Raises:
        OSError: if PyPI cannot be reached.
    """
    FOLDER.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER.parent) as name:
        work = Path(name)
        made = work / "made"
        shutil.copytree(_sdist(work), made / PACKAGE)
        (made / PACKAGE / "__init__.py").touch()
        lacking = _github(made)
        for path, content in (SHARDED | (STAND_INS if lacking else {})).items():
            target = made / PACKAGE / path
            target.parent.mkdir(exist_ok=True)
            target.write_text(content)
        (made / "missing.txt").write_text(lacking)
        shutil.rmtree(FOLDER, ignore_errors=True)
        made.rename(FOLDER)
    return lacking


def missing() -> str:
    """Why the files of `GITHUB` are not in `FOLDER`; "" if they are."""
    return (FOLDER / "missing.txt").read_text()


def fetched() -> str:
    """As `missing`; `FOLDER` is made if it is not there.

    Raises:
        OSError: if PyPI cannot be reached.
    """
    import fcntl

    FOLDER.parent.mkdir(exist_ok=True)
    with open(FOLDER.parent / "peers.lock", "w") as lock:  # the processes of one run of pytest wait for the first
        fcntl.flock(lock, fcntl.LOCK_EX)
        return missing() if (FOLDER / "missing.txt").is_file() else fetch()


if __name__ == "__main__":
    lacking = fetch()
    print(f"{FOLDER}: transformers {VERSION}'s tests" + (f"; {len(GITHUB)} files are missing: {lacking}" if lacking else
          f", and {len(GITHUB)} files of {COMMIT[:12]}"))  # fmt: skip

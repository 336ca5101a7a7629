"""Files and folders at an address of fsspec, such as `s3://bucket/data/ltl`: they are read, and never written.

The library of each protocol finds its credentials and settings as it documents.
"""

from __future__ import annotations

import argparse
import atexit
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path

from hf_symbinv.errors import UserError, first_line, hub_failure, is_full_disk

ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(://|::)")
PASSWORD = re.compile(r"://[^/@]*:[^/@]*@")


class RemoteError(UserError, argparse.ArgumentTypeError):
    """An address that cannot be read, or stands where a path of this machine must."""


def is_remote(name: str | Path) -> bool:
    """Whether a name is an address, such as `s3://bucket/data`, and no path of this machine."""
    return isinstance(name, str) and ADDRESS.match(name) is not None


def path_here(text: str | Path) -> Path:
    """A path of this machine, also as the type of an option; RemoteError for an address, which would become a folder
    called `s3:`."""
    if is_remote(text):
        raise RemoteError(
            f"{text}: must be a path of this machine; copy it from there, or write to a folder here and then push that "
            "to the Hub or copy it"
        )
    return Path(text)


def local_copy(name: str | Path) -> Path:
    """Where a file or folder can be read: the path itself, or a copy of what lies at an address, checkpoints of a run
    left out. A process makes one copy of each address, and removes it in the end.

    Raises:
        RemoteError: If there is nothing at the address, or it cannot be read.
    """
    return _copy(str(name).rstrip("/")) if is_remote(name) else Path(name)


@cache
def _copy(url: str) -> Path:
    import fsspec.core
    from huggingface_hub import cached_assets_path

    if PASSWORD.search(url):
        shown = PASSWORD.sub("://<password>@", url)
        raise RemoteError(f"{shown}: has a password in it, and records repeat it; put it where fsspec finds it")
    home = Path(tempfile.mkdtemp(dir=cached_assets_path("hf_symbinv", "read"))).resolve()
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    try:
        files, root = fsspec.core.url_to_fs(url)
        target = (home / (root.rstrip("/").rpartition("/")[2] or "copy")).resolve()
        found = [root] if files.isfile(root) else [one for one in files.find(root) if "/checkpoint-" not in one]
        copies = [(target / one[len(root) :].lstrip("/")).resolve() for one in found]
        outside = [one for one, copy in zip(found, copies, strict=True) if not copy.is_relative_to(home / target.name)]
        if outside or not found:
            wrong = f"holds {outside[0]!r}, which would lie elsewhere" if outside else "no such file or folder"
            raise RemoteError(f"{url}: {wrong}; correct the address")
        files.get(found, list(map(str, copies)))
    except Exception as error:  # of many types: each protocol has its own
        if isinstance(error, RemoteError) or is_full_disk(error):
            raise
        said = hub_failure(error) or f"cannot be read ({first_line(error)})"
        raise RemoteError(f"{url}: {said}; check the address, its library, the credentials and the network") from error
    return target

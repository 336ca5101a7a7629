"""Folders at an address of fsspec, such as `s3://bucket/data/ltl`: the one place that knows of them.

    folder = local_copy("s3://bucket/runs/own")                              # to read
    with working_copy("s3://bucket/data/ltl", ("data",)) as folder:          # to write
        finished(folder / "data" / "train-00000-of-00001.parquet")           # goes up now, and the rest at the end

All other code works with the paths of a copy, which lies in the cache of the Hub's client (HF_ASSETS_CACHE). What lies
at the address counts: a copy is made like it before it is used. A file whose checksum is known, from a card or a
`sha256.json` beside it, is only brought if the copy has another one.

fsspec's own caching file systems keep single files for one process: they know no checksum of a card, no lock, and
nothing of a file that was removed at the address.

Each protocol has a library, which finds its credentials and settings as it documents, s3fs in AWS_ACCESS_KEY_ID and
AWS_ENDPOINT_URL for instance. The files of fsspec in `~/.config/fsspec` hold for all of them.
"""

from __future__ import annotations

import argparse
import filecmp
import fnmatch
import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from hf_symbinv.errors import UserError, first_line, is_full_disk
from hf_symbinv.files import CARD, SUMS, known_sums, sha256

ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)(://|::)")
PASSWORD = re.compile(r"://[^/@]*:[^/@]*@")
# What says that the files beside it are complete goes up after them.
LAST = (CARD, "run.json", "trainer_state.json")


class RemoteError(UserError):
    """An address that cannot be read or written, or holds a damaged file."""


def is_remote(name: str | Path) -> bool:
    """Whether a name is an address, such as `s3://bucket/data`, and no path of this machine."""
    return isinstance(name, str) and ADDRESS.match(name) is not None


def path_here(text: str) -> Path:
    """The type of an option of a command that is a path of this machine.

    Raises:
        ArgumentTypeError: For an address, which would become a folder called `s3:`.
    """
    if is_remote(text):
        raise argparse.ArgumentTypeError(f"{text}: must be a path of this machine; copy it from there or to there")
    return Path(text)


def local_copy(name: str | Path, folders: Sequence[str] = ()) -> Path:
    """Where a file or folder can be read: the path itself, or a copy of what lies at an address.

    Args:
        name: A path or an address.
        folders: Patterns of the folders in it that are needed; none but its own files, if there is no pattern.

    Raises:
        RemoteError: If there is nothing at the address, it cannot be read, or a file there is damaged.
    """
    if not is_remote(name):
        return Path(name)
    remote = _Remote(str(name), "read")
    with remote.locked():
        there = remote.names()
        if there == [""]:
            return remote.bring_file()
        wanted = _of_folders(there, folders)
        if not wanted and there:
            first = sorted(there)[0].partition("/")[0]
            raise RemoteError(f"{name}: holds nothing but folders; name one of them, such as {remote.url}/{first}")
        if not wanted:
            raise RemoteError(f"{name}: no such file or folder{remote.reason}; correct the address")
        remote.bring(wanted)
        remote.require_whole()
    return remote.folder


@contextmanager
def working_copy(name: str | Path, folders: Sequence[str] = ()) -> Iterator[Path]:
    """A folder to work in: the path itself, or a copy of what lies at an address, which then becomes like the copy.

    What `finished` names goes up at once, the rest when the work is done, also if it ends with a `UserError`.

    Args:
        name: A path or an address.
        folders: Patterns of the folders in it that belong to the work; what else lies there stays as it is.

    Raises:
        RemoteError: If the address cannot be read or written, or another process of this machine works there.
    """
    if not is_remote(name):
        yield Path(name)
        return
    remote = _Remote(str(name), "written")
    with remote.locked(wait=False):
        remote.require_writable()
        remote.bring(_of_folders(remote.names(), folders))
        _WORKING.append(remote)
        try:
            yield remote.folder
        except UserError as error:
            with suppress(RemoteError):
                remote.push()
            error.args = (str(error).replace(str(remote.folder), remote.url),)
            raise
        finally:
            _WORKING.remove(remote)
        remote.push()


def working_path(name: str | Path) -> Path:
    """The folder of `working_copy`, for a process beside the one that holds it."""
    return _Remote(str(name), "written").folder if is_remote(name) else Path(name)


def finished(path: Path) -> None:
    """Sends up what is new in a file or folder, if it lies in a working copy of this process; does nothing elsewhere.

    If that fails, one line on stderr says so, and the next call tries again.
    """
    for remote in _WORKING:
        if path == remote.folder or remote.folder in path.parents:
            try:
                remote.push(path)
            except RemoteError as error:
                print(f"warning: {error}. The work goes on, and its files go up later.", file=sys.stderr, flush=True)


def shown(path: Path) -> str:
    """A path as its user knows it: with the address in the place of a working copy of this process."""
    for remote in _WORKING:
        if path == remote.folder or remote.folder in path.parents:
            return str(path).replace(str(remote.folder), remote.url, 1)
    return str(path)


class _Remote:
    """A folder at an address, and its copy.

    Attributes:
        url: The address, without a slash at its end.
        folder: The copy, whose last name is that of the address.
        up: Of each file that is known to be up: size and time of the copy then.
        reason: Why nothing was found, in brackets.
    """

    def __init__(self, url: str, kind: str) -> None:
        from huggingface_hub import cached_assets_path

        if PASSWORD.search(url):
            raise RemoteError(
                f"{PASSWORD.sub('://<password>@', url)}: has a password in it, and addresses are written into records; "
                "put it where fsspec finds it, such as ~/.config/fsspec/conf.json"
            )
        self.url = url.rstrip("/")
        name = self.url.rpartition("/")[2]
        if name in (".", "..") or name.endswith(":"):
            raise RemoteError(f"{url}: names no folder; name one, such as {self.url}//bucket/folder")
        self.home = cached_assets_path("hf_symbinv", kind, hashlib.sha256(self.url.encode()).hexdigest()[:16])
        self.folder = self.home / name
        self.up: dict[str, tuple[int, int]] = {}
        self.reason = ""
        with _told(self.url):
            import fsspec.core

            self.fs, self.root = fsspec.core.url_to_fs(self.url)

    @contextmanager
    def locked(self, wait: bool = True) -> Iterator[None]:
        """Keeps other processes of this machine from the copy."""
        from filelock import FileLock, Timeout

        lock = FileLock(self.home / ".lock")
        try:
            lock.acquire(blocking=wait)
        except Timeout:
            raise RemoteError(
                f"{self.url}: another process is writing here; wait until it is done, or choose another folder"
            ) from None
        try:
            yield
        finally:
            lock.release()

    def names(self) -> list[str]:
        """The files there, by their paths below the address; one that is empty if there is a file itself."""
        found: list[str] = []
        with _told(self.url):
            self.fs.invalidate_cache()
            try:
                found = self.fs.find(self.root)
            except FileNotFoundError as error:
                self.reason = f" ({first_line(error)})"
        root = self.root.rstrip("/")
        names = [path[len(root) + 1 :] for path in found if not path.endswith("/")]
        for name in names:
            if name and ({"", ".", ".."} & set(name.split("/")) or "\0" in name):
                raise RemoteError(
                    f"{self.url}: holds {name!r}, which no folder here can have as a file; remove it there"
                )
        return names

    def bring_file(self) -> Path:
        """The copy of the file at the address."""
        with _told(self.url), tempfile.TemporaryDirectory(dir=self.home, prefix=".") as partial:
            target = Path(partial) / self.folder.name
            self.fs.get([self.root], [str(target)])
            _replace(target, self.folder)
        return self.folder

    def bring(self, names: Sequence[str]) -> None:
        """Makes the copy hold these files as they are there, and no others."""
        vouchers = [name for name in names if Path(name).name in (CARD, SUMS)]
        self._get(vouchers)
        sums = self._sums(vouchers)
        self._get([name for name in names if name not in vouchers and not self._is(name, sums.get(name))])
        for name, path in self._files().items():
            if name not in names:
                path.unlink()
        self.up = {name: _stamp(path) for name, path in self._files().items()}

    def require_whole(self) -> None:
        """Makes sure that the files of the copy have the checksums that are known of them."""
        sums = self._sums([name for name in self.up if Path(name).name in (CARD, SUMS)])
        for name, checksum in sums.items():
            if name in self.up and not self._is(name, checksum):
                raise RemoteError(
                    f"{self.url}/{name}: damaged (its checksum is not the one that is listed beside it); put it back "
                    "as it was, or make the folder again"
                )

    def require_writable(self) -> None:
        """Puts a file there and removes it, so that nobody works for hours in vain."""
        with _told(self.url, "written"), tempfile.TemporaryDirectory(dir=self.home, prefix=".") as partial:
            probe = Path(partial) / ".symbinv"
            probe.touch()
            self.fs.put([str(probe)], [self._there(probe.name)])
            self.fs.rm([self._there(probe.name)])

    def push(self, path: Path | None = None) -> None:
        """Sends up what is new in the copy, or in a part of it, and removes there what is gone here.

        Raises:
            RemoteError: If that fails.
        """
        here = self._files(path)
        new = [name for name, file in here.items() if self.up.get(name) != _stamp(file)]
        last = [name for name in new if Path(name).name in LAST]
        for group in ([name for name in new if name not in last], last):
            if group:
                stamps = {name: _stamp(here[name]) for name in group}
                with _told(self.url, "written"):
                    self.fs.put([str(here[name]) for name in group], [self._there(name) for name in group])
                self.up |= stamps
        whole = path in (None, self.folder)
        gone = [name for name in self.up if name not in here] if whole else []
        if gone:
            with _told(self.url, "written"), suppress(FileNotFoundError):
                self.fs.rm([self._there(name) for name in gone])
            self.up = {name: stamp for name, stamp in self.up.items() if name not in gone}

    def _there(self, name: str) -> str:
        return f"{self.root.rstrip('/')}/{name}"

    def _get(self, names: Sequence[str]) -> None:
        if not names:
            return
        with _told(self.url), tempfile.TemporaryDirectory(dir=self.home, prefix=".") as partial:
            targets = [Path(partial) / str(number) for number in range(len(names))]
            self.fs.get([self._there(name) for name in names], list(map(str, targets)))
            for name, target in zip(names, targets, strict=True):
                _replace(target, self.folder / name)

    def _files(self, path: Path | None = None) -> dict[str, Path]:
        """The files of the copy, or of a part of it; locks and what is being written are hidden."""
        top = path or self.folder
        files = [top] if top.is_file() else top.rglob("*")
        return {
            file.relative_to(self.folder).as_posix(): file
            for file in sorted(files)
            if file.is_file() and not file.name.startswith(".")
        }

    def _sums(self, vouchers: Sequence[str]) -> Mapping[str, str]:
        """The checksums that files of the copy say."""
        found: dict[str, str] = {}
        for folder in {Path(name).parent for name in vouchers}:
            sums = known_sums(self.folder / folder)
            found |= {(folder / name).as_posix(): checksum for name, checksum in sums.items()}
        return found

    def _is(self, name: str, checksum: str | None) -> bool:
        path = self.folder / name
        return checksum is not None and path.is_file() and sha256(path) == checksum


# The working copies of this process.
_WORKING: list[_Remote] = []


def _of_folders(names: Sequence[str], folders: Sequence[str]) -> list[str]:
    """The names that lie in no folder, or in one of these."""
    return [
        name
        for name in names
        if name and ("/" not in name or any(fnmatch.fnmatchcase(name.partition("/")[0], one) for one in folders))
    ]


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def _replace(new: Path, path: Path) -> None:
    """Moves a file to its place, unless it is there already: the caches of libraries go by its time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not (path.is_file() and filecmp.cmp(new, path, shallow=False)):
        os.replace(new, path)


@contextmanager
def _told(url: str, done: str = "read") -> Iterator[None]:
    """Raises what goes wrong at an address as a sentence; each protocol has errors of its own."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        if is_full_disk(error):
            raise
        raise RemoteError(f"{url}: {_trouble(url, error, done)}") from error


def _trouble(url: str, error: Exception, done: str) -> str:
    from fsspec.registry import known_implementations

    from hf_symbinv.errors import hub_failure

    said, matched = first_line(error), ADDRESS.match(url)
    protocol = matched[1].lower() if matched else ""
    if isinstance(error, ImportError):
        library = str(known_implementations.get(protocol, {}).get("class", "")).partition(".")[0]
        remedy = f"run pip install {library}" if library not in ("", "fsspec") else said
        return f"the library for {protocol}:// is not installed; {remedy}"
    if isinstance(error, ValueError) and "Protocol not known" in said:
        return f"unknown protocol {protocol}; use one that fsspec knows, such as s3, gs, abfs or hf"
    if failure := hub_failure(error):
        return failure
    kinds = " ".join(kind.__name__ for kind in type(error).__mro__)
    if "Credential" in kinds:
        example = " and ".join(KEYS.get(protocol, ())) or f"those that the library for {protocol}:// looks for"
        return f"no credentials ({said}); set {example}"
    if isinstance(error, FileNotFoundError):
        return f"no such bucket or folder ({said}); make it, or correct the address"
    if isinstance(error, PermissionError):
        return f"access is denied ({said}); check the credentials and what they allow"
    return f"cannot be {done} ({said}); check the address, the endpoint and the network"


# What a user sets for the two protocols that are asked for most.
KEYS = {
    "s3": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
    "gs": ("GOOGLE_APPLICATION_CREDENTIALS",),
}

__all__ = ["RemoteError", "finished", "is_remote", "local_copy", "path_here", "working_copy", "working_path"]

"""What of a folder may go to the Hub: files that belong to what it holds, lie in it, and can be looked into.

No pickle passes, whatever its name: loading one runs whatever its author put into it. Nor does a file with an access
token, nor a link that leads out of the folder.
"""

from __future__ import annotations

import contextlib
import fnmatch
import io
import lzma
import os
import pickle
import pickletools
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hf_symbinv.files import reading_parquet
from hf_symbinv.hub.errors import PushError

_ALWAYS = ("README.md", "LICENSE", "LICENSE.*")
_TOKENIZER = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json",
    "vocab.txt", "merges.txt", "chat_template.jinja",
)  # fmt: skip
# What belongs to a repository of each kind, besides code that a configuration names. Patterns of a Space hold in its
# folders too, because an app may have any.
BELONGS: dict[str, tuple[str, ...]] = {
    "model": (
        *_ALWAYS, *_TOKENIZER, "*.safetensors", "*.safetensors.index.json", "config.json", "generation_config.json",
        "adapter_config.json", "run.json", "recipe.json", "conversion.json", "trainer_state.json", "results.json",
        "*_results.json",
    ),
    "metric": _ALWAYS,
    "dataset": (*_ALWAYS, *_TOKENIZER, "generation.json", "data/*.parquet"),
    "space": (
        *_ALWAYS, "*.md", "*.py", "*.json", "*.safetensors", "*.parquet", "*.html", "*.css", "*.js", "*.svg", "*.png",
        "*.jpg", "*.jpeg", "*.gif", "*.webp", "*.ico", "*.woff2", "requirements.txt", "pre-requirements.txt",
        "packages.txt", "Dockerfile",
    ),
}  # fmt: skip

PICKLES = {
    ".bin", ".ckpt", ".cloudpickle", ".dill", ".h5", ".hdf5", ".joblib", ".keras", ".msgpack", ".npy", ".npz",
    ".pickle", ".pk", ".pkl", ".pt", ".pt2", ".pth",
}  # fmt: skip
# First bytes of arrays that may hold pickles, and of archives and compressed files, into which nobody looks here.
_ARRAYS = (b"\x93NUMPY", b"\x89HDF\r\n\x1a\n")
_PACKED = (
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ\0",
    b"\x28\xb5\x2f\xfd",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!",
    b'\x04"M\x18',
)
# Instructions of a pickle that import or call something; a text may be a pickle that only says "None".
_IMPORTS = {"GLOBAL", "STACK_GLOBAL", "INST", "EXT1", "EXT2", "EXT4"}
_CALLS = {"INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "REDUCE", "BUILD"}

# Kinds of secrets whose issuers gave them a form of their own, as their documentation shows it. None asks for the start
# of a word: in JSON, that of a line follows the letter n, and in a table, the text of the row before. No library:
# huggingface_hub has no patterns, and detect-secrets, which lacks Hugging Face's, had its last release in 2024.
_WORD = rb"[A-Za-z0-9]"
TOKENS = {
    "Hugging Face": rb"hf_" + _WORD + rb"{30,}|api_org_" + _WORD + rb"{30,}",
    "GitHub": rb"gh[oprsu]_" + _WORD + rb"{36,}|github_pat_\w{50,}",
    "GitLab": rb"glpat-[\w-]{20,}",
    "OpenAI": rb"sk-(?:proj|svcacct|admin)-[\w-]{40,}|sk-" + _WORD + rb"{20}T3BlbkFJ" + _WORD + rb"{20}",
    "Anthropic": rb"sk-ant-[a-z0-9]+-[\w-]{40,}",
    "AWS": rb"(?:AKIA|ASIA)[A-Z0-9]{16}",
    "Google": rb"AIza[\w-]{35}",
    "Slack": rb"xox[abeprs]-\w+-[\w-]{10,}",
    "Stripe": rb"[rs]k_live_" + _WORD + rb"{24,}",
    "PyPI": rb"pypi-AgEIcHlwaS5vcmc[\w-]{50,}",
    "npm": rb"npm_" + _WORD + rb"{36}",
    "Weights & Biases": rb"wandb_v1_\w{40,}",
    "JSON Web": rb"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}",
}
PRIVATE_KEY = "private key"
_SECRET = re.compile(
    rb"|".join(rb"(?P<kind%d>%s)" % (place, pattern) for place, pattern in enumerate(TOKENS.values()))
    + rb"|(?P<key>-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----)",
    re.ASCII,
)
# A letter, digit or sign as JSON and programs can spell it, with more backslashes in a text within a text.
_SPELLED = re.compile(rb"\\+(?:u00|x)([2-7][0-9A-Fa-f])")


def chosen_files(
    folder: Path, kind: str, named: Iterable[str] = (), include: Sequence[str] = ()
) -> tuple[dict[str, Path], list[str]]:
    """The files of a folder that are pushed, and the names of what is left there.

    Args:
        folder: Of what is pushed.
        kind: A key of `BELONGS`.
        named: Further files that belong to it.
        include: Patterns of files that go too, in which `*` stands for slashes as well.

    Returns:
        Path in the repository → file; and what is left out, a folder of which nothing goes with a slash. What is hidden
        is not mentioned.

    Raises:
        PushError: If a folder is a link, a pattern of `include` has no file, or one that is a pickle by its name.
    """
    wanted, files, others = set(named), {}, []
    unused = dict.fromkeys(include)
    for path in _walk(folder, hidden=bool(include)):
        name = path.relative_to(folder).as_posix()
        asked = [pattern for pattern in include if fnmatch.fnmatchcase(name, pattern)]
        for pattern in asked:
            unused.pop(pattern, None)
        is_pickle = path.suffix.lower() in PICKLES
        if asked and is_pickle:
            raise PushError(_pickle_sentence(path))
        if asked or (not is_pickle and not _is_hidden(name) and (name in wanted or _belongs(name, kind))):
            files[name] = path
        elif not _is_hidden(name):
            others.append(name)
    if unused:
        raise PushError(f"--include {next(iter(unused))}: no file in {folder} has such a path; correct the pattern")
    return files, list(dict.fromkeys(_left_name(name, files) for name in others))


def check_files(folder: Path, files: Iterable[Path]) -> None:
    """Makes sure that files may leave a folder.

    Raises:
        PushError: If a file is a link to one outside, is damaged, cannot be looked into, or holds a pickle or a token.
    """
    root = folder.resolve()
    for path in files:
        target = path.resolve()
        if not target.is_relative_to(root):
            raise PushError(
                f"{path}: is a link to {target}, outside the folder; put the file itself there, or remove it"
            )
        secret = secret_in([os.fsencode(path.relative_to(folder)), *_contents(path)])
        if secret is not None:
            what = f"a {secret}" if secret == PRIVATE_KEY else f"an access token ({secret})"
            where = "the Hub" if secret == "Hugging Face" else "its service"
            raise PushError(f"{path}: holds {what}; remove it, and make it invalid on {where}")


def secret_in(contents: Iterable[Any]) -> str | None:
    """The kind of the first secret in bytes, a key of `TOKENS` or `PRIVATE_KEY`; None if there is none.

    Letters may also be spelled as JSON and programs can, such as `hf\\u005f`.
    """
    for content in contents:
        found = _SECRET.search(content)
        if found is None and _SPELLED.search(content) is not None:
            found = _SECRET.search(_SPELLED.sub(lambda spelled: bytes.fromhex(spelled[1].decode()), content))
        if found is not None:
            group = str(found.lastgroup)
            return PRIVATE_KEY if group == "key" else list(TOKENS)[int(group.removeprefix("kind"))]
    return None


def _walk(folder: Path, hidden: bool) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if not hidden and _is_hidden(path.name):
            continue
        if path.is_dir():
            if path.is_symlink():
                raise PushError(
                    f"{path}: is a link to the folder {os.readlink(path)}; put the folder itself there, or remove it"
                )
            yield from _walk(path, hidden)
        elif path.is_file():
            yield path


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "__")) for part in name.split("/"))


def _belongs(name: str, kind: str) -> bool:
    if kind == "space":
        name = name.rpartition("/")[2]
    return any(
        name.count("/") == pattern.count("/") and fnmatch.fnmatchcase(name, pattern) for pattern in BELONGS[kind]
    )


def _left_name(name: str, files: Iterable[str]) -> str:
    """A file that is left out, or the largest folder around it of which nothing goes."""
    parts = name.split("/")
    for count in range(1, len(parts)):
        around = "/".join(parts[:count]) + "/"
        if not any(path.startswith(around) for path in files):
            return around
    return name


def _contents(path: Path) -> Iterator[Any]:
    """The bytes of a file in which texts may stand, once it is known that it is no pickle."""
    if path.suffix == ".safetensors":
        yield _safetensors_header(path)
    elif path.suffix == ".parquet":
        yield from _parquet_columns(path)
    else:
        content = path.read_bytes()
        if content.startswith(_ARRAYS) or _is_pickle(content):
            raise PushError(_pickle_sentence(path))
        if content.startswith(_PACKED) or content[257:262] == b"ustar" or _is_compressed(content):
            raise PushError(f"{path}: is packed, so that nobody sees what is in it; unpack it, or remove it")
        yield content
        if b"\0" in content:
            yield content.replace(b"\0", b"")  # a text in UTF-16


def _safetensors_header(path: Path) -> bytes:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np"):
            pass
    except (SafetensorError, OSError) as error:
        raise PushError(f"{path}: damaged ({error}); save the model again or copy the file anew") from error
    with path.open("rb") as file:
        return file.read(int.from_bytes(file.read(8), "little"))


def _parquet_columns(path: Path) -> Iterator[Any]:
    import pyarrow.parquet

    with reading_parquet(path, error=PushError), pyarrow.parquet.ParquetFile(path) as file:
        # Serialised, because its text leaves out the ends of long values.
        yield from (str(file.metadata.metadata).encode(), file.schema_arrow.serialize())
        for batch in file.iter_batches():
            for column in batch.columns:
                yield from _buffers(column)


def _buffers(array: Any) -> Iterator[Any]:
    """The bytes of an array of pyarrow, with those of its dictionaries, which its own `buffers` leaves out."""
    if hasattr(array, "field"):  # a struct's
        parts = [array.field(number) for number in range(array.type.num_fields)]
    else:
        parts = [getattr(array, name) for name in ("dictionary", "values", "storage") if hasattr(array, name)]
    for part in parts:
        yield from _buffers(part)
    if not parts:
        yield from (buffer for buffer in array.buffers() if buffer is not None)


def _is_pickle(content: bytes) -> bool:
    """Whether loading these bytes as a pickle would import something, or call it and then fail.

    What calls without an import, as the text `b2e.` does, has nothing to call.
    """
    if re.match(rb"\x80[\x02-\x08]", content):
        return True
    imports = named = called = False
    try:
        for instruction, argument, _ in pickletools.genops(content):
            if instruction.name in _IMPORTS:
                imports = True
                # A text may begin with `c` too, but names no module.
                named |= argument is None or bool(re.fullmatch(r"[\w.]+ [\w.]+", str(argument)))
            called |= named and instruction.name in _CALLS
    except Exception:  # of many types; what stood before it would have been done
        return called
    # `pickletools` keeps no stack, so a text such as `oi`, a line, and a full stop seems to import something. Where
    # names look like a module's, that is enough, because pickle in C loads a little more than the one in Python.
    return imports and (named or _imports_when_loaded(content))


def _imports_when_loaded(content: bytes) -> bool:
    """Whether Python's own unpickler comes to an import; it stops there."""
    reached = False

    class Reader(pickle._Unpickler):  # the one in C takes memory as the bytes say
        def find_class(self, module: str, name: str) -> Any:
            nonlocal reached
            reached = True
            raise pickle.UnpicklingError("nothing is imported here")

    with contextlib.suppress(Exception):
        Reader(io.BytesIO(content)).load()
    return reached


def _is_compressed(content: bytes) -> bool:
    """Whether bytes that are no text are a stream of zlib or LZMA, as joblib writes pickles."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        for decompress in (zlib.decompressobj().decompress, lzma.LZMADecompressor().decompress):
            with contextlib.suppress(zlib.error, lzma.LZMAError, MemoryError):
                if decompress(content, 64):
                    return True
    return False


def _pickle_sentence(path: Path) -> str:
    return (
        f"{path}: is a pickle or may hold one, and loading one runs what its author put into it; save it as "
        "safetensors, Parquet or JSON"
    )


__all__ = ["BELONGS", "PICKLES", "PRIVATE_KEY", "TOKENS", "check_files", "chosen_files", "secret_in"]

"""What of a folder may go to the Hub: files that belong to what it holds, lie in it, and are read here as their kind.

Weights are read by safetensors, tables by pyarrow, and everything else but pictures as text in UTF-8, so that no
archive and no binary pickle passes. Nor does a file pass with an access token, nor a link that leads out of the folder.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hf_symbinv.errors import UserError
from hf_symbinv.files import reading_parquet


class PushError(UserError):
    """A folder that cannot be pushed, or a push that failed; the message says why and what to do."""


_ALWAYS = ("README.md", "LICENSE", "LICENSE.*")
_TOKENIZER = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json",
    "vocab.txt", "merges.txt", "chat_template.jinja",
)  # fmt: skip
# What belongs to a repository of each kind. Patterns of a Space hold in its folders too, because an app may have any.
BELONGS: dict[str, tuple[str, ...]] = {
    "model": (
        *_ALWAYS, *_TOKENIZER, "*.py", "*.safetensors", "*.safetensors.index.json", "config.json",
        "generation_config.json", "adapter_config.json", "run.json", "recipe.json", "conversion.json",
        "trainer_state.json", "results.json", "*_results.json",
    ),
    "dataset": (*_ALWAYS, *_TOKENIZER, "*.py", "generation.json", "data/*.parquet"),
    "space": (
        *_ALWAYS, "*.md", "*.py", "*.json", "*.safetensors", "*.parquet", "*.html", "*.css", "*.js", "*.svg", "*.png",
        "*.jpg", "*.jpeg", "requirements.txt", "pre-requirements.txt", "packages.txt", "Dockerfile",
    ),
}  # fmt: skip

# Kinds of secrets whose issuers gave them a form of their own, as their documentation shows it. None asks for the start
# of a word: in JSON, that of a line follows the letter n, and in a table, the text of the row before. No library:
# huggingface_hub has no patterns, and detect-secrets, which lacks Hugging Face's, had its last release in 2024.
_WORD = rb"[A-Za-z0-9]"
PRIVATE_KEY = "private key"
SECRETS = {
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
    PRIVATE_KEY: rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----",
}


def chosen_files(folder: Path, kind: str, include: Sequence[str] = ()) -> tuple[dict[str, Path], list[str]]:
    """The files of a folder that are pushed, and the names of what is left there.

    Args:
        folder: Of what is pushed.
        kind: A key of `BELONGS`.
        include: Patterns of files that go too, in which `*` stands for slashes as well.

    Returns:
        Path in the repository → file; and what is left out, a folder of which nothing goes with a slash. What is hidden
        is not mentioned.
    """
    files, others = dict[str, Path](), list[str]()
    unused = dict.fromkeys(include)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if any(part.startswith((".", "__")) for part in name.split("/")):
            continue
        if path.is_dir() and path.is_symlink():
            raise PushError(
                f"{path}: is a link to the folder {os.readlink(path)}; put the folder itself there, or remove it"
            )
        if not path.is_file():
            continue
        asked = [pattern for pattern in include if fnmatch.fnmatchcase(name, pattern)]
        for pattern in asked:
            unused.pop(pattern, None)
        if asked or _belongs(name, kind):
            files[name] = path
        else:
            others.append(name)
    if unused:
        raise PushError(f"--include {next(iter(unused))}: no file in {folder} has such a path; correct the pattern")
    return files, list(dict.fromkeys(_left_name(name, files) for name in others))


def check_files(folder: Path, files: Iterable[Path]) -> None:
    """Makes sure that files may leave a folder.

    Raises:
        PushError: If a file is a link to one outside, cannot be read as its kind, or holds a token.
    """
    root = folder.resolve()
    for path in files:
        target = path.resolve()
        if not target.is_relative_to(root):
            raise PushError(
                f"{path}: is a link to {target}, outside the folder; put the file itself there, or remove it"
            )
        read = READERS.get(path.suffix.lower(), _text)
        secret = secret_in([os.fsencode(path.relative_to(folder)), *read(path)])
        if secret is not None:
            what = f"a {secret}" if secret == PRIVATE_KEY else f"an access token ({secret})"
            where = "the Hub" if secret == "Hugging Face" else "its service"
            raise PushError(f"{path}: holds {what}; remove it, and make it invalid on {where}")


def secret_in(contents: Iterable[Any]) -> str | None:
    """The kind of the first secret in bytes, a key of `SECRETS`; None if there is none."""
    return next((kind for one in contents for kind, form in SECRETS.items() if re.search(form, one)), None)


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


def _text(path: Path) -> Iterator[bytes]:
    content = path.read_bytes()
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        content = b"\0"
    if b"\0" in content:
        raise PushError(
            f"{path}: is neither text in UTF-8 nor safetensors, Parquet, PNG or JPEG; save it as one of these, or "
            "remove it"
        )
    yield content


def _picture(path: Path) -> Iterator[bytes]:
    yield path.read_bytes()


def _weights(path: Path) -> Iterator[bytes]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np"):
            pass
    except (SafetensorError, OSError) as error:
        raise PushError(f"{path}: damaged ({error}); save the model again or copy the file anew") from error
    with path.open("rb") as file:
        yield file.read(int.from_bytes(file.read(8), "little"))


def _table(path: Path) -> Iterator[Any]:
    import pyarrow.parquet

    with reading_parquet(path, error=PushError), pyarrow.parquet.ParquetFile(path) as file:
        yield str(file.metadata.metadata).encode()
        for batch in file.iter_batches():
            sink = pyarrow.BufferOutputStream()
            with pyarrow.ipc.new_stream(sink, batch.schema) as stream:  # with dictionaries and what is said of columns
                stream.write(batch)
            yield sink.getvalue()


READERS: dict[str, Callable[[Path], Iterator[Any]]] = {
    ".safetensors": _weights, ".parquet": _table, **dict.fromkeys((".png", ".jpg", ".jpeg"), _picture),
}  # fmt: skip

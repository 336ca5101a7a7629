"""Pushing a folder in one commit: the repository has all of it or is as it was."""

from __future__ import annotations

import glob
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hf_symbinv.errors import hub_failure
from hf_symbinv.hub.folders import CARD, Content, read_folder
from hf_symbinv.hub.gate import PushError

if TYPE_CHECKING:
    from huggingface_hub import HfApi


class Pushed(NamedTuple):
    """What a push left on the Hub: the last commit of the branch now, the number of files that were pushed, changed or
    not, the names of those that were not, and what the Hub finds wanting in the card.
    """

    url: str
    type: str
    revision: str
    commit: str
    files: int
    left_out: list[str]
    warnings: list[str]


def content_of(folder: str | Path, name: str, include: Sequence[str] = ()) -> Content:
    """What `push_folder` brings to a repository, after all checks that need no network.

    Raises:
        PushError: As `push_folder`, if the folder cannot be pushed under this name.
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    owner, slash, short = name.partition("/")
    if not (owner and slash and short) or "/" in short:
        raise PushError(f"{name!r}: no name of a repository; write OWNER/NAME")
    try:
        validate_repo_id(name)
    except HFValidationError as error:
        reason = str(error).partition(":")[0]
        raise PushError(f"{name!r}: no name of a repository ({reason}); write OWNER/NAME") from error
    return read_folder(Path(folder), include)


def push_folder(
    folder: str | Path,
    name: str,
    *,
    private: bool = False,
    revision: str = "main",
    include: Sequence[str] = (),
    token: str | None = None,
) -> Pushed:
    """Pushes a model, a data set or a Space to the Hub, into a repository that is made if there is none.

    Everything goes in one commit, so a push that breaks off leaves the repository as it was, and another one takes up
    the large files that arrived.

    Args:
        folder: What `save_pretrained`, `symbinv train` or `symbinv data` wrote, or the folder of a Space.
        name: OWNER/NAME.
        private: Make it private.
        revision: The branch, made from `main` if there is none.
        include: Patterns of files that go too, though they do not belong to it by `hf_symbinv.hub.gate.BELONGS`, such
            as `plots/*`.
        token: With the right to write there; None for that of HF_TOKEN or of `hf auth login`.

    Raises:
        PushError: If the folder cannot be pushed, or the Hub does not take it.
    """
    from huggingface_hub import HfApi

    content = content_of(folder, name, include)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            return _push(HfApi(token=token), Path(folder), content, name, private, revision, caught)
    except PushError:
        raise
    except Exception as error:
        sentence = hub_failure(error, name)
        if str(error).startswith("Invalid metadata in README.md"):
            sentence = f"{Path(folder) / CARD}: {' '.join(str(error).split())}; correct its first lines"
        if sentence is None:
            raise
        raise PushError(sentence) from error


def _push(
    api: HfApi,
    folder: Path,
    content: Content,
    name: str,
    private: bool,
    revision: str,
    caught: list[warnings.WarningMessage],
) -> Pushed:
    url = api.create_repo(name, repo_type=content.type, private=private or None, exist_ok=True, space_sdk=content.sdk)
    if private and not api.repo_info(name, repo_type=content.type).private:
        raise PushError(
            f"{name}: exists and is public; make it private in its settings on the Hub, or leave out --private"
        )
    if revision != "main":
        api.create_branch(name, repo_type=content.type, branch=revision, exist_ok=True)
    commit = api.upload_folder(
        repo_id=name,
        folder_path=folder,
        repo_type=content.type,
        revision=revision,
        commit_message=f"Push {content.type}",
        allow_patterns=list(map(glob.escape, content.files)),
        delete_patterns=list(content.replaces),
    )
    said = [warning.message for warning in caught if issubclass(warning.category, UserWarning)]
    messages = sorted({" ".join(str(message).split()) for message in said})
    return Pushed(str(url), content.type, revision, commit.oid, len(content.files), content.left_out, messages)

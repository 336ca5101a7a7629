"""What can go wrong between here and the Hub, each in one sentence that names the rule and the remedy.

The sentences never hold a token: they are made of the repository's name, a status and the Hub's own words.
"""

from __future__ import annotations

from collections.abc import Iterator

from hf_symbinv.errors import UserError

LOGIN = "set HF_TOKEN or run `hf auth login`"


class PushError(UserError):
    """A folder that cannot be pushed, or a push that failed; the message says why and what to do."""


def hub_failure(error: BaseException, name: str | None = None) -> str | None:
    """The sentence for an error that has to do with the Hub; None for any other.

    Libraries wrap the client's errors in their own, so causes are looked through too.

    Args:
        error: What was raised.
        name: OWNER/NAME of the repository; None to take it from the error.
    """
    for cause in _causes(error):
        sentence = _sentence(cause, name)
        if sentence is not None:
            return sentence
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _is_transport_error(error: BaseException) -> bool:
    """Whether a request got no answer; huggingface_hub 1 asks through httpx, 2 through httpx2."""
    bases = [f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in type(error).__mro__]
    return "httpx.TransportError" in bases or "httpx2.TransportError" in bases


def _sentence(error: BaseException, name: str | None) -> str | None:
    from huggingface_hub import constants, errors

    is_absent = isinstance(error, errors.LocalEntryNotFoundError)  # from the cache, the one place that was looked at
    if isinstance(error, errors.OfflineModeIsEnabled) or (is_absent and constants.HF_HUB_OFFLINE):
        return f"{name or 'the Hub'}: offline mode is on; unset HF_HUB_OFFLINE, or use a folder"
    if isinstance(error, errors.LocalTokenNotFoundError):
        return f"{name or 'the Hub'}: no token; {LOGIN}"
    if _is_transport_error(error):
        reason = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
        return (
            f"the Hub at {constants.ENDPOINT} cannot be reached ({reason}); check the network, and repeat the command"
        )
    if not isinstance(error, errors.HfHubHTTPError):
        return None
    subject = name or getattr(error, "repo_id", None) or "the Hub"
    status = error.response.status_code
    if isinstance(error, errors.GatedRepoError):
        return f"{subject}: access has to be asked for; open its page on the Hub, then {LOGIN}"
    if isinstance(error, errors.RepositoryNotFoundError):
        return f"{subject}: the Hub has no such repository, or it is private; check the name, or {LOGIN}"
    if isinstance(error, errors.RevisionNotFoundError):
        return f"{subject}: has no such revision; name one of its branches, tags or commits"
    if isinstance(error, errors.EntryNotFoundError):
        return None  # a missing file is for those to explain who need it
    said = (error.server_message or error.response.reason_phrase or "no reason given").partition("\n")[0].rstrip(".")
    remedies = {
        401: f"the Hub does not accept the token; {LOGIN}",
        403: f"the token does not allow this ({said}); use one that may write to {subject}",
        409: f"the Hub is busy with it ({said}); repeat the command",
        412: f"it has changed meanwhile ({said}); repeat the command",
        429: "the Hub takes no more requests for now; wait some minutes and repeat the command",
    }
    if status >= 500:
        return f"{subject}: the Hub fails with status {status} ({said}); repeat the command later"
    return f"{subject}: {remedies.get(status, f'the Hub refuses with status {status} ({said})')}"

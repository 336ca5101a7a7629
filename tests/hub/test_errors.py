"""What the client raises becomes a sentence, however deep it is wrapped; other errors stay as they are."""

import pytest
from huggingface_hub import HfApi, get_session

from hf_symbinv.hub import hub_failure

from .fixtures import TOKEN

NAME = "alice/tiny"


@pytest.fixture
def failure(hub):
    """What is said of a request that fails in this way."""

    def fail(status, code=None):
        hub.fail("GET", "/api/models/alice/tiny", status, code)
        try:
            HfApi(endpoint=hub.endpoint, token=TOKEN).model_info(NAME)
        except Exception as error:
            return hub_failure(error, NAME)

    return fail


def test_each_answer_of_the_hub_has_its_sentence(failure):
    login = "set HF_TOKEN or run `hf auth login`"
    assert failure(403, "GatedRepo") == f"{NAME}: access has to be asked for; open its page on the Hub, then {login}"
    assert failure(404, "RepoNotFound") == (
        f"{NAME}: the Hub has no such repository, or it is private; check the name, or {login}"
    )
    assert failure(404, "RevisionNotFound") == (
        f"{NAME}: has no such revision; name one of its branches, tags or commits"
    )
    assert failure(404, "EntryNotFound") is None
    assert failure(403) == f"{NAME}: the token does not allow this (No); use one that may write to {NAME}"
    assert failure(412) == f"{NAME}: it has changed meanwhile (No); repeat the command"
    assert failure(429) == f"{NAME}: the Hub takes no more requests for now; wait some minutes and repeat the command"
    assert failure(500) == f"{NAME}: the Hub fails with status 500 (No); repeat the command later"


def test_causes_are_looked_through_unless_they_are_hidden(hub):
    def wrapped(hide):
        try:
            try:
                get_session().get("http://127.0.0.1:1")
            except Exception as error:
                if hide:
                    raise OSError("cannot load") from None
                raise OSError("cannot load") from error
        except OSError as error:
            return hub_failure(error, NAME)

    assert "Connection refused); check the network" in wrapped(hide=False)
    assert wrapped(hide=True) is None


def test_other_errors_have_none():
    assert hub_failure(ZeroDivisionError("division by zero"), NAME) is None
    assert hub_failure(FileNotFoundError("config.json"), NAME) is None

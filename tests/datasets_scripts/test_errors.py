"""A builder's command ends in one sentence where the user can mend what is wrong, and in a traceback where not."""

import inspect

import pytest

from hf_symbinv.datasets_scripts import errors
from hf_symbinv.errors import UserError

OWN = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]


@pytest.mark.parametrize("kind", OWN)
def test_an_error_of_a_builder_ends_its_command_with_its_sentence_and_bad_input(kind, capsys):
    assert errors.refuse(kind("rows=3: ask for at least 10")) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "error: rows=3: ask for at least 10\n")
    assert issubclass(kind, UserError)


def test_a_file_that_cannot_be_read_is_named(tmp_path, capsys):
    try:
        (tmp_path / "none").read_text()
    except OSError as error:
        assert errors.refuse(error) == 2
    message = f"error: {tmp_path / 'none'}: No such file or directory; check the path and its permissions\n"
    assert capsys.readouterr().err == message


def test_a_bug_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        errors.refuse(ZeroDivisionError("division by zero"))

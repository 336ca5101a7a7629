"""Questions from arguments, files and pipes."""

import io
import itertools
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv.cli.texts import LONGEST_LINE, in_chunks, one_line, read_items
from hf_symbinv.errors import UserError


class TestItems:
    @pytest.fixture
    def stdin(self, monkeypatch):
        def fill(content):
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

        return fill

    def test_lines_are_items_but_for_blank_ones_and_say_where_they_stand(self, stdin):
        stdin(b"\xef\xbb\xbfa U b\r\n\n  \nG a\n")
        assert list(read_items("formula", [], None)) == [
            ("line 1 of standard input", "a U b"),
            ("line 4 of standard input", "G a"),
        ]

    def test_bytes_that_are_no_utf_8_concern_their_line_only(self, stdin):
        stdin(b"a\n\xff\nb\n")
        assert [item.text for item in read_items("formula", [], "-")] == ["a", "\udcff", "b"]

    def test_an_endless_line_is_refused_after_the_items_before_it(self, tmp_path):
        path = tmp_path / "formulas"
        with path.open("wb") as file:
            file.write(b"a\nb\nc\n")
            file.truncate(200 * LONGEST_LINE)
        chunks = in_chunks(read_items("formula", [], str(path)), 2)
        assert [[item.text for item in chunk] for chunk in itertools.islice(chunks, 2)] == [["a", "b"], ["c"]]
        with pytest.raises(
            UserError, match=r"line 4 of .*formulas: longer than 1,048,576 bytes; write one formula per"
        ):
            next(chunks)

    def test_a_terminal_is_not_waited_for(self, monkeypatch):
        terminal = io.TextIOWrapper(io.BytesIO())
        monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(sys, "stdin", terminal)
        with pytest.raises(UserError, match="no formula: give one as an argument, many with --file, or through a pipe"):
            list(read_items("formula", [], None))


@given(st.text())
def test_one_line_is_one_line(text):
    assert len(one_line(text).splitlines()) <= 1

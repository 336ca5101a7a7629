"""Every reader refuses malformed text at its first wrong character, and reads back what is written of what it takes."""

import pickle
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv import logic
from hf_symbinv.logic import FormulaSyntaxError, clauses

KNOWN = {**vars(clauses), **vars(logic)}
CASES = yaml.safe_load(Path(__file__).with_name("syntax_errors.yaml").read_text(encoding="utf-8"))
# Of each reader, what writes what it reads, and the characters that texts are made of.
WRITERS = {
    "parse_assignment": ("assignment_to_prefix", 'ab01 =,"'),
    "parse_assignment_infix": ("assignment_to_infix", 'ab01 =,"'),
    "parse_clauses": ("clauses_to_prefix", 'ab!;& |()"'),
    "read_clauses": ("clauses_to_infix", 'ab!;& |()"'),
    "parse_trace": ("trace_to_prefix", 'ab;{}&|!^U01 "'),
}


@pytest.mark.parametrize(
    ("reader", "text", "position", "message"), [(reader, *case) for reader, own in CASES.items() for case in own]
)
def test_the_first_wrong_character_is_named(reader, text, position, message):
    with pytest.raises(FormulaSyntaxError) as caught:
        KNOWN[reader](text)
    assert caught.value.position == position
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"position {position} of ")
    assert pickle.loads(pickle.dumps(caught.value)).position == position


@pytest.mark.parametrize("reader", WRITERS)
@given(data=st.data())
def test_any_text_is_read_and_written_or_a_syntax_error(reader, data):
    writer, alphabet = WRITERS[reader]
    text = data.draw(st.text(alphabet, max_size=12) | st.text(max_size=12))
    try:
        found = KNOWN[reader](text)
    except FormulaSyntaxError as error:
        assert 0 <= error.position <= len(text)
    else:
        assert KNOWN[reader](KNOWN[writer](found)) == found

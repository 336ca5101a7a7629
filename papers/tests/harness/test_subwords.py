"""Blocks of subwords: nothing of a text is lost, no document is in two splits, and what is refused."""

import pytest
from transformers import AutoTokenizer

from papers.harness.subwords import (
    END,
    SubwordConfig,
    load_blocks,
    prepare,
    split_documents,
)


@pytest.fixture
def corpus(tmp_path):
    """A folder with 20 documents, each with words of its own."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for index in range(20):
        words = [f"w{index}x{place} café the" for place in range(60)]
        (folder / f"{index:02d}.txt").write_text(" ".join(words) + "\n", encoding="utf-8")
    return folder


def test_blocks_spell_the_documents_of_their_split(corpus, tmp_path):
    config = SubwordConfig(source=str(corpus), vocab_size=300, length=16)
    prepare(config, tmp_path / "blocks")
    tokenizer, documents = AutoTokenizer.from_pretrained(tmp_path / "blocks"), split_documents(config)
    assert len(tokenizer) == 300 and tokenizer.eos_token == END
    for split, rows in load_blocks(tmp_path / "blocks").items():
        assert all(len(ids) == 16 for ids in rows["input_ids"])
        ids = [token for block in rows["input_ids"] for token in block]
        text, wanted = tokenizer.decode(ids), "".join(document + END for document in documents[split])
        # A block may end within a character, and what is left after the last one is dropped.
        assert wanted.startswith(text.rstrip("\N{REPLACEMENT CHARACTER}")) and len(wanted) - len(text) < 16 * 10
        assert len({token for token in ids if token == tokenizer.eos_token_id}) == 1


def test_every_document_is_in_one_split_and_a_tenth_is_for_the_test(corpus):
    splits = split_documents(SubwordConfig(source=str(corpus)))
    assert {split: len(texts) for split, texts in splits.items()} == {"train": 16, "validation": 2, "test": 2}
    assert len({text for texts in splits.values() for text in texts}) == 20


def test_the_order_depends_on_the_seed_and_characters_are_limited(corpus):
    one, same, other = (split_documents(SubwordConfig(source=str(corpus), seed=seed)) for seed in (0, 0, 1))
    assert one == same and one != other
    few = split_documents(SubwordConfig(source=str(corpus), max_characters=5000))
    assert 5000 <= sum(len(text) for texts in few.values() for text in texts) < 7000


def test_bytes_that_are_no_text_become_the_replacement_character(tmp_path):
    (tmp_path / "bytes.txt").write_bytes(b"ab\xffcd" * 100)
    texts = [text for found in split_documents(SubwordConfig(source=str(tmp_path / "bytes.txt"))).values()
             for text in found]  # fmt: skip
    assert "ab\N{REPLACEMENT CHARACTER}cd" in "".join(texts)

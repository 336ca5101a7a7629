"""Blocks of subwords: nothing of a text is lost, no document is in two splits, and what is refused."""

import pytest
from transformers import AutoTokenizer

from hf_symbinv.datasets_scripts.errors import WorkFolderError
from papers.harness.corpora import CorpusError
from papers.harness.subwords import (
    END,
    SubwordConfig,
    load_blocks,
    main,
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocab_size": 256}, "vocab_size=256: a byte-level BPE has 256 bytes and <|endoftext|>; give at least 257"),
        ({"length": 1}, "length=1: a block has at least 2 tokens"),
    ],
)
def test_values_out_of_range_are_refused(options, message):
    with pytest.raises(CorpusError) as refused:
        SubwordConfig(**options)
    assert str(refused.value) == message


def test_a_corpus_that_is_too_short_leaves_no_trace_and_says_so(tmp_path):
    source = tmp_path / "short.txt"
    source.write_text("too short", encoding="utf-8")
    with pytest.raises(CorpusError, match="leave no block of 64 for train; give more or longer documents"):
        prepare(SubwordConfig(source=str(source), length=64), tmp_path / "blocks")
    assert not (tmp_path / "blocks").exists()


def test_a_folder_keeps_its_corpus(corpus, tmp_path):
    config = SubwordConfig(source=str(corpus), vocab_size=300, length=16)
    prepare(config, tmp_path / "blocks")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "blocks").rglob("*.parquet")}
    prepare(config, tmp_path / "blocks")
    assert {path: path.stat().st_mtime_ns for path in before} == before
    with pytest.raises(WorkFolderError, match="holds a data set made in another way"):
        prepare(SubwordConfig(source=str(corpus), vocab_size=301, length=16), tmp_path / "blocks")


def test_the_command_makes_what_the_function_makes(corpus, tmp_path, capsys):
    options = ["--source", str(corpus), "--vocab-size", "300", "--length", "16", "--output"]
    assert main([*options, str(tmp_path / "made")]) == 0
    prepare(SubwordConfig(source=str(corpus), vocab_size=300, length=16), tmp_path / "blocks")
    made, blocks = load_blocks(tmp_path / "made"), load_blocks(tmp_path / "blocks")
    assert {split: rows["input_ids"][:] for split, rows in made.items()} == {
        split: rows["input_ids"][:] for split, rows in blocks.items()
    }
    assert capsys.readouterr().out.startswith(f"{tmp_path / 'made'}: {len(made['train']):,} train, ")


def test_the_command_says_what_it_refuses(corpus, tmp_path, capsys):
    assert main(["--source", str(corpus), "--vocab-size", "256", "--output", str(tmp_path / "blocks")]) == 2
    assert capsys.readouterr().err.startswith("error: vocab_size=256: a byte-level BPE has 256 bytes")
    assert not (tmp_path / "blocks").exists()

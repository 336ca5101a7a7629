"""Windows of characters keep their texts, split by document, and refuse what no vocabulary has; the Markov language."""

import gzip
import lzma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.harness.corpora import CorpusError, documents
from papers.lexinvariant import characters as language
from papers.lexinvariant.characters import (
    ALPHABETS,
    CorpusConfig,
    MarkovLanguage,
    decode,
    encode,
    load_windows,
    main,
    split_documents,
    windows,
)


def config(source, **fields):
    return CorpusConfig(name="test", **{"source": str(source), "length": 8, "max_characters": 10_000, **fields})


@pytest.fixture
def corpus(tmp_path):
    """Twenty documents of forty characters, each with a letter of its own."""
    path = tmp_path / "corpus.txt"
    path.write_text("".join(f"\x01document {index}\n{chr(97 + index) * 40}" + "\n" for index in range(20)))
    return path


class TestSources:
    def test_documents_begin_after_marked_lines(self, corpus):
        found = list(documents(str(corpus)))
        assert [name for name, _ in found] == [f"document {index}" for index in range(20)]
        assert found[3][1] == "d" * 40 + "\n"

    @pytest.mark.parametrize(("suffix", "module"), [(".gz", gzip), (".xz", lzma)])
    def test_packed_files_are_unpacked(self, corpus, suffix, module):
        packed = corpus.with_suffix(f".txt{suffix}")
        packed.write_bytes(module.compress(corpus.read_bytes()))
        assert list(documents(str(packed))) == list(documents(str(corpus)))
        packed.write_bytes(packed.read_bytes()[:30])
        with pytest.raises(CorpusError, match=r"corpus\.txt\..z: cannot be unpacked .*; give the whole file"):
            list(documents(str(packed)))

    def test_a_text_without_marks_counts_as_ten_documents(self, tmp_path):
        (tmp_path / "plain.txt").write_text("abc" * 33 + "!")
        found = [text for _, text in documents(str(tmp_path / "plain.txt"))]
        assert len(found) == 10 and "".join(found) == "abc" * 33 + "!"

    def test_text_before_the_first_mark_is_refused(self, tmp_path):
        (tmp_path / "late.txt").write_text("lost\n\x01first\nkept\n")
        with pytest.raises(CorpusError, match="text before the first line that starts with 0x01; begin the file with"):
            list(documents(str(tmp_path / "late.txt")))

    def test_files_of_a_folder_are_documents_but_for_hidden_ones(self, tmp_path):
        for name in ("b.py", "a/c.txt", ".hidden", ".git/config", "site-packages/other.py"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(f"of {name}\r\n")
        assert list(documents(str(tmp_path))) == [("a/c.txt", "of a/c.txt\n"), ("b.py", "of b.py\n")]

    def test_what_is_nowhere_is_refused(self):
        with pytest.raises(CorpusError, match=r"no/such/file: no such file or folder; on the Hub a data set is called"):
            list(documents("no/such/file"))
        with pytest.raises(CorpusError, match=r"nobody/nothing: no such file .* from the Hub it cannot be loaded \("):
            list(documents("nobody/nothing"))


class TestAlphabets:
    @pytest.mark.parametrize(
        ("content", "byte"), [(b"caf\xc3\xa9", "0xc3 0xa9"), (b"a\xff", "0xff"), (b"a\tb", "0x09"), (b"a\x00", "0x00")]
    )
    def test_a_byte_outside_the_vocabulary_is_named_with_its_line(self, tmp_path, content, byte):
        (tmp_path / "bad.txt").write_bytes(b"\x01poem\n" + b"fine\n" * 2 + content)
        with pytest.raises(
            CorpusError, match=rf"bad\.txt, poem, line 3: byte {byte} is outside the vocabulary of"
        ) as e:
            split_documents(config(tmp_path / "bad.txt"))
        assert "give a replacement, such as '?', or clean the text" in str(e.value)

    def test_a_replacement_stands_in_for_them(self, tmp_path):
        (tmp_path / "bad.txt").write_bytes(b"\xff\t\xc3\xa9abcde\n" * 100)
        found = split_documents(config(tmp_path / "bad.txt", replacement="?", length=9))
        assert {window for rows in found.values() for window, _ in rows} >= {"???abcde\n"}

    def test_letters_read_everything_else_as_one_blank(self, tmp_path):
        (tmp_path / "text.txt").write_text("It's -- \n\t 1 Dog! " * 50)
        found = split_documents(config(tmp_path / "text.txt", alphabet="letters"))
        assert {character for rows in found.values() for window, _ in rows for character in window} <= set(" itsdog")
        assert not any("  " in window for rows in found.values() for window, _ in rows)

    @given(st.lists(st.text(ALPHABETS["printable"], min_size=5, max_size=5), min_size=1, max_size=4))
    def test_what_is_encoded_is_decoded(self, texts):
        ids = encode(texts, ALPHABETS["printable"])
        assert ids.shape == (len(texts), 6) and (ids[:, 0] == 0).all() and (ids[:, 1:] >= 3).all()
        assert [decode(row, ALPHABETS["printable"]) for row in ids] == texts

    def test_texts_that_have_no_ids_are_refused(self):
        with pytest.raises(CorpusError, match="character 'é' is not in the alphabet 'abc'"):
            encode(["abé"], "abc")
        with pytest.raises(CorpusError, match="texts of different lengths"):
            encode(["ab", "a"], "abc")


class TestWindows:
    @given(st.text(max_size=40), st.integers(2, 9))
    def test_windows_are_the_text_but_for_its_end(self, text, length):
        found = windows(text, length)
        assert text.startswith("".join(found)) and len(text) - length * len(found) < length

    def test_no_document_is_in_two_splits_and_a_tenth_is_test(self, corpus):
        found = split_documents(config(corpus))
        names = {split: {name for _, name in rows} for split, rows in found.items()}
        assert {split: len(of) for split, of in names.items()} == {"train": 16, "validation": 2, "test": 2}
        assert len(set.union(*names.values())) == 20
        assert all(len(rows) == 5 * len(names[split]) for split, rows in found.items())

    def test_the_splits_depend_on_the_seed_only(self, corpus):
        assert split_documents(config(corpus)) == split_documents(config(corpus))
        assert split_documents(config(corpus)) != split_documents(config(corpus, seed=1))

    def test_no_more_documents_are_taken_than_asked_for(self, corpus):
        found = split_documents(config(corpus, max_characters=410))
        assert sum(map(len, found.values())) == 5 * 10

    def test_no_document_is_more_than_a_tenth_of_what_was_asked_for(self, corpus):
        found = split_documents(config(corpus, max_characters=160))
        assert {split: len(rows) for split, rows in found.items()} == {"train": 16, "validation": 2, "test": 2}

    def test_a_corpus_that_is_too_short_is_refused(self, tmp_path):
        (tmp_path / "short.txt").write_text("a" * 100)
        with pytest.raises(
            CorpusError, match=r"10 documents with 100 characters leave no window of 20 for train; give"
        ):
            split_documents(config(tmp_path / "short.txt", length=20))


class TestFolder:
    def test_the_command_leaves_windows_that_load_dataset_reads(self, corpus, tmp_path, capsys):
        folder = tmp_path / "windows"
        arguments = ["--source", str(corpus), "--output", str(folder), "--length", "8"]
        assert main(arguments) == 0
        assert capsys.readouterr().out.splitlines() == [
            f"{folder}: 80 train", f"{folder}: 10 validation", f"{folder}: 10 test"
        ]  # fmt: skip
        rows = load_windows(folder)
        assert {split: [*zip(part["text"], part["document"], strict=True)] for split, part in rows.items()} == (
            split_documents(config(corpus))
        )
        card = (folder / "README.md").read_text()
        assert "# Characters of corpus.txt" in card and "--source corpus.txt" in card and str(tmp_path) not in card


class TestMarkovLanguage:
    def test_its_first_symbols_have_the_stationary_distribution(self):
        found = MarkovLanguage.random(6, seed=4)
        np.testing.assert_allclose(found.transitions.sum(1), 1.0)
        np.testing.assert_allclose(found.initial @ found.transitions, found.initial, atol=1e-12)
        assert found.initial.sum() == pytest.approx(1.0)

    def test_samples_have_the_frequencies_of_its_transitions(self):
        found = MarkovLanguage.random(4, seed=0)
        text = found.sample(4000, 30, seed=7)
        assert text.min() >= 0 and text.max() <= 3
        counts = np.zeros((4, 4))
        np.add.at(counts, (text[:, :-1].ravel(), text[:, 1:].ravel()), 1)
        np.testing.assert_allclose(counts / counts.sum(1, keepdims=True), found.transitions, atol=0.02)
        np.testing.assert_allclose(np.bincount(text[:, 0], minlength=4) / 4000, found.initial, atol=0.03)
        assert (text == found.sample(4000, 30, seed=7)).all()

    def test_perplexity_counts_the_choices(self):
        uniform = MarkovLanguage(np.full((5, 5), 0.2), np.full(5, 0.2))
        assert uniform.perplexity == pytest.approx(5.0)
        assert MarkovLanguage(np.eye(3)[[1, 2, 0]], np.full(3, 1 / 3)).perplexity == pytest.approx(1.0)
        assert MarkovLanguage.random(6, seed=4).perplexity == pytest.approx(3.05, abs=0.005)


def test_the_base_tokens_have_the_ids_that_configurations_give_them():
    from hf_symbinv.modeling.configuration_symbinv import SymbolInvariantConfig

    found = SymbolInvariantConfig(base_vocab_size=len(language.BASE_TOKENS))
    assert [found.bos_token_id, found.pad_token_id, found.eos_token_id] == [0, 1, 2]

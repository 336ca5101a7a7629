"""A user's own pairs: formats, splits without renamed twins, base words from the data, and what is refused."""

import csv
import json
import random

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_symbinv.datasets_scripts.errors import PairsFormatError
from hf_symbinv.datasets_scripts.pair_files import Row, read_pairs
from hf_symbinv.datasets_scripts.pairs import _REASONS, cut, held_out_rows, load_pairs, parts_of, split_pairs
from hf_symbinv.tasks import PairsTask
from hf_symbinv.tasks.pairs import SPECIAL

RULE = "[a-z]+"


def sums(count=120, seed=0, names="abcdefgh"):
    """Sums of two to six symbols and a digit, and their last two words."""
    generator, rows = random.Random(seed), []
    for _ in range(count):
        words = [generator.choice([*names, str(generator.randint(0, 9))]) for _ in range(generator.randint(1, 5))]
        words.append(generator.choice(names))
        rows.append(("+".join(words), f"+{words[-1]}"))
    return rows


def write(path, rows, columns=("question", "answer")):
    table = [dict(zip(columns, row, strict=True)) for row in rows]
    if path.suffix in (".jsonl", ".json"):
        lines = [json.dumps(row) for row in table]
        path.write_text("[" + ",".join(lines) + "]" if path.suffix == ".json" else "\n\n".join(lines) + "\n")
    elif path.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(table), path)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",").writerows([columns, *rows])
    return str(path)


def load(source, **options):
    return load_pairs({"pairs": str(source), "symbols": RULE, **options})


@pytest.fixture
def file(tmp_path):
    return write(tmp_path / "pairs.jsonl", sums())


def texts(data):
    return {
        split: list(zip(*(rows[column] for column in data.task.columns), strict=True)) for split, rows in data.items()
    }


def test_every_format_gives_the_same_data(tmp_path):
    suffixes = ("jsonl", "json", "csv", "tsv", "parquet")
    found = [texts(load(write(tmp_path / f"pairs.{suffix}", sums()))) for suffix in suffixes]
    assert all(found[0] == other for other in found[1:])
    assert set(found[0]) == {"train", "validation", "test"} and all(found[0].values())


def test_a_folder_with_splits_keeps_them_and_counts_renamed_twins(tmp_path):
    rows = {
        "train": [("a+b", "+b"), ("a+1", "+1")],
        "validation": [("c+1", "+1")],
        "test": [("d+e", "+e"), ("a+1+b", "+b")],
    }
    for split, pairs in rows.items():
        write(tmp_path / f"{split}.csv", pairs)
    data = load(tmp_path)
    assert texts(data) == rows
    assert data.builder["test_questions_with_a_twin_in_train"] == 1
    assert "1 test questions are renamings of training questions" in " ".join(data.said)


def test_a_folder_without_names_of_splits_is_read_by_datasets(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "folder").mkdir()
    write(tmp_path / "folder" / "rows.parquet", sums())
    assert texts(load(tmp_path / "folder")) == texts(load(write(tmp_path / "pairs.jsonl", sums())))
    with pytest.raises(
        PairsFormatError, match=r"cannot be loaded \(BuilderConfig 'de' not found.*name a file, a folder of"
    ):
        load(tmp_path / "folder", config="de")


@given(
    st.lists(st.lists(st.sampled_from("abcde+1"), min_size=1, max_size=6), min_size=1, max_size=60), st.integers(0, 9)
)
def test_no_renaming_of_a_training_question_is_held_out(questions, seed):
    task = PairsTask((*SPECIAL, "+", "1"), "[a-z]")
    cuts = [cut(Row(str(place), " ".join(words), "1"), task) for place, words in enumerate(questions)]
    parts, twins = split_pairs({"train": cuts}, seed)
    classes = {split: [item.alpha_class for item in items] for split, items in parts.items()}
    assert not set(classes["train"]) & {*classes["validation"], *classes["test"]}
    for split in ("validation", "test"):
        assert len(set(classes[split])) == len(classes[split])
    assert sum(map(len, parts.values())) + twins == len(questions)
    again, _ = split_pairs({"train": cuts[::-1]}, seed)
    assert {split: {item.alpha_class for item in items} for split, items in again.items()} == {
        split: set(found) for split, found in classes.items()
    }


@given(st.lists(st.sampled_from("abc+1"), min_size=1, max_size=8), st.permutations("abcxyz"))
def test_a_class_is_the_same_for_renamings_and_another_for_all_else(words, new):
    task = PairsTask((*SPECIAL, "+", "1"), "[a-z]")
    text = " ".join(words)
    renaming = dict(zip("abc", new, strict=False))
    renamed = task.rename(text, renaming)
    assert renamed.split() == [renaming.get(word, word) for word in words]
    assert task.alpha_class(renamed) == task.alpha_class(text)
    merged = task.rename(text, dict.fromkeys("abc", "x"))
    assert (task.alpha_class(merged) == task.alpha_class(text)) == (len(task.symbols(text)) <= 1)


def test_base_words_are_those_of_training_alone_and_others_are_counted(tmp_path):
    for split, word in (("train", "+"), ("validation", "+"), ("test", "*")):
        write(tmp_path / f"{split}.jsonl", [(f"a{word}b", "b"), ("a+b+c", "b" if split == "train" else "+ a" * 3)])
    data = load(tmp_path)
    assert data.task.base_tokens == (*SPECIAL, "+")
    assert data.builder["unknown_base_words"] == 1
    assert texts(data)["test"] == [("a+b+c", "+ a+ a+ a")]
    found, said = held_out_rows(data.task, str(tmp_path), "test")
    assert [row.question for row in found] == ["a+b+c"] and "no base word *" in said[0]


def test_rare_base_words_long_rows_and_duplicates_are_left_out_and_counted(tmp_path):
    rows = [*sums(), ("a+a+a+a+a+a+a+a", "+a"), ("a%b", "+b"), *sums()[:3]]
    data = load(write(tmp_path / "pairs.jsonl", rows), max_tokens=12, max_base_words=11, seed=1)
    assert data.builder["too_long"] == 1 and data.builder["rare_base_words"] <= 1
    assert sum(data.builder[name] for name in ("duplicates", "renamed_twins")) >= 3
    assert all("%" not in question for question, _ in texts(data)["train"])


@settings(max_examples=30)
@given(st.data())
def test_every_row_is_in_a_split_or_counted_as_left_out(tmp_path_factory, data):
    text = st.text("abxyz+-*/", min_size=1, max_size=12)
    rows, splits = data.draw(st.lists(st.tuples(text, text), max_size=20)), data.draw(st.integers(1, 3))
    folder = tmp_path_factory.mktemp("rows")
    for name in ("train", "validation", "test")[:splits]:
        write(folder / f"{name}.jsonl", [*sums(120), ("a", "/"), *rows, *rows])
    found = load(folder, max_tokens=11, max_base_words=10)
    left_out = sum(found.builder.get(reason, 0) for reason in _REASONS)
    assert found.builder["rows_read"] == sum(map(len, found.values())) + left_out


def test_answers_with_symbols_that_questions_lack_are_left_out_of_training_and_kept_in_the_test(tmp_path):
    rows = [*sums(200), *((f"{'+'.join('abc'[: 1 + n % 3])}+{n}", "fresh") for n in range(40))]
    file = write(tmp_path / "pairs.jsonl", rows)
    data = load(file)
    kept = {split: sum(answer == "fresh" for _, answer in pairs) for split, pairs in texts(data).items()}
    assert kept == {"train": 0, "validation": 0, "test": 40 - data.builder["new_symbols"]} and kept["test"]
    assert "symbols that the question lacks: fresh" in " ".join(data.said)
    known = load(file, base_words="fresh, other")
    assert "fresh" in known.task.base_tokens and known.builder["new_symbols"] == 0


def test_base_words_come_from_a_file_too(tmp_path, file):
    (tmp_path / "words.txt").write_text("a\nb ->\n")
    task = load(file, base_words=str(tmp_path / "words.txt")).task
    assert (
        task.rule.base_words == ("a", "b", "->")
        and {"a", "b"} <= set(task.base_tokens)
        and "->" not in task.base_tokens
    )
    (tmp_path / "words.txt").write_bytes("modèle".encode("latin-1"))
    with pytest.raises(PairsFormatError, match=r"words.txt: not text in UTF-8 \(.+ at byte 3\); save it as UTF-8"):
        load(file, base_words=str(tmp_path / "words.txt"))


@pytest.mark.parametrize(
    ("columns", "options", "expected"),
    [
        (("source", "target"), {}, ("source", "target")),
        (("left", "right"), {}, ("left", "right")),
        (("left", "right"), {"question_column": "right"}, ("right", "left")),
        (("question", "answer"), {"question_column": "answer", "answer_column": "question"}, ("answer", "question")),
    ],
)
def test_columns_are_found_or_named(tmp_path, columns, options, expected):
    file = write(tmp_path / "pairs.csv", [("a+b", "b+a")], columns)
    assert read_pairs(file, options.get("question_column"), options.get("answer_column"))[1] == expected


LINE = '{"question": "a+b", "answer": "b"}'


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("no/a.jsonl", None, {}, r"no/a.jsonl: no such file; name one of .jsonl, .json, .csv, .tsv, .parquet, a fol"),
        ("a.txt", "a", {}, r"a.txt: its format is told by the end of its name; use one of .jsonl"),
        ("a.jsonl", "", {}, "a.jsonl: holds no rows"),
        ("a.jsonl", LINE + "\n{", {}, r"a.jsonl, line 2: '\{' is no JSON \(Expecting prop.*one object on each"),
        ("a.jsonl", "[1, 2", {}, r"a.jsonl: is no JSON .*; write a list of objects"),
        ("a.jsonl", LINE + "\n3", {}, r"a.jsonl, line 2: 3 is no object; write \{"),
        ("a.jsonl", LINE + '\n{"question": "a"}', {}, "line 2, column answer: is missing; give a text, or remove"),
        ("a.jsonl", LINE + '\n{"question": "a", "answer": null}', {}, "line 2, column answer: is null; give a text"),
        ("a.jsonl", LINE + '\n{"question": "a", "answer": 3}', {}, "answer: 3 is of type int, no text; put it in"),
        ("a.jsonl", LINE + '\n{"question": " ", "answer": "b"}', {}, "line 2, column question: ' ' is empty; give a"),
        ("a.csv", "question,answer\na+b,\n", {}, "a.csv, line 2, column answer: '' is empty"),
        ("a.csv", "question,answer\na+b,b,c\n", {}, "a.csv, line 2: has 3 cells, and the first line 2, question, ans"),
        ("a.csv", 'question,answer\n"a" b,c\n', {}, r"a.csv, line 2: is no CSV \(.*\); mend the quotes"),
        ("a.csv", "question,answer\n", {}, "a.csv: holds no rows"),
        ("a.csv", b"question,answer\n\xff\xfe,b\n", {}, "a.csv: not text in UTF-8 .* at byte 16.; save it as"),
        ("a.jsonl", '{"question": "a\\u0000", "answer": "b"}', {}, r"has the control character '\\x00'; is this a"),
        ("a.parquet", "none", {}, r"a.parquet: damaged \(.*\); write it again"),
        ("a.csv", "q,a,n\na,b,c\n", {}, "a.csv: has columns q, a, n; say with --question-column and --answer-column"),
        ("a.csv", "q,a,n\na,b,c\n", {"question_column": "qu"}, r"no column 'qu', which --question-column or .*'q'\?"),
        ("a.jsonl", LINE, {}, r"1 rows with 1 questions that are no renamings of each other leave none for split"),
        ("a.jsonl", LINE, {"symbols": "[a-z"}, r"symbols='\[a-z': '\[a-z' is no regular expression"),
        ("a.jsonl", LINE, {"symbols": "[a-z]*"}, "matches the empty text; ask for a character"),
        ("a.jsonl", LINE, {"symbols": "[A-Z]+"}, r"symbols='\[A-Z\]\+': matches nothing in .*'a\+b'; change"),
        ("a.jsonl", '{"question": "a b", "answer": "b"}', {"symbols": ".+"}, "1: the rule '.\\+' takes 'a b' as one"),
        ("a.jsonl", LINE, {"symbols": r"[a-z](?=\+)"}, "1: 'a' is a symbol there, and read differently where it"),
        ("a.jsonl", LINE, {"symbols": ""}, "data.symbols='': task pairs needs a text; give --symbols"),
        ("a.jsonl", LINE, {"symbol": "[a-z]"}, "data.symbol: unknown for task pairs; did you mean data.symbols"),
        ("a.jsonl", LINE, {"max_tokens": 0}, "data.max_tokens=0: must be an integer of at least 1"),
        ("a.jsonl", LINE, {"base_words": ["<s>"]}, "base word '<s>': is reserved"),
        ("a.jsonl", LINE.replace('"b"', '"c"'), {"seed": 1}, "1 of 1 training rows have answers with symbols"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_in_one_sentence(tmp_path, name, content, options, message):
    path = name if content is None else tmp_path / name
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(PairsFormatError, match=message) as error:
        load(path, **options)
    assert "\n" not in str(error.value)


def test_questions_with_several_answers_are_counted_up_to_renaming(tmp_path):
    rows = [*sums(200), ("a+b+a", "+b"), ("c+d+c", "+d"), ("x*y", "x"), ("y*z", "z"), ("u*v", "u")]
    data = load(write(tmp_path / "pairs.jsonl", rows))
    expected = {}
    for question, answer in rows:
        names = list(dict.fromkeys(letter for letter in question if letter.islower()))
        numbered = [tuple(names.index(x) if x in names else x for x in text) for text in (question, answer)]
        expected.setdefault(numbered[0], set()).add(numbered[1])
    assert data.builder["questions_with_several_answers"] == sum(len(found) > 1 for found in expected.values()) > 0
    assert any("questions have several answers, under any names" in line for line in data.said)


def test_a_name_that_nearly_every_question_has_is_told_with_the_option_that_fixes_it(tmp_path):
    rows = [(f"return({question})", answer) for question, answer in sums(300)]
    path = write(tmp_path / "pairs.jsonl", rows)
    said = load(path, symbols="[a-z]+").said
    assert (
        "names that nearly every question has: return; if they have a fixed meaning, give --base-words return" in said
    )
    assert not any("nearly every" in line for line in load(path, symbols="[a-z]+", base_words="return").said)


def test_a_rule_that_leaves_no_base_word_is_warned_of(tmp_path):
    rows = [(" ".join(words), words[0]) for words in (question.split("+") for question, _ in sums(300))]
    said = load(write(tmp_path / "pairs.jsonl", rows), symbols=r"\S+").said
    assert "warning: every word is a symbol by the rule '\\\\S+', so nothing has a fixed meaning" in said


def test_an_answer_without_blanks_is_written_without_them(tmp_path, file):
    assert not load(file).task.spaced
    assert load(write(tmp_path / "spaced.jsonl", [(q, a.replace("+", "+ ")) for q, a in sums()])).task.spaced


def test_the_split_that_training_held_out_is_measured_again_and_other_files_are_taken_whole(file):
    data = load(file, seed=3)
    task = PairsTask.of_tokenizer(data.task.tokenizer().init_kwargs)
    assert task == data.task
    for split in ("validation", "test"):
        found, said = held_out_rows(task, file, split)
        assert [(row.question, row.answer) for row in found] == texts(data)[split]
        assert f"{len(found)} questions are in split {split}; `symbinv evaluate --split all` takes" in said[0]
    assert len(held_out_rows(task, file, "all")[0]) == len(sums())
    with pytest.raises(PairsFormatError, match="split 'tset': unknown; use train, validation or test, or all"):
        held_out_rows(task, file, "tset")


def test_data_of_which_a_model_can_read_nothing_are_refused_with_the_words_that_it_lacks(file, tmp_path):
    task = PairsTask.of_tokenizer(load(file).task.tokenizer().init_kwargs)
    other = write(tmp_path / "other.jsonl", [(f"a ; {'=' * count} b", "a") for count in (1, 2, 3)])
    for split in ("all", "validation", "test"):
        with pytest.raises(PairsFormatError, match=f"split {split}: the model can read no question, .* word ; =; "):
            held_out_rows(task, other, split)
    alone = write(tmp_path / "alone.jsonl", sums(1))
    with pytest.raises(PairsFormatError, match="split test: has no question; try --split all"):
        held_out_rows(task, alone, "test")
    assert len(held_out_rows(task, alone, "all")[0]) == 1


@pytest.mark.parametrize("count", [3, 4, 7, 30])
def test_no_split_of_few_questions_is_empty(count, tmp_path):
    """And renamings of a question are all in one split."""
    for seed in range(20):
        parts = parts_of(map(str, range(count)), seed)
        assert set(parts.values()) == {"train", "validation", "test"} and parts == parts_of(
            [str(number) for number in reversed(range(count))], seed
        )

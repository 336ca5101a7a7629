"""Template tasks: which templates have a common string, what rows are drawn, and what is refused."""

import itertools
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev

import datasets
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.identity.templates import (
    CLS,
    NAMES,
    Template,
    TemplateError,
    Templates,
    TemplatesConfig,
    TemplateTask,
    conflict,
    drawn,
    encoded,
    main,
    template_task,
)

WILDCARDS = frozenset("αβγ")
tokens = st.sampled_from("αβγxy")


@st.composite
def pairs(draw):
    """Two templates of the same length; labels are their tokens, or a literal of none."""
    length = draw(st.integers(1, 4))
    texts = [draw(st.lists(tokens, min_size=length, max_size=length)) for _ in range(2)]
    return [Template(tuple(text), draw(st.sampled_from([*text, "z"]))) for text in texts]


def labels_of(template: Template, alphabet: str) -> dict[tuple[str, ...], set]:
    """Definition 3.1, written out: every string over the alphabet that matches, with its labels."""
    wildcards = sorted(WILDCARDS & set(template.tokens))
    found: dict[tuple[str, ...], set] = {}
    for chosen in itertools.permutations(alphabet, len(wildcards)):
        if set(chosen) & set(template.tokens):
            continue
        substitution = dict(zip(wildcards, chosen, strict=True))
        string = tuple(substitution.get(token, token) for token in template.tokens)
        found.setdefault(string, set()).add(substitution.get(template.label, template.label))
    return found


@given(pairs())
@settings(max_examples=300, deadline=None)
def test_a_conflict_is_found_where_enumerating_all_strings_finds_one(pair):
    """Literals x and y, the label z, and as many other tokens as two templates have wildcards."""
    first, second = (labels_of(template, "xyzABCDEF") for template in pair)
    conflicts = {string for string in first.keys() & second.keys() if len(first[string] | second[string]) > 1}
    witness = conflict(*pair, WILDCARDS)
    assert (witness is None) == (not conflicts)
    if witness is not None:
        renamed = dict(zip((token for token in dict.fromkeys(witness) if token not in "xy"), "ABCDEF", strict=False))
        assert tuple(renamed.get(token, token) for token in witness) in conflicts


def test_templates_of_different_lengths_have_no_common_string():
    assert conflict(Template(("α",), 1.0), Template(("α", "α"), -1.0), WILDCARDS) is None


@pytest.mark.parametrize("name", NAMES)
def test_every_task_can_be_drawn_and_read_by_a_model(name):
    config = TemplatesConfig(name="custom", task=name, rows=30, evaluation_rows=20, evaluation_symbols=8)
    task, rows = template_task(name), drawn(config)
    assert {split: len(found) for split, found in rows.items()} == {"train": 30, "validation": 20, "test": 20}
    for split in rows.values():
        for row, example in zip(split, encoded(task, split), strict=True):
            template = task.templates[row["template"]]
            assert len(row["text"].split()) == len(template.tokens)
            ids = example["input_ids"]
            assert ids[len(template.tokens)] == task.token_ids([CLS])[0]
            assert max(ids) < config.vocab_size()
            if task.symbolic:
                assert example["labels"][-1] == ids[-1] and set(example["labels"][:-1]) == {-100}
            else:
                assert example["labels"] == template.label


@pytest.mark.parametrize("name", ["same-different", "print-value", "gives", "majority-6"])
def test_rows_match_their_templates_by_definition_3_1(name):
    task = template_task(name)
    for split in drawn(TemplatesConfig(name="custom", task=name, rows=50, evaluation_symbols=5)).values():
        for row in split:
            template, text = task.templates[row["template"]], row["text"].split()
            substitution = {a: b for a, b in zip(template.tokens, text, strict=True) if a in task.wildcards}
            assert [substitution.get(token, token) for token in template.tokens] == text
            assert len(set(substitution.values())) == len(substitution)
            assert not set(substitution.values()) & set(template.tokens)
            assert row["label"] == substitution.get(template.label, template.label)


def test_no_symbol_occurs_in_two_splits_and_none_is_a_literal():
    task = template_task("print-value")
    splits = drawn(TemplatesConfig(name="custom", task="print-value", rows=200, symbols=50, evaluation_symbols=20))
    tokens = [{token for row in rows for token in row["text"].split()} for rows in splits.values()]
    symbols = [found - set(task.literals) for found in tokens]
    assert not any(a & b for a, b in itertools.combinations(symbols, 2))
    assert [len(found) for found in symbols] == [50, 20, 20]


@pytest.mark.parametrize("name", ["copy", "aba-abb", "gives", "print-value", "majority-4"])
def test_diversity_is_definition_4_2_over_all_substitutions(name):
    task, symbols = template_task(name), 5
    shares = []
    for template in task.templates:
        all_of = list(itertools.permutations(range(symbols), len(task.wildcards_of(template))))
        shares += [count / len(all_of) for count in Counter(itertools.chain(*all_of)).values()]
    assert task.diversity(symbols) == pytest.approx(min(1 / share for share in shares))


def test_templates_and_substitutions_are_uniform():
    rows = drawn(TemplatesConfig(name="custom", task="aba-abb", rows=20_000, symbols=4))["train"]
    counts = Counter(row["text"] for row in rows)
    assert len(counts) == 2 * 4 * 3
    assert all(abs(count / 20_000 - 1 / 24) < 0.007 for count in counts.values())  # five standard deviations


def test_templates_are_drawn_by_their_weights(tmp_path):
    path = tmp_path / "rare.yaml"
    entries = [{"text": "a a", "label": 1, "weight": 3}, {"text": "a b", "label": -1}]
    path.write_text(yaml.safe_dump(own(templates=entries)), encoding="utf-8")
    rows = drawn(TemplatesConfig(name="custom", task=str(path), rows=20_000, symbols=50))["train"]
    share = Counter(row["template"] for row in rows)[0] / 20_000
    assert abs(share - 0.75) < 0.016  # five standard deviations


def test_noise_is_in_the_labels_of_training_rows_alone(tmp_path):
    plain = TemplatesConfig(name="custom", task="aba-abb", rows=20_000)
    noisy = drawn(replace(plain, noise=0.5))
    without = drawn(plain)
    added = [one["label"] - other["label"] for one, other in zip(noisy["train"], without["train"], strict=True)]
    assert [row["text"] for row in noisy["train"]] == [row["text"] for row in without["train"]]
    assert fmean(added) == pytest.approx(0, abs=0.02) and stdev(added) == pytest.approx(0.5, abs=0.02)
    assert all(noisy[split] == without[split] for split in ("validation", "test"))
    folder = tmp_path / "noisy"
    assert main([f"--output={folder}", "--task=aba-abb", "--rows=20000", "--noise=0.5"]) == 0
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "Normal noise with a standard deviation of 0.5 is added to the labels of training rows." in card
    assert "--noise 0.5" in card
    read = datasets.load_dataset("parquet", data_dir=str(folder), cache_dir=str(tmp_path / "read"))
    assert read["train"]["label"][:] == pytest.approx([row["label"] for row in noisy["train"]])


def test_majority_of_length_2_is_same_different_and_of_length_3_agrees_with_the_papers_example():
    assert [(t.tokens, t.label) for t in template_task("majority-2").templates] == [
        (t.tokens, t.label) for t in template_task("same-different").templates
    ]
    assert len(template_task("majority-8").templates) == 128
    labels = {template.tokens: template.label for template in template_task("first-in-majority").templates}
    assert labels == {tuple("ααβ"): 1.0, tuple("αβα"): 1.0, tuple("βαα"): -1.0}


def test_the_builder_and_the_folder_of_the_command_hold_the_same_rows(tmp_path, capsys):
    options = {"task": "copy", "rows": 40, "evaluation_rows": 10, "evaluation_symbols": 7, "seed": 3}
    builder = Templates(cache_dir=str(tmp_path / "cache"), **options)
    builder.download_and_prepare()
    built = builder.as_dataset()
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    folder = tmp_path / "copy"
    assert main([f"--output={folder}", *arguments]) == 0
    assert capsys.readouterr().out == f"{folder}\n"
    read = datasets.load_dataset("parquet", data_dir=str(folder), cache_dir=str(tmp_path / "read"))
    assert {split: rows.to_list() for split, rows in read.items()} == {
        split: rows.to_list() for split, rows in built.items()
    }
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "Data diversity of the training rows (ρ): 40" in card and "| `α` | α |" in card
    assert "--task copy --rows 40 --symbols 40 --evaluation-rows 10 --evaluation-symbols 7 --noise 0.0 --seed 3" in card


def test_a_task_from_a_file(tmp_path):
    path = tmp_path / "second.yaml"
    path.write_text(
        "name: second\nwildcards: [a, b]\ntemplates:\n  - {text: the a b, label: b}\n  - {text: a the b, label: the}\n",
        encoding="utf-8",
    )
    task = template_task(str(path))
    assert task.symbolic and task.literals == ("the",) and task.base_tokens == ("the", CLS)
    rows = drawn(TemplatesConfig(name="custom", task=str(path), rows=30))["train"]
    assert all(row["label"] == (row["text"].split()[2] if row["template"] == 0 else "the") for row in rows)


def test_the_file_beside_the_program_is_the_papers_task():
    file = Path(__file__).parents[3] / "papers" / "identity" / "first_in_majority.yaml"
    own, paper = template_task(str(file)), template_task("first-in-majority")
    greek = str.maketrans("ab", "αβ")
    assert [(tuple(token.translate(greek) for token in one.tokens), one.label) for one in own.templates] == [
        (one.tokens, one.label) for one in paper.templates
    ]


def own(**changes) -> dict:
    entry = {"name": "own", "wildcards": ["a", "b"], "templates": [{"text": "a b", "label": 1}]}
    return {**entry, **changes}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (own(templates=[]), "own: has no templates"),
        (own(templates=[{"text": "a b", "label": 1}, {"text": "a b b", "label": 1}]), "templates of 2 and 3 tokens"),
        (own(templates=[{"text": "a b", "label": 1}, {"text": "a a", "label": "a"}]), "some labels are numbers"),
        (own(wildcards=["a", "b", "c"]), "wildcard 'c' is in no template"),
        (own(templates=[{"text": "a b s3", "label": 1}]), "literal 's3' is reserved"),
        (own(templates=[{"text": "a b", "label": "a"}, {"text": "a x", "label": "b"}]), "label 'b' of template 1"),
        (
            own(templates=[{"text": "a x b", "label": 1}, {"text": "b x a", "label": -1}]),
            "templates 0 and 1 are not disjoint: 's0 x s1' matches 'a x b' with label 1.0 and 'b x a' with label -1.0; "
            "change one of them",
        ),
        (own(templates=[{"text": "a b", "label": True}]), "label True of template 0 is neither a number nor a token"),
        (own(templates=[{"text": "a b", "label": float("nan")}]), "label nan of template 0 is neither a number"),
        *(
            (own(templates=[{"text": "a b", "label": label}]), "of template 0 is neither a number nor a token")
            for label in (10**400, math.inf, None)
        ),
        (own(templates=[{"text": "a b", "label": 1, "weight": "much"}]), "weight 'much' of template 0 must be"),
        (own(templates=[{"text": "a b", "label": 1, "weight": 10**400}]), "of template 0 must be a positive number"),
        (own(templates=[{"text": "a b", "label": 1, "weight": -2}]), "weight -2 of template 0 must be positive"),
        (own(templates=[{"text": "a b"}]), "template 0 must have the keys text and label"),
        (own(wildcards="ab"), "wildcards must be a list, not 'ab'"),
        (own(templates=None), "templates must be a list, not None"),
        (own(more=1), "must have the keys name, wildcards and templates"),
        ([1], "must have the keys name, wildcards and templates"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(content, message, tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(TemplateError) as refused:
        template_task(str(path))
    assert message in str(refused.value)


def test_templates_that_overlap_with_one_label_are_accepted():
    swapped = (Template(("α", "β"), "α"), Template(("β", "α"), "β"))
    assert TemplateTask("swapped", frozenset("αβ"), swapped).symbolic


def test_what_is_no_task_or_no_token_is_refused(tmp_path):
    with pytest.raises(TemplateError, match="task='sum': neither a file nor one of same-different, "):
        template_task("sum")
    path = tmp_path / "broken.yaml"
    path.write_text("name: [", encoding="utf-8")
    with pytest.raises(TemplateError, match="not YAML"):
        template_task(str(path))
    with pytest.raises(TemplateError, match=r"'maybe': neither a symbol such as s0 nor one of \[CLS\]"):
        template_task("copy").token_ids(["maybe"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": 0}, "rows=0: aba-abb needs at least 1"),
        ({"rows": 1}, "symbols=1: aba-abb needs at least 2"),
        ({"evaluation_symbols": 1}, "evaluation_symbols=1: aba-abb needs at least 2"),
        ({"evaluation_rows": 0}, "evaluation_rows=0: aba-abb needs at least 1"),
        ({"noise": -1.0}, "noise=-1.0: must be a number of at least 0"),
        ({"noise": math.nan}, "noise=nan: must be a number of at least 0"),
        ({"noise": 0.1, "task": "copy"}, "noise=0.1: the labels of copy are tokens; leave noise out"),
    ],
)
def test_too_few_rows_or_symbols_and_noise_without_sense_are_refused(options, message, tmp_path):
    with pytest.raises(TemplateError, match=message):
        Templates(cache_dir=str(tmp_path), **{"task": "aba-abb", **options})

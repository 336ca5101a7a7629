"""Junk in recipes: each is refused in one short sentence before anything is made, or it is a recipe."""

import random

import yaml

from hf_symbinv.errors import LONGEST, explain
from hf_symbinv.training import Recipe

GOOD = {
    "task": "copy",
    "data": {"num_symbols": 2, "min_size": 2, "max_size": 5, "rows": 40, "seed": 0},
    "model": {"num_symbols": 2, "d_model": 8, "num_attention_heads": 2, "encoder_layers": 1, "decoder_layers": 1},
    "evaluation_rows": 4,
    "test_rows": 4,
    "trainer": {"max_steps": 4, "learning_rate": 0.001, "use_cpu": True, "report_to": "none", "eval_strategy": "no"},
}
JUNK = [
    None, True, False, 0, -1, 3.5, 10**30, 10**400, float("inf"), float("nan"), "", "1e-3", "nope", "x" * 100_000,
    "2020-01-01", [], [1, "a"], {}, {"a": {"b": [1]}}, [[[[]]]], "\x00", "\ud800", "é", "~", "*a", "&a", "!!x y",
]  # fmt: skip
TEXTS = [
    "a: &a [*a]", "[" * 3_000, "{" * 3_000, "? - a\n: b", "a: b: c", "\t", "%YAML 9\n---\n", "!!python/name:os.system",
    "a: 1\na: 2", "- " * 3_000, "'", '"\\ud800"', "\ufeff", "--- a\n--- b", "<<: {a: 1}", "a: |2\n x", "\x01",
]  # fmt: skip


def junk_of(draw: random.Random) -> str:
    """The text of a recipe with something wrong, or of something else."""
    kind = draw.random()
    if kind < 0.25:
        return draw.choice(TEXTS)
    content = {**GOOD, **{name: dict(GOOD[name]) for name in ("data", "model", "trainer")}}
    for _ in range(draw.randint(1, 3)):
        section = draw.choice(list(GOOD))
        if isinstance(content.get(section), dict) and content[section] and draw.random() < 0.8:
            content[section][draw.choice(list(content[section]))] = draw.choice(JUNK)
        else:
            content[section] = draw.choice(JUNK)
    text = yaml.safe_dump(content, allow_unicode=True)
    if kind < 0.5:
        start, stop = sorted(draw.choices(range(len(text) + 1), k=2))
        text = text[:start] + draw.choice([*TEXTS, ""]) + text[min(stop, start + 4) :]
    return text


def refused(call):
    """The sentence with which something is refused; None if it is not."""
    try:
        call()
    except Exception as error:
        sentence = explain(error)
        assert sentence is not None, "an error that is no sentence"
        return sentence
    return None


def test_a_recipe_with_junk_is_one_or_is_refused_in_a_sentence(attack):
    for attempt in attack.tries(40):
        path = attempt.folder / "recipe.yaml"
        path.write_bytes(junk_of(attempt.random).encode("utf-8", "surrogatepass"))
        sentence = refused(lambda path=path: Recipe.load(path).check())
        assert sentence is None or (sentence and "\n" not in sentence and len(sentence) <= LONGEST), sentence

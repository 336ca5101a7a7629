"""Thousands of random and malformed strings: an error with its reason or a verdict, never a crash or a hang."""

import json
import random

COUNT = 3_000
PIECES = [
    *"abcpq01&|!XFGURWMVtfie;{}()[]<>^~*+=\"'\\ \t.,:-_$§é∧→¬□\0\x7f\ud800😀",
    "->", "<->", "xor", "cycle{", "cycle", "request", "grant_1", "true", "false", '"a b"', "U U", "<s>", "</s>",
    "<pad>", "p0", "p10000", "a" * 40, "((", "))", "  ", "{1}", "&ab", "a U b", "G(a -> F b)", "! X a", "; {",
    "{ a ; b }", "a;&ab;{b}",
]  # fmt: skip


def formula(rng, depth):
    """A random formula in infix notation."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(["a", "b", "request", "1", "0", '"a b"'])
    if rng.random() < 0.4:
        return f"{rng.choice(['!', 'X ', 'F ', 'G ', '[]'])}({formula(rng, depth - 1)})"
    operator = rng.choice(["&", "|", "xor", "->", "<->", "U", "R", "W", "M"])
    return f"({formula(rng, depth - 1)}) {operator} ({formula(rng, depth - 1)})"


def strings():
    """Strings without line breaks: pieces in a row, and infix formulas of which half have one piece too many or few."""
    rng = random.Random(0)
    yield from ("".join(rng.choices(PIECES, k=rng.randint(0, 8))) for _ in range(COUNT // 2))
    for index in range(COUNT // 2):
        text = formula(rng, 4)
        start, stop = sorted(rng.choices(range(len(text) + 1), k=2))
        yield text if index % 2 else text[:start] + rng.choice([*PIECES, ""]) + text[min(stop, start + 2) :]


def test_verify_has_an_answer_to_every_line(symbinv, tmp_path):
    formulas = [line for text in strings() for line in [text.replace("\t", " ")] if line.strip()]
    pairs = [f"{formula}\t{trace}" for formula, trace in zip(formulas, reversed(formulas), strict=True)]
    path = tmp_path / "pairs"
    path.write_bytes("\n".join(pairs).encode("utf-8", errors="surrogatepass"))
    result = symbinv("verify", "--json", "--timeout", "2", "--file", path)
    found = [json.loads(line) for line in result.out.splitlines()]
    assert result.code == 2 and result.err == "" and len(found) == len(pairs)
    assert all(("error" in answer) != ("verdict" in answer) for answer in found)

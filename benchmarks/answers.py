"""Measures how many questions each member of the portfolio answers within 0.1, 1 and 10 seconds, and all together.

    python benchmarks/answers.py --out benchmarks/results/answers-cpu.json   # also writes the table to answers-cpu.md

It takes some 20 minutes on one core, writes each answer at once, and goes on where it was stopped when it is started
again with the same file. Questions are

- the collection: 263 formulas that people write;
- conjunctions of 5, 10, 20 and 40 of Dwyer's patterns, whose propositions are drawn from ten names, so that they meet;
- random formulas of 5 to 10 propositions and 35 to 100 nodes, as Spot's `randltl` draws them;
- families whose size grows, as Spot's `genltl` makes them.

Processes are warm, as in `symbinv solve -`: the seconds are those of a question, its check and, for a proof, the search
of a minimal subset. A question that each member answers within a second is not asked of all
together, where Spot's answer would come as it did. `symbinv solve` with one question is measured from its start to its
end, and a line to `symbinv solve -` from when it is written to its answer.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness import Setting, environment

from hf_symbinv.answers import MEMBERS, Portfolio, Specification, read_collection, read_specification

LIMITS = (0.1, 1.0, 10.0)
# Family of `genltl` -> sizes. Our choice: from one that is easy for all to one that is hard for some.
FAMILIES = {
    "RV_COUNTER": (5, 6, 7),
    "RV_COUNTER_CARRY_LINEAR": (4, 6),
    "PPS_ARBITER_STANDARD": (5, 6),
    "PPS_ARBITER_STRICT": (5, 6),
    "GH_Q": (8, 16),
    "GO_THETA": (6, 8, 10),
    "AND_GF": (8, 16),
    "KR_N": (3, 4),
    "TV_UU": (8, 12),
}
CONJUNCTIONS = {5: 5, 10: 5, 20: 5, 40: 5}
# Propositions -> random formulas. Sizes are drawn between these numbers of nodes.
RANDOM = {5: 12, 7: 12, 10: 12}
SIZES = (35, 100)
ALL = "all"
COLD, WARM = 7, 50


def questions() -> Iterator[tuple[str, str, Specification]]:
    """Set, name and specification of each question."""
    patterns = read_collection()
    for pattern in patterns:
        yield "collection", pattern.name, pattern.specification
    dwyer = [pattern for pattern in patterns if pattern.name.startswith("dwyer/")]
    generator = random.Random(0)
    for size, count in CONJUNCTIONS.items():
        for number in range(count):
            lines = []
            for place, pattern in enumerate(generator.sample(dwyer, size)):
                formula = pattern.specification.properties[0].text
                names = generator.sample("abcdefghij", 6)
                for old in range(6):
                    formula = formula.replace(f"p{old}", f" {names[old]}_ ")
                lines.append(f"p{place}: {formula}")
            yield f"conjunctions of {size}", f"{size}/{number}", read_specification("\n".join(lines))
    import spot
    from spot import gen

    for symbols, count in RANDOM.items():
        drawn = spot.randltl(symbols, seed=symbols, tree_size=SIZES, output="ltl", simplify=0)
        kept = (formula for formula in drawn if SIZES[0] <= nodes(formula) <= SIZES[1])
        for number, formula in zip(range(count), kept, strict=False):
            yield "random", f"{symbols}/{number}", read_specification(f"{formula:p}")
    for family, sizes in FAMILIES.items():
        for size in sizes:
            formula = gen.ltl_pattern(getattr(gen, f"LTL_{family}"), size)
            yield "families", f"{family.lower()}.{size}", read_specification(f"{formula:p}")


def nodes(formula: object) -> int:
    """Operators and names of one of Spot's formulas."""
    return read_specification(f"{formula:p}").properties[0].formula.size


def cold_seconds() -> list[float]:
    """Seconds of `symbinv solve` with one question, from its start to its end."""
    command = [sys.executable, "-m", "symbinv", "solve", "G(request -> F grant)"]
    found = []
    for _ in range(COLD):
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        found.append(time.perf_counter() - start)
    return found


def warm_seconds() -> list[float]:
    """Seconds from a question to its answer, line by line to one `symbinv solve -`."""
    command = [sys.executable, "-m", "symbinv", "solve", "--json", "-"]
    found = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdin is not None and process.stdout is not None
        for _ in range(1 + WARM):  # the first waits for the start
            start = time.perf_counter()
            process.stdin.write("G(request -> F grant)\n")
            assert json.loads(process.stdout.readline())["result"] == "satisfiable"
            found.append(time.perf_counter() - start)
        process.stdin.close()
    return found[1:]


class Record:
    """What was measured, in a file that is written after each answer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        if not self.content:
            self.content = {"environment": environment(Setting()), "rows": []}
        self.known = {(row["who"], row["name"], row["set"]): row for row in self.content["rows"]}

    def times(self, key: str, measure: object) -> None:
        """Measure times once."""
        if key not in self.content:
            self.content[key] = measure()  # type: ignore[operator]
            self.content[f"{key}_load"] = os.getloadavg()[0]
            self.write()

    def ask(self, who: str, group: str, name: str, specification: Specification, portfolio: Portfolio) -> None:
        """Ask one question once."""
        if (who, name, group) in self.known:
            return
        answer = portfolio.answer(specification)
        tried = {one.member: one.outcome for one in answer.tried if one.seconds}
        row = {"who": who, "set": group, "name": name, "result": answer.result, "found_by": answer.found_by,
               "seconds": answer.seconds, "tried": tried}  # fmt: skip
        self.content["rows"].append(row)
        self.known[who, name, group] = row
        self.write()

    def slow(self, who: str, group: str, name: str) -> bool:
        """A member has no answer to a question, or took over a second."""
        row = self.known[who, name, group]
        return row["result"] == "unknown" or row["seconds"] > LIMITS[1]

    def write(self) -> None:
        """Write the values, and their table."""
        self.path.write_text(json.dumps(self.content, indent=1) + "\n", encoding="utf-8")
        self.path.with_suffix(".md").write_text(table(self.content), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; its exit code."""
    command = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("--out", type=Path, required=True, help="FILE.json for every value; its table goes to FILE.md")
    command.add_argument("--every", type=int, default=1, metavar="N", help="take every Nth question (default: all)")
    options = command.parse_args(arguments)
    record = Record(options.out)
    record.times("cold", cold_seconds)
    record.times("warm", warm_seconds)
    asked = list(questions())[:: options.every]
    for who in (*MEMBERS, ALL):
        members = list(MEMBERS) if who == ALL else [who]
        with Portfolio(members, timeout=LIMITS[-1]) as portfolio:
            portfolio.answer(read_specification("F a"))  # its processes start
            for group, name, specification in asked:
                if who != ALL or any(record.slow(member, group, name) for member in MEMBERS):
                    record.ask(who, group, name, specification, portfolio)
    print(table(record.content))
    return 0


def table(content: dict) -> str:
    """The shares of the questions that were answered within each limit, as Markdown."""
    rows = content["rows"]
    lines = []
    whats = {
        "cold": "`symbinv solve` with one question, from start to end",
        "warm": "a line to `symbinv solve -` that is ready",
    }
    for key, what in whats.items():
        if key in content:
            values = content[key]
            lines += [
                f"{what}: median {statistics.median(values):.3f} s, {min(values):.3f} to {max(values):.3f}, "
                f"{len(values)} times, at a load of {content[f'{key}_load']:.1f}.",
                "",
            ]
    lines += [
        f"| questions | who | {' | '.join(f'within {limit:g} s' for limit in LIMITS)} | answered by |",
        "|---|---|---|---|---|---|",
    ]
    members = [who for who in dict.fromkeys(row["who"] for row in rows) if who != ALL]
    for group in dict.fromkeys(row["set"] for row in rows):
        for who in dict.fromkeys(row["who"] for row in rows):
            mine = [row for row in rows if (row["set"], row["who"]) == (group, who)]
            if not mine:
                continue
            solved = [row for row in mine if row["result"] != "unknown"]
            shares = [sum(row["seconds"] <= limit for row in solved) for limit in LIMITS]
            finders = [f"{name} {sum(row['found_by'] == name for row in solved)}" for name in members]
            cells = " | ".join(f"{share} of {len(mine)}" for share in shares)
            called = f"{who}, where {' or '.join(MEMBERS)} took over a second" if who == ALL else who
            lines.append(f"| {group} | {called} | {cells} | {', '.join(finders) if who == ALL else ''} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())

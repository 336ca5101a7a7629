"""Measures how many questions each member of the portfolio answers within 0.1, 1 and 10 seconds, and all together.

    python benchmarks/answers.py --out benchmarks/results/answers-cpu.json   # also writes the table to answers-cpu.md

Three sets of questions: the collection; conjunctions of 5, 10 and 20 of Dwyer's patterns, whose propositions are drawn
from ten names, so that they meet; and families whose size grows, as Spot's `genltl` makes them. Processes are warm, as
in `symbinv solve -`: the seconds are those of a question, its check and, for a proof, the search of a minimal subset. A
start of `symbinv solve` with one question is measured beside them.
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
CONJUNCTIONS = {5: 10, 10: 10, 20: 10}


def questions(every: int) -> Iterator[tuple[str, str, Specification]]:
    """Set, name and specification of each question; of the sets, every so manyth."""
    patterns = read_collection()
    for pattern in patterns[::every]:
        yield "collection", pattern.name, pattern.specification
    dwyer = [pattern for pattern in patterns if pattern.name.startswith("dwyer/")]
    generator = random.Random(0)
    for size, count in CONJUNCTIONS.items():
        for number in range(max(count // every, 2)):
            lines = []
            for place, pattern in enumerate(generator.sample(dwyer, size)):
                formula = pattern.specification.properties[0].text
                names = generator.sample("abcdefghij", 6)
                for old in range(6):
                    formula = formula.replace(f"p{old}", f" {names[old]}_ ")
                lines.append(f"p{place}: {formula}")
            yield f"conjunctions of {size}", f"{size}/{number}", read_specification("\n".join(lines))
    from spot import gen

    for family, sizes in FAMILIES.items():
        for size in sizes:
            formula = gen.ltl_pattern(getattr(gen, f"LTL_{family}"), size)
            yield "families", f"{family.lower()}.{size}", read_specification(f"{formula:p}")


def cold_seconds(repeats: int) -> list[float]:
    """Seconds of `symbinv solve` with one question, from its start to its end."""
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "symbinv", "solve", "G(request -> F grant)"], stdout=subprocess.DEVNULL, check=True
        )
        found.append(time.perf_counter() - start)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; its exit code."""
    command = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("--out", type=Path, required=True, help="FILE.json for every value; its table goes to FILE.md")
    command.add_argument("--every", type=int, default=1, metavar="N", help="take every Nth question (default: all)")
    options = command.parse_args(arguments)
    asked = list(questions(options.every))
    report = {
        "environment": environment(Setting()),
        "load": os.getloadavg()[0],
        "every": options.every,
        "cold": cold_seconds(7),
        "rows": [],
    }
    for who in (*([name] for name in MEMBERS), list(MEMBERS)):
        with Portfolio(who, timeout=LIMITS[-1]) as portfolio:
            portfolio.answer(read_specification("F a"))  # its processes start
            for group, name, specification in asked:
                answer = portfolio.answer(specification)
                row = {"who": "+".join(who), "set": group, "name": name, "result": answer.result,
                       "found_by": answer.found_by, "seconds": answer.seconds}  # fmt: skip
                report["rows"].append(row)
        options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        options.out.with_suffix(".md").write_text(table(report), encoding="utf-8")
    print(table(report))
    return 0


def table(report: dict) -> str:
    """The shares of the questions that were answered within each limit, as Markdown."""
    rows = report["rows"]
    cold = report["cold"]
    lines = [
        f"`symbinv solve` with one question: median {statistics.median(cold):.2f} s from its start to its end, "
        f"{min(cold):.2f} to {max(cold):.2f}, at a load of {report['load']:.1f}. Every {report['every']}th question is "
        "asked of processes that are warm.",
        "",
        f"| questions | who | {' | '.join(f'within {limit:g} s' for limit in LIMITS)} | answered by |",
        "|---|---|---|---|---|---|",
    ]
    for group in dict.fromkeys(row["set"] for row in rows):
        for who in dict.fromkeys(row["who"] for row in rows):
            mine = [row for row in rows if (row["set"], row["who"]) == (group, who)]
            solved = [row for row in mine if row["result"] != "unknown"]
            shares = [sum(row["seconds"] <= limit for row in solved) for limit in LIMITS]
            finders = [f"{name} {sum(row['found_by'] == name for row in solved)}" for name in MEMBERS]
            cells = " | ".join(f"{share} of {len(mine)}" for share in shares)
            lines.append(
                f"| {group} | {who.replace('+', ', ')} | {cells} | {', '.join(finders) if '+' in who else ''} |"
            )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())

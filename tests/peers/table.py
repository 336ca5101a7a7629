"""Runs transformers' own tests and writes their results into docs/compatibility.md: `python tests/peers/table.py`.

Needs all sources, see `fetch.py`. With `--controls`, models of transformers stand beside ours.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
import torch
import transformers
from fetch import COMMIT, VERSION, missing

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "compatibility.md"
CONTROLS = "test_controls.py"
OUTCOMES = ("passed", "failed", "skipped")
TEXT = """# Under transformers' own tests

transformers tests its own models with classes that any model can be put into: `ModelTesterMixin`,
`GenerationTesterMixin`, `ExportTesterMixin`, `ConfigTester`, `TokenizerTesterMixin`, and GPT-2's own test file. Here
are all public models and tokenizers of this package in them. The tests are those of transformers {version}, and what no
release holds is that of
[commit {short}](https://github.com/huggingface/transformers/tree/{commit}/tests); transformers {installed} and torch
{torch} ran them.

{results}

Tests that compile take minutes each: `make test` runs them where all sources are there, this table leaves them out.

`tests/peers` has the programs: `python tests/peers/fetch.py` fetches the tests, pytest runs them, and
`python tests/peers/table.py` writes this page. Where GitHub cannot be reached, what PyPI holds is run.

## Left out

These tests do not hold for these models, by what the models are. Each was run too: one that would pass fails the run.

{left_out}

Where only an axis of streams is more than transformers expects, the test is run with one stream taken out; see
`tests/peers/test_symbol_invariant_models.py`.

## Skipped by transformers

These tests skip themselves, for their own reasons.

{skipped}
"""


class Results:
    """A plugin of pytest that remembers how each test ended."""

    def __init__(self) -> None:
        self.subjects: dict[str, str] = {}
        self.outcomes: dict[str, str] = {}
        self.reasons: dict[str, str] = {}

    def pytest_collection_modifyitems(self, items: Iterable[pytest.Item]) -> None:
        """Names the classes that each test is about; that of `test_sources.py` is about none."""
        for item in items:
            if tests := item.getparent(pytest.Class):
                tested = getattr(tests.obj, "all_model_classes", None) or [tests.obj.tokenizer_class]
                self.subjects[item.nodeid] = ", ".join(f"`{one.__name__}`" for one in tested)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes the end of a test; of its parts and its phases, the worst."""
        is_whole = type(report) is pytest.TestReport
        if report.failed or (is_whole and report.skipped):
            self.outcomes[report.nodeid] = report.outcome
        elif is_whole:
            self.outcomes.setdefault(report.nodeid, report.outcome)
        if is_whole and report.skipped:
            self.reasons[report.nodeid] = report.longrepr[2].removeprefix("Skipped: ")


def run(path: Path) -> Results:
    """The results of one file."""
    results = Results()
    pytest.main(
        ["-q", "-W", "ignore", "-p", "no:cacheprovider", "--tb=line", "-k", "not compil", str(path)], plugins=[results]
    )
    return results


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    head = list(head)
    cells = [
        [" ".join(str(cell).replace("|", "\\|").split()) for cell in row] for row in (head, ["---"] * len(head), *rows)
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in cells)


def page(results: Results) -> str:
    """The text of the page."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    left_out: dict[tuple[str, str], list[str]] = defaultdict(list)
    own: Counter[str] = Counter()
    for test, subject in results.subjects.items():
        outcome, reason = results.outcomes.get(test, "not run"), results.reasons.get(test, "")
        counts[subject][outcome] += 1
        if reason.startswith("by nature: "):
            counts[subject]["by nature"] += 1
            name = test.split("::")[-1].removeprefix("test_")
            left_out[subject, reason.removeprefix("by nature: ")].append(f"`{name}`")
        elif outcome == "skipped" and CONTROLS not in test:
            own[reason] += 1
    controls = {subject for test, subject in results.subjects.items() if CONTROLS in test}
    rows = [
        (f"{subject}, for comparison" if subject in controls else subject,
         *(counts[subject][kind] for kind in (*OUTCOMES, "by nature")))
        for subject in sorted(counts, key=lambda subject: subject in controls)
    ]  # fmt: skip
    return TEXT.format(
        version=VERSION,
        short=COMMIT[:12],
        commit=COMMIT,
        installed=transformers.__version__,
        torch=torch.__version__.split("+")[0],
        results=_table(("class", *OUTCOMES, "of these left out by us"), rows),
        left_out=_table(("class", "reason", "tests"), ((*key, ", ".join(names)) for key, names in left_out.items())),
        skipped=_table(("reason", "tests"), own.most_common()),
    )


def main() -> int:
    """Runs the tests, each file in a process of its own, and writes the page; 1 if a test failed."""
    if missing():
        sys.exit(f"the page shows all tests, but {missing()}")
    files = [path for path in sorted(HERE.glob("test_*.py")) if path.name != CONTROLS or "--controls" in sys.argv]
    everything = Results()
    with ProcessPoolExecutor(len(files), mp_context=get_context("spawn")) as pool:
        for results in pool.map(run, files):
            for name, known in vars(everything).items():
                known |= getattr(results, name)
    PAGE.write_text(page(everything), encoding="utf-8")
    return int("failed" in everything.outcomes.values())


if __name__ == "__main__":
    sys.exit(main())

"""Copying with an extendable vocabulary: random strings and their copies, in the three sizes of the paper.

As a `datasets` builder:

    from hf_symbinv.datasets_scripts.questions.copying import Copying
    builder = Copying("copy_20_80", rows=100_000)
    builder.download_and_prepare()
    train = builder.as_dataset(split="train")

and as a command that leaves a folder with Parquet files and a card:

    python -m hf_symbinv.datasets_scripts.questions.copying --output data/copy --num-symbols 5 --rows 1000

No string comes twice, so there are fewer short ones than long ones, and of 5 to 10 symbols out of 5 there are 12.2
million in all.

Source: ITE, Appendix E.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from hf_symbinv.datasets_scripts.command import main
from hf_symbinv.datasets_scripts.questions.builder import RandomQuestions, RandomQuestionsConfig


@dataclass
class CopyingConfig(RandomQuestionsConfig):
    """`RandomQuestionsConfig` of the task `copy`."""

    task: str = "copy"
    min_size: int = 3
    max_size: int = 30
    rows: int = 10_000_000


class Copying(RandomQuestions):
    """Copying as a builder; keyword arguments are fields of `CopyingConfig`."""

    BUILDER_CONFIG_CLASS = CopyingConfig
    BUILDER_CONFIGS = [
        CopyingConfig(name="copy_3_30", description="Lengths 3 to 30, 5 symbols (ITE E.1)"),
        CopyingConfig(name="copy_5_10", min_size=5, max_size=10, description="Lengths 5 to 10, 5 symbols (ITE E.2)"),
        CopyingConfig(
            name="copy_20_80",
            num_symbols=20,
            min_size=20,
            max_size=80,
            description="Lengths 20 to 80, 20 symbols (ITE E.5)",
        ),
    ]
    DEFAULT_CONFIG_NAME = "copy_3_30"


if __name__ == "__main__":
    sys.exit(main(defaults=CopyingConfig(name="custom")))

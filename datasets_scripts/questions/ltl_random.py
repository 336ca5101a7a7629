"""LTLRandom: random LTL formulas with witnesses, by DeepLTL's recipe.

As a `datasets` builder:

    from hf_symbinv.datasets_scripts.questions.ltl_random import LtlRandom
    builder = LtlRandom(num_symbols=5, max_size=35, rows=1000)
    builder.download_and_prepare(num_proc=4)
    train = builder.as_dataset(split="train")

and as a command that leaves a folder with Parquet files and a card:

    python -m hf_symbinv.datasets_scripts.questions.ltl_random --output data/ltl --num-symbols 5 --rows 1000
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from hf_symbinv.datasets_scripts.command import main
from hf_symbinv.datasets_scripts.questions.builder import RandomQuestions, RandomQuestionsConfig


@dataclass
class LtlRandomConfig(RandomQuestionsConfig):
    """`RandomQuestionsConfig` of the task `ltl`."""

    task: str = "ltl"


class LtlRandom(RandomQuestions):
    """LTLRandom as a builder; keyword arguments are fields of `LtlRandomConfig`."""

    BUILDER_CONFIG_CLASS = LtlRandomConfig
    BUILDER_CONFIGS = [
        LtlRandomConfig(name="ltl_random35", description="The paper's: 5 symbols, up to 35 nodes, a million pairs"),
        LtlRandomConfig(name="ltl_random35_10", num_symbols=10, description="The same with 10 symbols"),
    ]
    DEFAULT_CONFIG_NAME = "ltl_random35"


if __name__ == "__main__":
    sys.exit(main(defaults=LtlRandomConfig(name="custom")))

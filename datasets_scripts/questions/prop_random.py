"""PropRandom: random propositional formulas with partial assignments.

As a `datasets` builder:

    from hf_symbinv.datasets_scripts.questions.prop_random import PropRandom
    builder = PropRandom("prop_random50_10", rows=1000)
    builder.download_and_prepare(num_proc=4)
    train = builder.as_dataset(split="train")

and as a command that leaves a folder with Parquet files and a card:

    python -m hf_symbinv.datasets_scripts.questions.prop_random --output data/prop --num-symbols 5 --rows 1000
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from hf_symbinv.datasets_scripts.command import main
from hf_symbinv.datasets_scripts.questions.builder import RandomQuestions, RandomQuestionsConfig


@dataclass
class PropRandomConfig(RandomQuestionsConfig):
    """`RandomQuestionsConfig` of the task `prop`."""

    task: str = "prop"


class PropRandom(RandomQuestions):
    """PropRandom as a builder; keyword arguments are fields of `PropRandomConfig`."""

    BUILDER_CONFIG_CLASS = PropRandomConfig
    BUILDER_CONFIGS = [
        PropRandomConfig(name="prop_random35", description="The paper's: 5 symbols, up to 35 nodes, a million pairs"),
        PropRandomConfig(
            name="prop_random50_10", num_symbols=10, max_size=50, description="10 symbols, up to 50 nodes"
        ),
    ]
    DEFAULT_CONFIG_NAME = "prop_random35"


if __name__ == "__main__":
    sys.exit(main(defaults=PropRandomConfig(name="custom")))

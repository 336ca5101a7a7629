"""The papers' benchmarks as builders of `datasets`: random formulas of two logics, and strings with their copies.

    from hf_symbinv import LtlRandom
    builder = LtlRandom(num_symbols=5, max_size=35, rows=1000)
    builder.download_and_prepare(num_proc=4)
    train = builder.as_dataset(split="train")

`symbinv data --task ltl --num-symbols 5 --max-size 35 --rows 1000 --output data/ltl` makes the same rows, as a folder
with Parquet files and a card.

Source: DeepLTL for formulas; ITE, Appendix E, for copies. No string comes twice, so there are fewer short ones than
long ones, and of 5 to 10 symbols out of 5 there are 12.2 million in all.
"""

from __future__ import annotations

from dataclasses import dataclass

from hf_symbinv.datasets_scripts.questions.builder import RandomQuestions, RandomQuestionsConfig


@dataclass
class LtlRandomConfig(RandomQuestionsConfig):
    """`RandomQuestionsConfig` of the task `ltl`."""

    task: str = "ltl"


class LtlRandom(RandomQuestions):
    """Random LTL formulas with witnesses; keyword arguments are fields of `LtlRandomConfig`."""

    BUILDER_CONFIG_CLASS = LtlRandomConfig


@dataclass
class PropRandomConfig(RandomQuestionsConfig):
    """`RandomQuestionsConfig` of the task `prop`."""

    task: str = "prop"


class PropRandom(RandomQuestions):
    """Random propositional formulas with assignments; keyword arguments are fields of `PropRandomConfig`."""

    BUILDER_CONFIG_CLASS = PropRandomConfig


@dataclass
class CopyingConfig(RandomQuestionsConfig):
    """`RandomQuestionsConfig` of the task `copy`."""

    task: str = "copy"
    min_size: int = 3
    max_size: int = 30
    rows: int = 10_000_000


class Copying(RandomQuestions):
    """Random strings with their copies; keyword arguments are fields of `CopyingConfig`."""

    BUILDER_CONFIG_CLASS = CopyingConfig

"""What benchmarks measure with: real LTL questions and answers, and models of the paper's sizes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from harness import Setting

from hf_symbinv import LTL, SymbolInvariantConfig, SymbolInvariantForConditionalGeneration

if TYPE_CHECKING:
    from hf_symbinv.datasets_scripts.storage import Pair

TOY = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "num_attention_heads": 2, "d_ff": 24}
BASE = len(LTL.base_tokens)


def model_config(setting: Setting, **fields: object) -> SymbolInvariantConfig:
    """The paper's LTL model (SIT Table 5), or a toy one."""
    return SymbolInvariantConfig.from_preset("ltl", **{**(TOY if setting.tiny else {}), **fields})


def paper_model(setting: Setting, **fields: object) -> SymbolInvariantForConditionalGeneration:
    """The paper's LTL model with random weights, in evaluation mode."""
    torch.manual_seed(0)
    model = SymbolInvariantForConditionalGeneration(model_config(setting, **fields))
    return model.to(setting.device).eval()


def trained_model(setting: Setting) -> SymbolInvariantForConditionalGeneration:
    """The bundled checkpoint, whose answers have the lengths of real ones."""
    from hf_symbinv.evaluation import load_checkpoint

    return load_checkpoint("ltl-small", setting.device).model


def ltl_pairs(count: int, largest: int = 35) -> list[Pair]:
    """Pairs of LTLRandom35 (SIT section 5.2) of all sizes, made by the builder of this package in a few seconds."""
    from hf_symbinv.datasets_scripts.questions.benchmarks import LtlRandomConfig
    from hf_symbinv.datasets_scripts.questions.builder import generate  # loads `datasets`, which few benchmarks need

    config = LtlRandomConfig(name="benchmark", max_size=largest, rows=count, timeout=1.0)
    with tempfile.TemporaryDirectory() as folder:
        pairs = generate(config, Path(folder), None, progress=False).pairs[:count]
    order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(0)).tolist()  # of sizes
    return [pairs[i] for i in order]


def ltl_rows(count: int, largest: int = 35) -> list[dict[str, list[int]]]:
    """`ltl_pairs`, tokenized."""
    pairs = ltl_pairs(count, largest)
    encoded = LTL.tokenizer()(
        [pair.question for pair in pairs], text_target=[pair.answer for pair in pairs], return_attention_mask=False
    )
    columns = zip(encoded["input_ids"], encoded["labels"], strict=True)
    return [{"input_ids": question, "labels": answer} for question, answer in columns]


def ltl_questions(count: int, symbols: int, largest: int, seed: int = 0) -> list[str]:
    """Random formulas with exactly so many symbols, at least half as large as the largest, in prefix notation."""
    names, found = LTL_NAMES[:symbols], []
    while len(found) < count:
        drawn = LTL.draw(names, largest // 2, largest, seed, 4 * count)
        found += [text for text in dict.fromkeys(drawn) if len(LTL.symbols(text)) == symbols]
        seed += 1
    return found[:count]


LTL_NAMES = tuple("abcdefghijklmnopqrstuvwxyz")


def encoded(setting: Setting, questions: list[str]) -> dict[str, torch.Tensor]:
    """`input_ids` and `attention_mask` of questions."""
    batch = LTL.tokenizer()(questions, padding=True, return_tensors="pt")
    return dict(batch.to(setting.device))


def synthetic_batch(
    setting: Setting, batch: int, symbols: int, length: int, answer: int, seed: int = 0
) -> dict[str, torch.Tensor]:
    """Random ids: questions `(batch, length)` are formulas that have every symbol, and answers are equally long.

    Binary operators first and leaves after them, all symbols in turn: what a batch costs depends on its shape only.
    """
    generator = torch.Generator().manual_seed(seed)
    operators = (length - 1) // 2
    leaves = torch.stack([torch.randperm(symbols, generator=generator) for _ in range(batch)]) + BASE
    leaves = leaves.repeat(1, length // symbols + 1)[:, : operators + 1]
    ids = torch.cat((torch.full((batch, operators), 5), leaves), dim=1)
    labels = torch.randint(BASE, BASE + symbols, (batch, answer), generator=generator)
    batch_of = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}
    return {name: tensor.to(setting.device) for name, tensor in batch_of.items()}

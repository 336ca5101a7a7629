"""Beam search beside itself without what makes it fast, and beside Hugging Face's BART."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from harness import Row, Setting, in_turn
from inputs import encoded, ltl_questions, model_config, paper_model, trained_model
from transformers import BartConfig, BartForConditionalGeneration, pipeline

import hf_symbinv

BEAMS = {"num_beams": 3, "length_penalty": 1.0, "early_stopping": False}
TOKENS = 100


def decoder(model: Any, batch: dict[str, torch.Tensor], **options: Any) -> Callable[[], None]:
    """Decodes a batch: at most `TOKENS` tokens with the paper's three beams unless `options` say else."""

    def decode() -> None:
        with torch.no_grad():
            model.generate(**batch, **{**BEAMS, "max_new_tokens": TOKENS, **options})

    return decode


def fixed(tokens: int) -> dict[str, Any]:
    """Options of `generate` with which every answer takes exactly so many tokens."""
    return {"min_new_tokens": tokens, "max_new_tokens": tokens, "grammar": None}


def sizes(setting: Setting) -> tuple[int, int, int]:
    """Questions, their size, and tokens of an answer."""
    return (4, 12, 6) if setting.tiny else (32, 30, TOKENS)


def cached(setting: Setting) -> list[Row]:
    """With a cache and without: real answers of the bundled checkpoint, and answers of exactly 100 tokens."""
    count, size, tokens = sizes(setting)
    model, rows = trained_model(setting), []
    batch = encoded(setting, ltl_questions(count // 2, 3, size))
    for name, length, goal, options in (
        ("decoding-no-cache", f"at most {TOKENS}", 6, {"max_new_tokens": tokens}),
        (f"decoding-no-cache-exactly-{TOKENS}", f"exactly {TOKENS}", 8, fixed(tokens)),
    ):
        without = decoder(model, batch, **options, use_cache=False)
        mine, theirs = in_turn(setting, decoder(model, batch, **options), without)
        what, note = f"beam-3 decoding, {length} tokens, bundled checkpoint", f"batch {count // 2}"
        rows.append(Row(name, what, "the same without a cache", "s", "at least", goal, mine, theirs, note))
    return rows


# Whoever asks for the scores of all steps has every question computed to the last step.
ALL_STEPS = {"return_dict_in_generate": True, "output_scores": True}


def finished(setting: Setting) -> list[Row]:
    """Questions whose answers can no longer change are left out, or computed until the last one is done."""
    count, size, tokens = sizes(setting)
    model = trained_model(setting)
    batch = encoded(setting, ltl_questions(count, 3, size))
    ours, peer = (decoder(model, batch, max_new_tokens=tokens, **options) for options in ({}, ALL_STEPS))
    mine, theirs = in_turn(setting, ours, peer)
    what = "beam-3 decoding, at most 100 tokens, bundled checkpoint"
    against = "the same with finished questions computed to the end"
    return [Row("decoding-finished", what, against, "s", "at least", 1.5, mine, theirs, f"batch {count}")]


def bart_model(setting: Setting) -> BartForConditionalGeneration:
    """BART with the widths and depths of the paper's LTL model, one stream, and a row for each of five symbols."""
    config = model_config(setting)
    torch.manual_seed(0)
    bart = BartConfig(
        vocab_size=config.vocab_size, d_model=config.d_model, activation_function="relu",
        encoder_layers=config.encoder_layers, decoder_layers=config.decoder_layers,
        encoder_attention_heads=config.num_attention_heads, decoder_attention_heads=config.num_attention_heads,
        encoder_ffn_dim=config.d_ff, decoder_ffn_dim=config.d_ff, max_position_embeddings=512,
        pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=0, forced_eos_token_id=None,
    )  # fmt: skip
    return BartForConditionalGeneration(bart).to(setting.device).eval()


def bart(setting: Setting) -> list[Row]:
    """One symbol, so one stream on both sides; answers of exactly 100 tokens, as neither model has learned to end."""
    count, size, tokens = sizes(setting)
    model, peer = paper_model(setting), bart_model(setting)
    batch = encoded(setting, ltl_questions(count, 1, size // 2))
    bart_options = {**fixed(tokens), "do_sample": False}
    bart_options.pop("grammar")
    mine, theirs = in_turn(setting, decoder(model, batch, **fixed(tokens)), decoder(peer, batch, **bart_options))
    what, against = "beam-3 decoding of 100 tokens, 1 symbol", "Hugging Face BART of the same width and depth"
    return [Row("decoding-bart", what, against, "s", "at most", 0.7, mine, theirs, f"batch {count}")]


def ten_symbols(setting: Setting) -> list[Row]:
    """Questions of the same length with ten symbols and with one."""
    count, size, tokens = sizes(setting)
    model = paper_model(setting)
    many, one = (encoded(setting, ltl_questions(count, symbols, size)) for symbols in ((3 if setting.tiny else 10), 1))
    mine, theirs = in_turn(setting, decoder(model, many, **fixed(tokens)), decoder(model, one, **fixed(tokens)))
    goal = 1.3 if setting.device == "cuda" else 4
    what, against = "beam-3 decoding of 100 tokens, 10 symbols", "itself with 1 symbol"
    return [Row("decoding-10-symbols", what, against, "s", "at most", goal, mine, theirs, f"batch {count}")]


def top_25(setting: Setting) -> list[Row]:
    """25 beams and candidates beside 3, for many questions and for one."""
    count, size, tokens = sizes(setting)
    model, rows = trained_model(setting), []
    for number in (count // 2, 1):
        batch = encoded(setting, ltl_questions(number, 3, size))
        wide, narrow = (
            decoder(model, batch, num_beams=beams, num_return_sequences=beams, max_new_tokens=tokens)
            for beams in ((5 if setting.tiny else 25), 3)
        )
        mine, theirs = in_turn(setting, wide, narrow)
        what, name = "top-25 decoding, bundled checkpoint", f"decoding-top-25-batch-{number}"
        rows.append(Row(name, what, "itself with top-3", "s", "at most", 3, mine, theirs, f"batch {number}"))
    return rows


def one_at_a_time(setting: Setting) -> list[Row]:
    """Each question a batch of its own, so that no score depends on the others, and all of them in one batch."""
    count, size, tokens = sizes(setting)
    pipe = pipeline("ltl-witness", model=hf_symbinv.checkpoint("ltl-small"), device=setting.device)
    questions = ltl_questions(count, 3, size)

    def asked(batch_size: int) -> Callable[[], None]:
        def ask() -> None:
            pipe(questions, batch_size, notation="prefix", max_new_tokens=tokens, **BEAMS)

        return ask

    mine, theirs = in_turn(setting, asked(1), asked(count))
    what, against = f"{count} questions with `batch_size=1`, bundled checkpoint", "the same in one batch"
    return [Row("decoding-one-at-a-time", what, against, "s", "at most", 3, mine, theirs, f"at most {tokens} tokens")]


BENCHMARKS = {
    "decoding-no-cache": cached,
    "decoding-finished": finished,
    "decoding-bart": bart,
    "decoding-10-symbols": ten_symbols,
    "decoding-top-25": top_25,
    "decoding-one-at-a-time": one_at_a_time,
}

"""Learns to differentiate terms in which functions have names only: f is a symbol, and f' is another view of it.

    D x @ g() @ f() x   →   * @ g' @ f() x @ f' x

The left asks for the derivative of g(f(x)) by x. Variables, functions and derivatives of functions are the views "",
"()" and "'" of symbols.

    python -m papers.shapes.train_derivatives [--embedding canonical] [--steps 600]
"""

import argparse
import random
from string import ascii_lowercase

import torch

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForConditionalGeneration, SymbolInvariantTokenizer
from hf_symbinv.metrics import wilson_interval
from papers.shapes.named_functions import BASE_TOKENS, VIEWS, question


def questions(rng: random.Random, count: int, kinds: int = 2) -> tuple[list[str], list[str]]:
    """Terms over so many variables and as many functions, and their derivatives."""
    pairs = [question(rng, ascii_lowercase, size=3, kinds=kinds) for _ in range(count)]
    return [asked for asked, _ in pairs], [answer for _, answer in pairs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--embedding", default="streams", help="symbol_embedding: canonical, learned, ...")
    parser.add_argument("--steps", type=int, default=600, help="of training, with 64 questions each")
    args = parser.parse_args()
    torch.manual_seed(0)
    with_rows = args.embedding in ("learned", "renamed", "random")
    tokenizer = SymbolInvariantTokenizer(BASE_TOKENS, views=VIEWS, fixed_names=ascii_lowercase if with_rows else None)
    config = SymbolInvariantConfig(
        base_vocab_size=len(BASE_TOKENS), num_symbols=26, num_views=len(VIEWS), symbol_embedding=args.embedding,
        d_model=64, d_ff=256, encoder_layers=2, decoder_layers=2, dropout=0.0, loss="cross_entropy",
        normalize_embeddings=False, normalize_features=False,
    )  # fmt: skip
    model = SymbolInvariantForConditionalGeneration(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=args.steps)
    rng = random.Random(0)
    for step in range(args.steps):
        asked, answers = questions(rng, 64)
        batch = tokenizer(asked, text_target=answers, padding=True, return_tensors="pt")
        batch["labels"].masked_fill_(batch["labels"] == tokenizer.pad_token_id, -100)
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step(), schedule.step(), optimizer.zero_grad()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)
    for kinds in (2, 4):
        asked, answers = questions(random.Random(1), 500, kinds=kinds)
        inputs = tokenizer(asked, padding=True, return_tensors="pt")
        ids = model.eval().generate(**inputs, max_new_tokens=60)
        written = tokenizer.batch_decode(ids, symbols=inputs.symbols, skip_special_tokens=True)
        known = tokenizer(asked, text_target=answers)
        wanted = tokenizer.batch_decode(known["labels"], symbols=known.symbols, skip_special_tokens=True)
        correct = sum(map(str.__eq__, written, wanted))
        low, high = wilson_interval(correct, len(asked))
        print(f"{2 * kinds} names: {correct} of {len(asked)} right, 95 % interval {low:.3f} to {high:.3f}")


if __name__ == "__main__":
    main()

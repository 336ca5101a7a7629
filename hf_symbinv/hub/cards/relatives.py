"""What holds for models that are trained to do something else than to answer questions with symbols.

A **relative** is a family of such models, from one paper: language models, and readers of sequences that give numbers
or classes. Its **variants** are the paper's own model and those that the paper compares with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hf_symbinv.hub.cards.descriptions import Embedding
from hf_symbinv.hub.cards.papers import ABSTRACT_SYMBOLS, LEXINVARIANT, RENAMER, SIT, Paper

# What the snippets of relatives load; a model's own card has its name instead.
NAME = '"OWNER/NAME"'
# Variants to which names matter.
_BASELINES = ("regularised", "learned", "renamed", "vanilla")


@dataclass(frozen=True, slots=True)
class Head:
    """A class of models.

    Attributes:
        pipeline_tag: The Hub's name for what they do.
        snippet: A program that needs no package but transformers, whatever the model's sizes.
    """

    pipeline_tag: str
    snippet: str


@dataclass(frozen=True, slots=True)
class Relative:
    """A family of models, for `relative.md.jinja` and in the place of a task's `Kind` in `model.md.jinja`.

    Attributes:
        title: What its models are for.
        tags: On the Hub.
        heads: Architecture -> what such models do; the family's own first.
        variants: Name -> what such models make of symbols; the paper's own first.
        fields: Of the configuration, those that say what model it is.
        setting: What of the configuration makes a model one of the family.
        use: What they are good for.
        misuse: What they are not good for.
        example: A program that uses the package and one of its data sets' tokens.
        data: What they are trained on.
        training: A command that trains one, and what turns it into one that the paper compares with.
        tables: Experiments of `python -m papers`.
        known: Numbers of the paper.
        limits: What to know before using one.
        papers: That it is from.
    """

    title: str
    tags: tuple[str, ...]
    heads: Mapping[str, Head]
    variants: Mapping[str, Embedding]
    fields: tuple[str, ...]
    setting: str
    use: str
    misuse: str
    example: str
    data: str
    training: str
    tables: tuple[str, ...]
    known: tuple[str, ...]
    limits: tuple[str, ...]
    papers: tuple[Paper, ...]

    def head(self, config: Mapping[str, Any]) -> Head | None:
        """That of the model with this `config.json`; None if it is none of the family's."""
        names = config.get("architectures") or [next(iter(self.heads))]
        return self.heads.get(names[0])

    def of_variant(self, variant: str) -> Relative:
        """The family, with what a variant of it is good for."""
        if variant not in _BASELINES:
            return self
        own = next(iter(self.variants.values()))
        return replace(self, use=f"comparisons with a {own.title}", misuse="where names of symbols must not matter")


_LANGUAGE_MODEL = Head(
    "text-generation",
    """\
import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("OWNER/NAME", trust_remote_code=True).eval()
symbol = model.config.base_vocab_size  # ids from here on are symbols
ids = torch.tensor([[0, symbol, symbol + 1, symbol, symbol + 1, symbol]])  # 0 is <s>
print(model.generate(ids, max_new_tokens=4, do_sample=False))
""",
)
_READER = Head(
    "text-classification",
    """\
import torch
from transformers import AutoModelForSequenceClassification

model = AutoModelForSequenceClassification.from_pretrained("OWNER/NAME", trust_remote_code=True).eval()
one = model.config.base_vocab_size  # the first symbol under its first view
two = one + model.config.num_views  # the second
for ids in ([one, two, one], [two, one, two]):
    print(model(torch.tensor([ids])).logits)
""",
)
_GPT2 = Head(
    "text-generation",
    """\
import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("OWNER/NAME", trust_remote_code=True).eval()
print(model(torch.tensor([[1, 2, 1]])).logits[0, -1].argmax())
""",
)
_GPT2_READER = Head(
    "text-classification",
    """\
import torch
from transformers import AutoModelForSequenceClassification

model = AutoModelForSequenceClassification.from_pretrained("OWNER/NAME", trust_remote_code=True).eval()
print(model(torch.tensor([[1, 2, 1]])).logits)
""",
)

_OWN_ROWS = "Predictions depend on names. There are as many symbols as rows."
_IDENTITY_FIELDS = ("identity_qk", "identity_vo", "identity_multiplier")

RELATIVES = {
    "lexinvariant": Relative(
        title="sequences of symbols",
        tags=("symbol-invariance", "lexinvariant"),
        heads={"SymbolInvariantForCausalLM": _LANGUAGE_MODEL},
        variants={
            "gaussian": Embedding(
                "lexinvariant language model",
                "Every sequence gets its own embedding of symbols: independent standard normal rows, with one learned "
                "scale and bias for all. The same rows project the decoder's states to predictions.",
                "No weight belongs to a symbol, so all that the model knows of one it has from the sequence. With the "
                "rows renamed along, a renaming of the sequence renames the predictions; the rows are drawn, so two "
                "runs differ, and `num_draws` averages over several draws.",
            ),
            "regularised": Embedding(
                "language model, regularised towards lexinvariance,",
                "Every symbol has an embedding row of its own, and in training, with a probability, a standard normal "
                "row of the sequence's own instead.",
                _OWN_ROWS,
            ),
            "learned": Embedding(
                "language model with a fixed vocabulary",
                "Every symbol has an embedding row of its own, learned like any other: the paper's standard model.",
                _OWN_ROWS,
            ),
            "renamed": Embedding(
                "language model trained with renamed symbols",
                "Every symbol has an embedding row of its own, and in training the rows are permuted, or a random part "
                "of them, in every sequence anew.",
                _OWN_ROWS,
            ),
        },
        fields=(
            "symbol_embedding", "random_share", "num_symbols", "d_model", "decoder_layers", "num_attention_heads",
            "d_ff", "activation_function", "dropout", "decoder_positions", "loss", *_IDENTITY_FIELDS,
        ),
        setting="no encoder layers and `symbol_embedding=\"gaussian\"`",
        use="studying what can be inferred of symbols from their context alone: ciphers, puzzles over symbols",
        misuse="as a language model of texts whose words are known: it has to find out in every text which symbol is "
        "which",
        example="""\
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained("OWNER/NAME", trust_remote_code=True).eval()
tokenizer = AutoTokenizer.from_pretrained("OWNER/NAME", trust_remote_code=True)
inputs = tokenizer("abracadabra abracad", return_tensors="pt")
logits = model(inputs.input_ids, num_draws=8).logits[0, -1]
print(tokenizer.decode(logits.argmax()))
""",
        data="Windows of characters of any text, which `python -m hf_symbinv.datasets_scripts.language.characters` "
        "cuts, or a random Markov language. Every character is a symbol.",
        training="`accelerate launch examples/train_lexinvariant.py --output runs/lexinvariant` trains a small one on "
        "characters, and with `model.symbol_embedding=learned` the standard model; the preset `lexinvariant` has the "
        "paper's sizes.",
        tables=("lexinv-markov", "lexinv-text", "lexinv-cipher", "lexinv-symbols"),
        known=(
            "characters of the Pile, 151M parameters: perplexity 3.38 after a context of 511 characters, where that of "
            "a standard model is 2.00 (section 3);",
            "text under a substitution cipher: the key that a probe reads from the model's states has an average "
            "precision of 99.6 % in the last window, over 1000 sequences;",
            "puzzles over symbols, models of the Pile's characters: accuracy 91.80 % against 48.50 % of a standard "
            "model in looking up, 59.35 % against 27.66 % in permuting (Table 1).",
        ),
        limits=(
            "Of a symbol that has not occurred yet nothing is known, so it needs long sequences, and long training "
            "before it does more than count symbols.",
            "There are `num_symbols` symbols, and a cache is of use only with the draw that it was made with.",
        ),
        papers=(LEXINVARIANT,),
    ),
    "identity-gpt2": Relative(
        title="reasoning with abstract symbols",
        tags=("symbolic-reasoning", "gpt2"),
        heads={"IdentityGPT2LMHeadModel": _GPT2, "IdentityGPT2ForSequenceClassification": _GPT2_READER},
        variants={
            "identity": Embedding(
                "GPT-2 with identity-reparametrised attention",
                "GPT-2, and per head up to two trainable scalars: a, with which attention scores also compare the "
                "inputs themselves, W_K W_Qᵀ + a I (`identity_qk`), and b, with which outputs also copy the inputs "
                "attended to, W_V W_O + b I (`identity_vo`).",
                "Both make it easier to compare and to copy tokens whatever they are, so that fewer examples teach it "
                "to treat tokens as symbols. It is not invariant: every token has an embedding row of its own.",
            ),
            "vanilla": Embedding(
                "GPT-2 without identity terms",
                "GPT-2 as it is, in the class that can add identities to attention: the paper's baseline.",
                "Every token has an embedding row of its own, and predictions depend on it.",
            ),
        },
        fields=("n_embd", "n_layer", "n_head", "n_positions", "vocab_size", *_IDENTITY_FIELDS),
        setting="the model type `identity_gpt2`",
        use="studying what it takes to generalise to unseen symbols, and for training GPT-2 on other texts: all "
        "checkpoints of GPT-2 load, `IdentityGPT2LMHeadModel.from_pretrained(\"openai-community/gpt2\")`, and are "
        "GPT-2 until they are trained",
        misuse="where a renaming must not change the outcome: nothing guarantees that",
        example="""\
import torch
from hf_symbinv import IdentityGPT2LMHeadModel

model = IdentityGPT2LMHeadModel.from_pretrained("OWNER/NAME").eval()
print(model.generate(torch.tensor([[3, 4, 3]]), max_new_tokens=1, do_sample=False))
print([block.attn.identity_qk for block in model.transformer.h])  # a of every head, by layer
""",
        data="Template tasks, whose wildcards are substituted by other symbols in every split and which `python -m "
        "hf_symbinv.datasets_scripts.templates` draws, or any text.",
        training="`accelerate launch examples/train_templates.py --task aba-abb --output runs/templates` "
        "trains a small one on a template task, and with `--vanilla` one without the scalars.",
        tables=("identity-templates", "identity-symbols", "identity-copy", "identity-kernel", "identity-gpt2"),
        known=(
            "GPT-2 with 117M parameters and 288 scalars more, trained on Wikitext for 20 epochs: perplexity 60.46 on "
            "Wikitext2 against 64.00 of GPT-2, 16.40 on Wikitext103 against 16.83 (Figure 4);",
            "template tasks: the error on unseen symbols falls with fewer training samples than without the scalars "
            "(Figures 1 and 3).",
        ),
        limits=(
            "The attention is computed step by step, without fused kernels, and the inputs lie beside the keys in the "
            "cache, which takes half as much memory again.",
            "The scalars are trained with the learning rate of all weights; `identity_multiplier` makes theirs larger.",
        ),
        papers=(ABSTRACT_SYMBOLS,),
    ),
    "renamer": Relative(
        title="predicting a number or a class of a sequence",
        tags=("symbol-invariance", "renamer", "code"),
        heads={"SymbolInvariantForSequenceClassification": _READER},
        variants={
            "views": Embedding(
                "Renamer",
                "An encoder. A symbol is read by its view, such as the width of a register, and not by its name; in "
                "the first layer only coreferent tokens see each other, which tells which symbols are the same.",
                "A renaming that keeps views changes no prediction, bit for bit where batches have the same shape. No "
                "weight belongs to a symbol, and there is no largest number of them.",
            ),
            "learned": Embedding(
                "Transformer encoder with a fixed vocabulary",
                "Every name of a symbol has an embedding row of its own, learned like any other: the paper's vanilla "
                "model, which it also trains on renamed (augmented) and on canonicalised sequences.",
                "Predictions depend on names, unless every sequence is brought to its canonical form first. There are "
                "as many names as rows.",
            ),
            "renamed": Embedding(
                "Transformer encoder trained with renamed symbols",
                "Every name of a symbol has an embedding row of its own, and the rows are permuted in training.",
                "Predictions depend less on names than those of a fixed vocabulary, but they do. There are as many "
                "names as rows.",
            ),
            "streams": Embedding(
                "Symbol-Invariant Transformer encoder",
                "Every symbol of the sequence gets a copy of it, its stream, in which its own occurrences carry "
                "embedding rows that all others do not. All streams share all weights. The paper has no such model.",
                "A renaming that keeps views changes no prediction, bit for bit where batches have the same shape. No "
                "weight belongs to a symbol; time and memory grow with the number of symbols.",
            ),
        },
        fields=(
            "symbol_embedding", "num_symbols", "num_views", "d_model", "encoder_layers", "num_attention_heads", "d_ff",
            "activation_function", "dropout", "encoder_positions", "max_positions", "pooling", "problem_type",
            *_IDENTITY_FIELDS,
        ),
        setting="no decoder layers and `symbol_embedding=\"views\"`",
        use="predictions about code and formulas that names have no part in, such as the cycles that a basic block "
        "takes",
        misuse="where a name means something, as registers do that instructions use without naming them: such tokens "
        "must be base tokens",
        example="""\
from transformers import pipeline

cycles = pipeline("text-classification", model="OWNER/NAME", trust_remote_code=True)
for block in ("movq (%rax), %rbx;addq %rbx, %rax", "movq (%rsi), %r8;addq %r8, %rsi"):
    print(cycles(block)[0]["score"])  # the same number twice
""",
        data="Basic blocks of x86-64 with the cycles that llvm-mca simulates (`python -m "
        "hf_symbinv.datasets_scripts.blocks.basic_blocks`), or pairs of expressions, of which one may be the "
        "derivative of the other (`python -m hf_symbinv.datasets_scripts.calculus.derivatives`).",
        training="`accelerate launch examples/train_renamer.py --output runs/renamer` trains a small one on the sample "
        "of blocks, and with `--kind vanilla`, `augmented`, `canonicalised` or `streams` one to compare with; the "
        "presets `renamer-tiny`, `renamer-mini` and `renamer-small` have the paper's sizes.",
        tables=("renamer-blocks", "renamer-sizes", "renamer-readout", "renamer-figure2", "renamer-derivatives"),
        known=(
            "basic blocks, mean absolute percentage error of the sizes Tiny, Mini and Small: 2.39, 0.85 and 0.59 %, "
            "with registers renamed the same; vanilla 3.30, 1.13 and 1.25 %, with registers renamed 5.26, 2.76 and "
            "2.89 % (Tables 1 and 2);",
            "derivatives: error 0.80 ± 0.06 % against 0.79 ± 0.13 % of vanilla, with a coefficient that training did "
            "not have 2.38 ± 0.16 % against 4.68 ± 0.69 % (Tables 3 and 4).",
        ),
        limits=(
            "Sequences have at most `max_positions` tokens.",
            "The paper does not say what is read out: here the outputs of all tokens are summed (`pooling`), because "
            "what instructions cost adds up.",
            "The regression's loss is a percentage, so no label may be 0.",
        ),
        papers=(RENAMER,),
    ),
}  # fmt: skip


def relative_of(config: Mapping[str, Any]) -> Relative | None:
    """The relative that a model is of; None for a model with encoder and decoder.

    Args:
        config: As `config.json` has it.
    """
    if config.get("model_type") == "identity_gpt2":
        return RELATIVES["identity-gpt2"]
    if config.get("encoder_layers") == 0:
        return RELATIVES["lexinvariant"]
    return RELATIVES["renamer"] if config.get("decoder_layers") == 0 else None


def variant_of(config: Mapping[str, Any]) -> str:
    """The name of a relative's variant."""
    if config.get("model_type") == "identity_gpt2":
        return "identity" if config.get("identity_qk", True) or config.get("identity_vo", True) else "vanilla"
    embedding = str(config.get("symbol_embedding", "streams"))
    return "regularised" if embedding == "gaussian" and config.get("random_share", 1) < 1 else embedding


def papers_of_variant(relative: Relative, variant: str) -> tuple[Paper, ...]:
    """The papers of a relative, and of streams that of those."""
    return (*relative.papers, SIT) if variant == "streams" else relative.papers


__all__ = ["NAME", "RELATIVES", "Head", "Relative", "papers_of_variant", "relative_of", "variant_of"]

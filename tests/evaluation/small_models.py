"""Small models of transformers that read names, with a tokenizer of whole words."""

import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers, trainers
from tokenizers.models import BPE, WordLevel
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    pipeline,
)

from hf_symbinv import SymbolInvariantEncoderForSequenceClassification

KEEP = ("let", "in", "if", "return")
SIGNS = ("(", ")", "=", "+", ",")
NAMES = ("foo", "bar", "total", *map(chr, range(ord("a"), ord("z") + 1)))
WORDS = ("<unk>", "<pad>", "</s>", *KEEP, *SIGNS, *NAMES)
RULE = r"[a-z_]\w*"


def tokenizer():
    words = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="<unk>", pad_token="<pad>", eos_token="</s>", model_max_length=64
    )


def shaken(model):
    """With weights so far from zero that every name matters."""
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    return model.eval()


def bert(kind):
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    return shaken(kind(BertConfig(vocab_size=len(WORDS), num_labels=3, **sizes)))


def gpt2():
    ends = {"bos_token_id": 2, "eos_token_id": 2, "pad_token_id": 1}
    return shaken(
        GPT2LMHeadModel(GPT2Config(vocab_size=len(WORDS), n_embd=16, n_layer=1, n_head=2, n_positions=64, **ends))
    )


def bart():
    config = BartConfig(
        vocab_size=len(WORDS), d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=64, pad_token_id=1,
        bos_token_id=2, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=None,
    )  # fmt: skip
    return shaken(BartForConditionalGeneration(config))


MODELS = {
    "text-generation": gpt2,
    "text-classification": lambda: bert(BertForSequenceClassification),
    "token-classification": lambda: bert(BertForTokenClassification),
    "feature-extraction": lambda: bert(BertModel),
}


def small_pipeline(task, **options):
    return pipeline(task, model=MODELS[task](), tokenizer=tokenizer(), **options)


def saved(model, folder):
    """A folder with a model and the tokenizer."""
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def saved_encoder(folder, symbols):
    """A folder with an encoder that has streams."""
    words = tokenizer()
    words.cls_token = "</s>"
    MODELS["feature-extraction"]().save_pretrained(folder)
    words.save_pretrained(folder)
    options = {"base_words": KEEP, "words": ("a", "b"), "config": {"mixing_layers": 1}}
    for part in SymbolInvariantEncoderForSequenceClassification.around(str(folder), symbols, **options):
        part.save_pretrained(folder)
    return folder


def subword_tokenizer():
    """As GPT-2's: bytes, with the blank before a word in its token, so that a name has two tokens."""
    words = Tokenizer(BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=["<pad>", "</s>"], initial_alphabet=alphabet)
    texts = [f"let {name} = ({other} + {name}) in {other}" for name in NAMES for other in NAMES]
    words.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="</s>", model_max_length=64)

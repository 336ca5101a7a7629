"""Reading the key of a substitution cipher out of a frozen lexinvariant model.

A probe of two layers learns to name the current plain character from the last hidden state of a model that reads plain
texts with random embeddings; for the model a plain text is a cipher like any other. Then it reads texts that were
enciphered with a key. In a window, the plain characters that it names for a cipher character vote on what that stands
for.

Letters: N rows, T symbols of a row, V symbols of the alphabet, C symbols that the cipher exchanges. A key is an array
(V,): plain symbol s is written as key[s].

Source: Lexinvariant Language Models, section 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn
from transformers import PreTrainedModel, set_seed
from transformers.configuration_utils import PreTrainedConfig, strict
from transformers.modeling_outputs import ModelOutput

from papers.harness.experiments import Job
from papers.lexinvariant.characters import BASE_TOKENS
from papers.lexinvariant.models import Texts, as_read, batches, collate

SMALLEST = 1e-30  # in place of a probability of 0, which has no logarithm


@strict
class CipherProbeConfig(PreTrainedConfig):
    """Sizes of a probe.

    Args:
        d_model: Width of the hidden states that it reads.
        width: Of its own hidden layer; our choice, because the paper does not say.
        num_symbols: V.
    """

    model_type = "cipher_probe"

    d_model: int = 64
    width: int = 256
    num_symbols: int = 6


class CipherProbe(PreTrainedModel):
    """A two-layer perceptron, and embeddings of the plain characters, with which its output is compared.

        logits = (W_2 relu(W_1 h + b_1) + b_2) E'ᵀ

    Source: LI section 3.3.
    """

    config_class = CipherProbeConfig

    def __init__(self, config: CipherProbeConfig, language_model: PreTrainedModel | None = None) -> None:
        super().__init__(config)
        self.perceptron = nn.Sequential(
            nn.Linear(config.d_model, config.width), nn.ReLU(), nn.Linear(config.width, config.d_model)
        )
        self.characters = nn.Linear(config.d_model, config.num_symbols, bias=False)
        self._frozen = [language_model]  # in a list it is no part of the probe
        self.post_init()

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor | None = None) -> ModelOutput:
        """Logits (N, T, V) of the plain characters, and the loss.

        Args:
            input_ids: (N, T + 1), as the language model reads them.
            labels: (N, T + 1), ids of the plain text; None if it is not known.
        """
        language_model = self._frozen[0]
        if language_model is None:
            raise ValueError("a probe reads the hidden states of a language model; give it one")
        with torch.no_grad():
            states = language_model.to(input_ids.device).eval()(input_ids=input_ids, output_hidden_states=True)
        last = own_states(states, input_ids)[:, 1:]  # (N, T, D), without <s>
        logits = self.characters(self.perceptron(last.to(self.dtype)))
        loss = None
        if labels is not None:
            loss = nn.functional.cross_entropy(logits.flatten(0, 1).float(), labels[:, 1:].flatten() - len(BASE_TOKENS))
        return ModelOutput(loss=loss, logits=logits)


def own_states(output: ModelOutput, input_ids: torch.Tensor) -> torch.Tensor:
    """The last hidden states (N, T + 1, D) of a model that has read `input_ids` (N, T + 1).

    With streams, each symbol has that of its own one, and <s> that of the anonymous one, which is the first.
    """
    last = output.hidden_states[-1]  # (N, S, T + 1, D)
    if last.shape[1] == 1:
        return last.squeeze(1)
    own = output.slot_referents.unsqueeze(2) == (input_ids - len(BASE_TOKENS)).unsqueeze(1)
    slots = own.int().argmax(1)[:, None, :, None].expand(-1, 1, -1, last.shape[-1])
    return last.gather(1, slots).squeeze(1)


def _collate(rows: Sequence[tuple[np.ndarray, np.ndarray]]) -> dict[str, torch.Tensor]:
    """Texts as the language model reads them, and the plain ones as labels, ids (N, T + 1)."""
    read, plain = zip(*rows, strict=True)
    return {"input_ids": collate(read)["input_ids"], "labels": collate(plain)["labels"]}


def trained_probe(job: Job, name: str, kind: str, model: PreTrainedModel, texts: Texts) -> CipherProbe:
    """A probe for a frozen model, in evaluation mode.

    Raises:
        OutOfTimeError: If there was no time to finish; the next call goes on.
    """
    sizes = job.sizes["probe"]
    set_seed(job.seed)
    config = CipherProbeConfig(d_model=model.config.d_model, width=sizes["width"], num_symbols=texts.num_symbols)
    probe = CipherProbe(config, model)
    job.time_left()
    job.say(f"probe of {name}-{kind}-seed{job.seed}: {sizes['trainer']['max_steps']} steps")
    arguments = {**sizes["trainer"], "seed": job.seed}
    pairs = list(zip(as_read(kind, texts.train, texts.num_symbols), texts.train, strict=True))
    job.train(probe, job.folder / "probe", arguments, train_dataset=pairs, data_collator=_collate)
    return probe.to(model.device).eval()


@torch.inference_mode()
def deciphered(probe: CipherProbe, kind: str, texts: np.ndarray, *, batch_size: int, seed: int) -> np.ndarray:
    """Probabilities of the plain symbols (N, T, V) that a probe of a kind of model sees in enciphered texts (N, T)."""
    torch.manual_seed(seed)
    texts = as_read(kind, texts, probe.config.num_symbols)
    found = [probe(input_ids=ids).logits.float().softmax(-1).cpu() for ids in batches(texts, batch_size, probe.device)]
    return torch.cat(found).numpy()


def random_key(num_symbols: int, letters: np.ndarray, seed: int) -> np.ndarray:
    """A key that exchanges `letters` (C,) among themselves and leaves the other symbols."""
    key = np.arange(num_symbols)
    key[letters] = letters[np.random.default_rng(seed).permutation(len(letters))]
    return key


def window_starts(length: int, window: int, count: int = 4) -> list[int]:
    """The starts of `count` windows from the first place of a text to the last, equally far from each other."""
    return [round(place * (length - window) / (count - 1)) for place in range(count)]


def precisions(named: np.ndarray, enciphered: np.ndarray, key: np.ndarray, letters: np.ndarray) -> list[float]:
    """Of each row, the share of the entries of the key with votes that a window's votes get right.

    Of plain symbols with equally many votes, the first in the alphabet wins. Rows that have nothing enciphered in the
    window are left out.

    Args:
        named: The plain symbols that a probe names in the window, (N, W).
        enciphered: The cipher symbols that it reads, (N, W).
        key: The key, (V,).
        letters: The plain symbols that the cipher exchanges, (C,).
    """
    counts = _votes(named, enciphered, key, letters)
    seen = counts.sum(-1) > 0
    right = ((counts.argmax(-1) == letters) & seen).sum(-1)
    entries = seen.sum(-1)
    return [round(float(share), 4) for share in right[entries > 0] / entries[entries > 0]]


def whole_key(named: np.ndarray, enciphered: np.ndarray, key: np.ndarray, letters: np.ndarray) -> int:
    """How many of the C entries of the key the votes of a window get right, of all rows together.

    Args:
        named, enciphered, key, letters: As for `precisions`.
    """
    counts = _votes(named, enciphered, key, letters).sum(0)
    return int(((counts.argmax(-1) == letters) & (counts.sum(-1) > 0)).sum())


def _votes(named: np.ndarray, enciphered: np.ndarray, key: np.ndarray, letters: np.ndarray) -> np.ndarray:
    """How often each row names each plain symbol, (N, C, V), by the plain symbol that would be right."""
    counts = np.zeros((len(named), len(key), len(key)), dtype=np.int64)
    np.add.at(counts, (np.arange(len(named))[:, None], enciphered, named), 1)
    return counts[:, key[letters]]


def key_matrix(
    probabilities: np.ndarray, enciphered: np.ndarray, key: np.ndarray, letters: np.ndarray
) -> list[list[float]]:
    """What a window says of the key, (C, C): a row per cipher symbol, by the alphabet, a column per plain one.

    A row of the window has the softmax of its mean logits, and the matrix the mean over rows, as in LI Figure 5. The
    logarithms of probabilities are logits up to a constant for each place, which the softmax takes away again.

    Args:
        probabilities: Of the plain symbols, in the window, (N, W, V).
        enciphered, key, letters: As for `precisions`.
    """
    logits, lines = np.log(np.maximum(probabilities, SMALLEST)), []
    for symbol in sorted(key[letters]):
        here = enciphered == symbol
        rows = here.any(1)
        line = np.zeros(len(letters))
        if rows.any():
            mean = (logits * here[:, :, None])[rows].sum(1) / here[rows].sum(1)[:, None]  # (N', V)
            powers = np.exp(mean - mean.max(-1, keepdims=True))
            line = (powers / powers.sum(-1, keepdims=True)).mean(0)[letters]
        lines.append([round(float(value), 4) for value in line])
    return lines

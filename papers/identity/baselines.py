"""Networks without attention for template tasks, which answer with a number: an MLP and an LSTM.

The MLP reads one-hot vectors of all positions side by side, and the paper proves that it fails. With embeddings that
positions share, it could learn to compare them, also those of unseen symbols. The LSTM reads token embeddings from
N(0, 1), as the transformers beside it do.
"""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput


class BaselineConfig(PreTrainedConfig):
    """Sizes of a network without attention.

    Args:
        kind: `"mlp"`, or `"lstm"`, whose last hidden state answers.
        vocab_size, length: Of its input.
        width: Of the LSTM's embeddings and hidden layers; hidden layers of the MLP have four times as many units.
        layers: Hidden ones.
    """

    model_type = "template_baseline"

    def __init__(
        self, kind: str = "mlp", vocab_size: int = 2, length: int = 1, width: int = 128, layers: int = 2, **others: Any
    ) -> None:
        super().__init__(**others)
        self.kind, self.vocab_size, self.length = kind, vocab_size, length
        self.width, self.layers = width, layers


class TemplateBaseline(PreTrainedModel):
    """An MLP or LSTM that maps strings of one length to a number."""

    config_class = BaselineConfig

    def __init__(self, config: BaselineConfig) -> None:
        super().__init__(config)
        self.reader = (MLP if config.kind == "mlp" else LSTM)(config)
        self.score = nn.Linear(self.reader.width, 1)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Layers keep the initialisation that they have."""

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor | None = None) -> SequenceClassifierOutput:
        """Numbers (rows, 1) for strings (rows, length), and the mean squared error if there are labels."""
        logits = self.score(self.reader(input_ids))
        loss = None if labels is None else nn.functional.mse_loss(logits[:, 0], labels.to(logits.dtype))
        return SequenceClassifierOutput(loss=loss, logits=logits)


class MLP(nn.Module):
    """The last hidden layer of an MLP (rows, `width`) for strings (rows, length)."""

    def __init__(self, config: BaselineConfig) -> None:
        super().__init__()
        self.width, inputs = 4 * config.width, config.length * config.vocab_size
        # A linear layer of one-hot vectors is the sum of a row for each position and token.
        self.first = nn.EmbeddingBag(inputs, self.width, mode="sum")
        nn.init.uniform_(self.first.weight, -(inputs**-0.5), inputs**-0.5)
        further = [(nn.Linear(self.width, self.width), nn.GELU()) for _ in range(config.layers - 1)]
        self.further = nn.Sequential(nn.GELU(), *itertools.chain(*further))
        self.vocab_size = config.vocab_size

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        first_rows = torch.arange(input_ids.shape[1], device=input_ids.device) * self.vocab_size
        return self.further(self.first(input_ids + first_rows))


class LSTM(nn.Module):
    """The last hidden state of an LSTM (rows, `width`) for strings (rows, length)."""

    def __init__(self, config: BaselineConfig) -> None:
        super().__init__()
        self.width = config.width
        self.embedding = nn.Embedding(config.vocab_size, self.width)
        nn.init.normal_(self.embedding.weight)
        self.layers = nn.LSTM(self.width, self.width, config.layers, batch_first=True)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.layers(self.embedding(input_ids))[0][:, -1]

"""Networks without attention for template tasks: an MLP, of which the paper proves that it fails, and an LSTM.

Both read token embeddings from N(0, 1), as the transformers beside them do, and answer with a number.
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
        kind: `"mlp"`, whose hidden layers read the embeddings of all positions side by side, or `"lstm"`, whose last
            hidden state answers.
        vocab_size, length: Of its input.
        width: Of embeddings; hidden layers of the MLP have four times as many units, those of the LSTM as many.
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
        self.embedding = nn.Embedding(config.vocab_size, config.width)
        width, inner = config.width, config.width
        if config.kind == "lstm":
            self.reader = nn.LSTM(width, width, config.layers, batch_first=True)
        else:
            sizes = [config.length * width, *[4 * width] * config.layers]
            layers = [(nn.Linear(*pair), nn.GELU()) for pair in itertools.pairwise(sizes)]
            self.reader, inner = nn.Sequential(nn.Flatten(), *itertools.chain(*layers)), sizes[-1]
        self.score = nn.Linear(inner, 1)
        self.post_init()
        nn.init.normal_(self.embedding.weight)

    def _init_weights(self, module: nn.Module) -> None:
        """Layers keep the initialisation that torch gives them."""

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor | None = None) -> SequenceClassifierOutput:
        """Numbers (rows, 1) for strings (rows, length), and the mean squared error if there are labels."""
        read = self.reader(self.embedding(input_ids))
        logits = self.score(read[0][:, -1] if self.config.kind == "lstm" else read)
        loss = None if labels is None else nn.functional.mse_loss(logits[:, 0], labels.to(logits.dtype))
        return SequenceClassifierOutput(loss=loss, logits=logits)

"""Configuration of an encoder with streams: that of the encoder, and what streams add."""

from typing import Any

from .versions_symbinv import AutoConfig, PreTrainedConfig, strict


@strict
class SymbolInvariantEncoderConfig(PreTrainedConfig):
    """An encoder's configuration, and what streams add.

    Args:
        encoder: Of any model of `AutoModel` that takes `inputs_embeds`, or a dictionary of its fields and `model_type`.
        base_vocab_size: V_n, the tokens of its tokenizer; ids from there on are symbols. By default as many as it has.
        mixing_layers: Before so many of the last layers copies tell each other what they know of symbols. By default 3,
            our choice, or all if there are fewer.

    Raises:
        ValueError: For an encoder-decoder, or a negative number.
    """

    model_type = "symbol_invariant_encoder"
    sub_configs = {"encoder": AutoConfig}

    encoder: Any = None
    base_vocab_size: int | None = None
    mixing_layers: int | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        if not isinstance(self.encoder, PreTrainedConfig):
            self.encoder = AutoConfig.for_model(**{"model_type": "bert", **(self.encoder or {})})
        if self.base_vocab_size is None:
            self.base_vocab_size = self.encoder.vocab_size
        if self.mixing_layers is None:
            self.mixing_layers = min(3, self.encoder.num_hidden_layers)
        super().__post_init__(**kwargs)

    def validate_encoder(self) -> None:
        """Refuses what has no encoder alone, or cannot be mixed."""
        if self.encoder.is_encoder_decoder:
            raise ValueError(
                f"encoder: {self.encoder.model_type!r} is an encoder with a decoder; use an encoder alone, such as BERT"
            )
        if (self.mixing_layers or 0) < 0:
            raise ValueError(f"mixing_layers={self.mixing_layers}: must be at least 0, which mixes nothing")


SymbolInvariantEncoderConfig.register_for_auto_class()  # saved checkpoints bring the code along

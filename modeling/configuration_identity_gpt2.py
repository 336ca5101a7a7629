"""Configuration of GPT-2 with identity-reparametrised attention."""

import difflib
from typing import Any

from .versions_symbinv import GPT2Config, strict

_FIELDS = ("identity_qk", "identity_vo", "identity_initial", "identity_multiplier")


@strict
class IdentityGPT2Config(GPT2Config):
    """GPT-2's configuration, and what is added to the attention of every block.

    With x the normalised input of a block, head h has the scores `(x W_Q (x W_K)ᵀ) / sqrt(D / H) + a_h x xᵀ`, and its
    output gets `b_h A_h x` besides what W_V and W_O make of it: `W_K W_Qᵀ + a I` and `W_V W_O + b I`.

    Args:
        identity_qk: add the scores; a trainable scalar a per head.
        identity_vo: add the outputs; a trainable scalar b per head.
        identity_initial: a and b of a new model, or of a GPT-2 checkpoint that has none. 0 leaves GPT-2 as it was.
        identity_multiplier: a and b are stored divided by this; Adam moves them as with so many times the rate.

    Raises:
        ValueError: for a multiplier that is not positive, with cross-attention, which has no input of its own, or for a
            misspelt name of these four. Of the other fields all that GPT-2 takes are taken.
        huggingface_hub.errors.StrictDataclassError: for a field of a wrong type, or around the ValueError.

    Source: When can transformers reason with abstract symbols? (2024), sections 1 and 5.
    """

    model_type = "identity_gpt2"

    identity_qk: bool = True
    identity_vo: bool = True
    identity_initial: float | int = 0.0
    identity_multiplier: float | int = 1.0

    def __post_init__(self, **kwargs: Any) -> None:
        for name in kwargs:  # GPT-2's configuration takes any other
            near = difflib.get_close_matches(name, _FIELDS, n=1, cutoff=0.75)  # our choice: no field of GPT-2 is nearer
            if near:
                raise ValueError(f"{name}={kwargs[name]!r}: unknown field; did you mean {near[0]}?")
        super().__post_init__(**kwargs)

    def validate_identity(self) -> None:
        """Refuses what cannot be added to an attention."""
        if self.identity_multiplier <= 0:
            raise ValueError(f"identity_multiplier={self.identity_multiplier}: must be positive; 1 changes nothing")
        if self.add_cross_attention:
            raise ValueError("add_cross_attention=True: the identity terms are those of self-attention; leave it out")


IdentityGPT2Config.register_for_auto_class()  # saved checkpoints bring the code along

"""GPT-2 whose attention is reparametrised with identities, for reasoning over symbols that were never seen.

Two scalars per head are all that is added. With both 0 the model is GPT-2, so every checkpoint of GPT-2 loads:

    model = IdentityGPT2LMHeadModel.from_pretrained("openai-community/gpt2")

Letters: B batch, T queries, K keys, H heads, D model width.
"""

from functools import wraps
from typing import Any

import torch
from torch import Tensor, nn

from .configuration_identity_gpt2 import IdentityGPT2Config
from .generation_symbinv import WithoutPages
from .slots_symbinv import NOT_BY_NAME, refuse_taken_labels
from .versions_symbinv import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    GPT2Attention,
    GPT2Config,
    GPT2ForSequenceClassification,
    GPT2LMHeadModel,
    GPT2Model,
)


class IdentityGPT2Attention(GPT2Attention):
    """Self-attention with scores `+ a_h x xᵀ` and outputs `+ Σ_h b_h A_h x`.

    One Gram matrix serves all heads, and the heads' weights are summed up before they meet x. x lies beside the keys in
    the cache, so any cache works and takes half as much memory again.

    Source: When can transformers reason with abstract symbols? (2024), sections 1 and 5; x xᵀ is not divided by
    sqrt(D / H), as in the authors' release.
    """

    def __init__(self, config: IdentityGPT2Config, layer_idx: int):
        super().__init__(config, layer_idx=layer_idx)
        heads = config.num_attention_heads
        self.identity_qk = nn.Parameter(torch.empty(heads)) if config.identity_qk else None
        self.identity_vo = nn.Parameter(torch.empty(heads)) if config.identity_vo else None

    def forward(
        self,
        hidden_states: Tensor,
        past_key_values: Any = None,
        attention_mask: Tensor | None = None,
        cache: Any = None,
        **kwargs: object,
    ) -> tuple[Tensor, Tensor]:
        """Maps x, the normalised `hidden_states (B, T, D)`, to the same shape, and gives the weights `(B, H, T, K)`.

        `attention_mask (B, 1, T, K)` is added to the scores. Newer versions of transformers call the past `cache`.
        """
        batch, length, width = hidden_states.shape
        split = (batch, length, self.num_heads, self.head_dim)  # then transposed to (B, H, T, D / H)
        parts = (*self.c_attn(hidden_states).split(width, dim=2), hidden_states)
        queries, keys, values, inputs = (part.view(split).transpose(1, 2) for part in parts)
        past = past_key_values if cache is None else cache
        if past is not None:
            keys, values = past.update(torch.cat((keys, inputs), dim=-1), values, self.layer_idx)
            keys, inputs = keys.split(self.head_dim, dim=-1)
        inputs = inputs.transpose(1, 2).reshape(batch, -1, width)  # (B, K, D)

        scores = queries @ keys.transpose(-1, -2) * self.scaling  # (B, H, T, K)
        multiplier = self.config.identity_multiplier
        if self.identity_qk is not None:
            gram = hidden_states @ inputs.transpose(1, 2)  # (B, T, K)
            scores = scores + (multiplier * self.identity_qk).view(-1, 1, 1) * gram.unsqueeze(1)
        if attention_mask is not None:
            scores = scores + attention_mask
        weights = self.attn_dropout(scores.softmax(-1).to(values.dtype))
        attended = self.c_proj((weights @ values).transpose(1, 2).reshape(batch, length, width))
        if self.identity_vo is not None:
            attended = attended + torch.einsum("bhtk,h->btk", weights, multiplier * self.identity_vo) @ inputs
        return self.resid_dropout(attended), weights


class _OwnAttention:
    """What the attention of this file means to transformers."""

    config_class = IdentityGPT2Config
    # The weights of attention are needed themselves, so no fused kernel will do.
    _supports_sdpa = _supports_flash_attn = _supports_attention_backend = False
    _keys_to_ignore_on_load_missing = [r"attn\.identity_"]  # a checkpoint of GPT-2 has none
    _keys_to_ignore_on_load_unexpected = [r"\.attn\.(masked_)?bias$"]  # masks, which old checkpoints of GPT-2 hold

    def __init__(self, config: Any):
        kind = type(config).model_type  # a loaded one has the checkpoint's
        if kind == IdentityGPT2Config.model_type:
            config.validate()  # from_pretrained sets fields later
        elif kind == "gpt2":
            config = IdentityGPT2Config.from_dict(config.to_dict())
        else:
            own = type(self).__name__
            raise ValueError(f"config.model_type={kind!r}: {own} is made of an IdentityGPT2Config or a GPT2Config")
        checkpointing = getattr(config, "gradient_checkpointing", False)  # of old files; transformers takes it away
        super().__init__(config)  # type: ignore[call-arg]
        if checkpointing:
            config.gradient_checkpointing = True  # for the blocks that are made anew


class IdentityGPT2Model(_OwnAttention, GPT2Model):
    """GPT-2's blocks, with identity-reparametrised attention."""

    def __init__(self, config: IdentityGPT2Config | GPT2Config):
        super().__init__(config)
        for index, block in enumerate(self.h):
            block.attn = IdentityGPT2Attention(self.config, index)
        self.post_init()

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, IdentityGPT2Attention):
            for scalars in (module.identity_qk, module.identity_vo):
                if scalars is not None:
                    nn.init.constant_(scalars, self.config.identity_initial / self.config.identity_multiplier)


class IdentityGPT2LMHeadModel(WithoutPages, _OwnAttention, GPT2LMHeadModel):
    """GPT-2 as a language model, with identity-reparametrised attention; source: as the attention's, section 6."""

    def __init__(self, config: IdentityGPT2Config | GPT2Config):
        super().__init__(config)
        self.loss_type = "ForCausalLM"  # which transformers does not see from the name
        self.transformer = IdentityGPT2Model(self.config)
        self.post_init()

    @wraps(GPT2LMHeadModel.forward)
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """As `GPT2LMHeadModel.forward`; refuses a batch whose labels a trainer took away, to smooth them itself."""
        if type(self).__name__ not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values():
            refuse_taken_labels(kwargs.get("labels"), kwargs.get("num_items_in_batch"), NOT_BY_NAME)
        return super().forward(*args, **kwargs)


class IdentityGPT2ForSequenceClassification(_OwnAttention, GPT2ForSequenceClassification):
    """Classification, or regression with `num_labels=1`, on a row's last token that is not `config.pad_token_id`."""

    def __init__(self, config: IdentityGPT2Config | GPT2Config):
        super().__init__(config)
        self.transformer = IdentityGPT2Model(self.config)
        self.post_init()


IdentityGPT2Model.register_for_auto_class("AutoModel")  # saved checkpoints bring the code along
IdentityGPT2LMHeadModel.register_for_auto_class("AutoModelForCausalLM")
IdentityGPT2ForSequenceClassification.register_for_auto_class("AutoModelForSequenceClassification")

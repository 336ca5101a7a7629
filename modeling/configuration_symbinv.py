"""Configuration of the symbol-invariant models: one dataclass, checked field by field and as a whole."""

import difflib
import math
from typing import Any, Literal

from .versions_symbinv import PreTrainedConfig, logging, strict

logger = logging.get_logger(__name__)

COMPONENTS = ("EP", "EA", "DP", "DA", "CP", "CA")

# What `PreTrainedConfig` takes besides its fields: keys that it or its loaders write into config.json.
_INHERITED_KEYS = {
    "_attn_implementation", "_commit_hash", "_name_or_path", "_output_attentions", "attn_implementation", "auto_map",
    "experts_implementation", "model_type", "name_or_path", "num_labels", "output_attentions", "torch_dtype",
}  # fmt: skip

# Under this name `from_dict` hands the keys of a file that are no fields to the constructor.
_OTHERS = "_keys_of_others"

# Token ids of the two logics: 0 <s>, 1 <pad>, 2 </s>, 3 … 7 are 0 1 & | !; LTL goes on with ; { } U X, propositional
# logic with xor <->.
_LTL_ARITY = {3: 0, 4: 0, 5: 2, 6: 2, 7: 1, 11: 2, 12: 1}
_LASSO_GRAMMAR = {
    "name": "lasso", "operand": [3, 4], "unary": [7], "binary": [5, 6],
    "separator": 8, "cycle_start": 9, "cycle_end": 10,
}  # fmt: skip
_PROP_ARITY = {3: 0, 4: 0, 5: 2, 6: 2, 7: 1, 8: 2, 9: 2}
_ASSIGNMENT_GRAMMAR = {"name": "assignment", "values": [3, 4]}

# Sizes: SIT Table 5; components: SIT Tables 2 and 3, first rows; positions: SIT section 5.2.
PRESETS: dict[str, dict[str, Any]] = {
    "ltl": {
        "base_vocab_size": 13, "num_symbols": 5, "d_model": 64, "encoder_layers": 8, "decoder_layers": 8,
        "num_attention_heads": 4, "d_ff": 1024, "components": ["EP", "DP", "EA", "CP"],
        "encoder_positions": "tree", "token_arity": _LTL_ARITY, "grammar": _LASSO_GRAMMAR,
    },
    "prop": {
        "base_vocab_size": 10, "num_symbols": 5, "d_model": 96, "encoder_layers": 6, "decoder_layers": 6,
        "num_attention_heads": 6, "d_ff": 768, "components": ["EP", "DP", "EA", "DA", "CP"],
        "encoder_positions": "tree", "token_arity": _PROP_ARITY, "grammar": _ASSIGNMENT_GRAMMAR,
    },
}  # fmt: skip
# The papers' models with one stream for the same tasks: ITE Table 4.
PRESETS |= {
    "ltl-baseline": {
        **PRESETS["ltl"], "symbol_embedding": "learned", "components": ["EP", "DP", "CP"],
        "d_model": 128, "num_attention_heads": 8,
    },
    "prop-baseline": {
        **PRESETS["prop"], "symbol_embedding": "learned", "components": ["EP", "DP", "CP"],
        "d_model": 132, "d_ff": 512,
    },
}  # fmt: skip


# The lexinvariant language model of 151M parameters, for ASCII: LI section 3 and appendix B.
PRESETS |= {
    "lexinvariant": {
        "base_vocab_size": 3, "num_symbols": 128, "d_model": 1024, "encoder_layers": 0, "decoder_layers": 12,
        "num_attention_heads": 8, "d_ff": 4096, "dropout": 0.0, "components": ["DP"], "symbol_embedding": "gaussian",
        "decoder_positions": "t5", "normalize_embeddings": False, "normalize_features": False, "loss": "cross_entropy",
    },
}  # fmt: skip
# The sizes of BERT on which the Renamer is tested: Renamer section 5.2; positions, middle and epsilon are BERT's.
PRESETS |= {
    f"renamer-{name}": {
        "d_model": width, "encoder_layers": layers, "decoder_layers": 0, "num_attention_heads": heads,
        "d_ff": 4 * width, "activation_function": "gelu", "dropout": 0.0, "layer_norm_eps": 1e-12,
        "symbol_embedding": "views", "encoder_positions": "learned", "max_positions": 128,
        "normalize_embeddings": False, "normalize_features": False, "loss": "cross_entropy",
    }
    for name, layers, width, heads in (("tiny", 2, 128, 2), ("mini", 4, 256, 4), ("small", 4, 512, 8))
}  # fmt: skip


@strict
class SymbolInvariantConfig(PreTrainedConfig):
    """Sizes and choices of a symbol-invariant model; the defaults are the paper's LTL model without its tree positions.

    Args:
        base_vocab_size: V_n, the number of base tokens; their ids are 0 … V_n - 1 and every id from V_n on is a symbol.
        num_symbols: referents seen in training. `vocab_size = base_vocab_size + num_symbols * num_views` is the least
            width of logits in id space, and the initial AdaCos scale is sqrt(2) log(vocab_size - 1). For `learned`,
            `canonical` and `renamed` also the number of symbols that have rows, and for `gaussian` that of symbols that
            exist; no other model's weights depend on it.
        num_views: views of a referent: what can be said of a symbol besides its identity, as the width of a register
            or that it is a function. The id of a symbol is `base_vocab_size + referent * num_views + view`. Renamings
            exchange referents and keep views. An encoder-decoder can write every view of each symbol that it can write,
            so a view too that the input does not have. A decoder alone has one view, and so have grammars.
        num_fresh_symbols: how many symbols that its text does not have `generate` may write. Of a decoder alone with
            streams None is for no limit and 0 for none; it is a limit only: it costs nothing and changes no
            probability. Of an encoder-decoder with streams or canonical names None and 0 are for none: answers have
            symbols of the question only. More than 0 gives encoder and decoder an anonymous stream for new symbols, or
            new symbols the next rows of canonical names; how many more is a limit only, for labels too.
        d_model: width of a hidden state, a multiple of `2 * num_attention_heads`.
        encoder_layers, decoder_layers: number of layers. Without encoder layers the model is a decoder only, a language
            model for `SymbolInvariantForCausalLM`; without decoder layers an encoder only, for
            `SymbolInvariantForSequenceClassification`, `SymbolInvariantForTokenClassification` and
            `SymbolInvariantForMaskedLM`.
        encoder_passes: how often a text goes through all of the encoder's layers, with the same weights each time. One
            layer and ten passes have the depth of ten layers and the parameters of one.
        num_attention_heads: heads of every attention block.
        d_ff: width of the feed-forward blocks' middle.
        activation_function: activation of the feed-forward blocks, a name of `transformers.activations`.
        dropout: probability, applied to embeddings and to the output of every block in training.
        layer_norm_eps: epsilon of every LayerNorm.
        norm_first: normalise what each block reads, and the last layer's output, instead of what each block returns:
            `h + f(norm(h))` in place of `norm(h + f(h))`. Deep models then bear larger learning rates.
        initializer_range: standard deviation of a new model's weights, as BERT's 0.02; with None matrices are
            Glorot-uniform, and rows and positions about as large as each other.
        components: attention blocks, of `EP EA DP DA CP CA` (encoder, decoder, cross; per-stream, aggregated). CP and
            CA apply in the order listed; the encoder may do without a block; the decoder needs DP or DA, and CP or CA.
            Default EP DP EA CP, and EP DP CP where there is one stream, which leaves nothing to aggregate; DP, with
            streams also DA, for a decoder only; EP, with streams also EA, for an encoder only.
        symbol_embedding: how symbols become vectors: `"streams"`, one stream per symbol of the input, and where new
            symbols may be written an anonymous one for all that have not occurred yet; or with one
            stream `"learned"`, a row per symbol, `"canonical"`, a row for the first symbol of each example, one for the
            second, ... (with an encoder), `"renamed"`, rows of symbols that are permuted in every training forward,
            `"random"`, a learned part that all symbols share and a random part each, or for a decoder only
            `"gaussian"`, a standard normal row per symbol and sequence, or for an encoder only `"views"`, a row per
            view and a first layer in which only coreferent tokens see each other.
        random_dim: width of the random part.
        random_method: how it is drawn: `"normal"`, `"neighbors"` or `"hypercube"`; see `random_vectors`.
        random_share: probability that a symbol of a sequence gets a random row in training (`gaussian`), or takes part
            in the permutation (`renamed`, then one per sequence). Below 1 the others keep their learned rows, and in
            evaluation all do: a regulariser.
        normalize_parts: L2-normalise the learned and the random part on their own.
        encoder_positions: `"tree"` (paths in the syntax tree of the prefix text), `"rope"`, `"sinusoidal"` or
            `"learned"`, a vector for each of the first `max_positions`.
        encoder_positions_in_layers: add these positions not only to embeddings, but in each layer of the encoder also
            to what its queries and keys are made of. Deep layers lose what is added to embeddings alone. Rotary ones
            are in each layer anyway.
        decoder_positions: `"rope"`, also on cross-attention's queries and keys, `"sinusoidal"`, or `"t5"`, a learned
            bias per distance and head that all layers share, see `RelativeBias`.
        max_positions: learned positions.
        rope_theta: base of the rotary frequencies.
        token_arity: base id → number of children (0, 1 or 2) of the tokens that make syntax trees, for tree positions.
        identity_qk: add `a_h x xᵀ` to the scores of every attention, with a trainable scalar a per head; x is the
            input of the queries and of the keys, without positions.
        identity_vo: add `Σ_h b_h A_h x` to the output of every attention, with a trainable scalar b per head.
        identity_initial: a and b of a new model.
        identity_multiplier: the stored scalars are a and b divided by this, so that an optimiser of Adam's kind moves a
            and b as if their learning rate was so many times larger.
        embedding_norm: of an encoder alone, a LayerNorm of the sum of embeddings and positions, and no factor sqrt(D),
            as in BERT.
        normalize_embeddings: L2-normalise the rows of the embedding table, before look-up and projection.
        normalize_features: L2-normalise the last hidden states before the projection.
        loss: `"adacos"` (adaptively scaled cosine logits) or `"cross_entropy"`, of the next token.
        label_smoothing: share of the probability that the loss spreads evenly over all base tokens and the symbols that
            an example can write. It takes the place of `TrainingArguments.label_smoothing_factor`.
        pooling: what `SymbolInvariantForSequenceClassification` makes of the tokens' outputs: their `"sum"`, their
            `"mean"`, that of the `"first"`, or that of BERT's `"pooler"`, a layer with tanh on the first.
        regression_loss: its loss where `problem_type` is `"regression"`: `"mse"`, the mean squared error, or `"mape"`,
            the mean absolute percentage error of the Renamer's blocks.
        grammar: grammar of the answers, a default for `generation_config.grammar`; see `GrammarLogitsProcessor`.
        canonical_slots: give slots in the order of first appearance, which makes renamed inputs the same tensors.
            False shuffles the slots in every forward pass: a switch for tests of the theorem, up to rounding.
        use_cache: return keys and values for the next decoding step.
        pad_token_id, bos_token_id, eos_token_id, decoder_start_token_id: base ids.

    A configuration that is read from a file keeps keys that are no fields, such as `quantization_config`.

    Raises:
        ValueError: for an impossible value or combination, or an unknown field in a call.
        huggingface_hub.errors.StrictDataclassError: for a field of a wrong type, or around the ValueError.

    Source: sizes and components SIT Table 5 and section 5.2; `gaussian` and `random_share` Huang et al. 2023 (LI),
    section 2 and appendix G; views the Renamer, section 4.1; `embedding_norm`, `initializer_range` and the pooler BERT,
    Devlin et al. 2019, and its release; identities "When can transformers reason with abstract symbols?", section 1;
    `norm_first` Xiong et al. 2020, Figure 1(b); `encoder_passes` Dehghani et al. 2019, section 2.1;
    `encoder_positions_in_layers` Carion et al. 2020, appendix A.4; the rest SIT section 3.3 and Işık et al. 2025.
    """

    model_type = "symbol_invariant"
    # The encoder's states have as many streams as the batch has symbols: a Trainer cannot join those of two batches.
    keys_to_ignore_at_inference = ["cache", "slot_referents", "slot_vectors", "encoder_last_hidden_state"]
    attribute_map = {"hidden_size": "d_model"}

    base_vocab_size: int = 13
    num_symbols: int = 5
    num_views: int = 1
    num_fresh_symbols: int | None = None
    d_model: int = 64
    encoder_layers: int = 8
    decoder_layers: int = 8
    encoder_passes: int = 1
    num_attention_heads: int = 4
    d_ff: int = 1024
    activation_function: str = "relu"
    dropout: float | int = 0.1
    layer_norm_eps: float = 1e-6
    norm_first: bool = False
    initializer_range: float | int | None = None
    components: list[str] | None = None
    symbol_embedding: Literal["streams", "learned", "canonical", "renamed", "random", "gaussian", "views"] = "streams"
    random_dim: int = 8
    random_method: Literal["normal", "neighbors", "hypercube"] = "hypercube"
    random_share: float | int = 1.0
    normalize_parts: bool = True
    encoder_positions: Literal["tree", "rope", "sinusoidal", "learned"] = "rope"
    encoder_positions_in_layers: bool = False
    decoder_positions: Literal["rope", "sinusoidal", "t5"] = "rope"
    max_positions: int = 512
    rope_theta: float | int = 10000.0
    token_arity: dict | None = None
    identity_qk: bool = False
    identity_vo: bool = False
    identity_initial: float | int = 0.0
    identity_multiplier: float | int = 1.0
    embedding_norm: bool = False
    normalize_embeddings: bool = True
    normalize_features: bool = True
    loss: Literal["adacos", "cross_entropy"] = "adacos"
    label_smoothing: float | int = 0.0
    pooling: Literal["sum", "mean", "first", "pooler"] = "sum"
    regression_loss: Literal["mse", "mape"] = "mse"
    grammar: dict | None = None
    canonical_slots: bool = True
    use_cache: bool = True
    pad_token_id: int | None = 1
    bos_token_id: int | None = 0
    eos_token_id: int | None = 2
    decoder_start_token_id: int | None = 0
    is_encoder_decoder: bool = True
    tie_word_embeddings: bool = True

    def __post_init__(self, **kwargs: Any) -> None:
        others = kwargs.pop(_OTHERS, {})
        for name in kwargs:
            if name == "vocab_size":
                raise ValueError(
                    "vocab_size follows from base_vocab_size + num_symbols * num_views and cannot be set; set "
                    "num_symbols instead"
                )
            if name not in _INHERITED_KEYS:
                near = difflib.get_close_matches(name, self.__dataclass_fields__, n=1)
                raise ValueError(f"{name}={kwargs[name]!r}: unknown field; " + (f"did you mean {near[0]}?" if near else
                                 "SymbolInvariantConfig's docstring lists the fields"))  # fmt: skip
        if self.components is None:
            aggregated = ["EA"] if self.symbol_embedding == "streams" else []
            self.components = {
                "encoder-decoder": ["EP", "DP", *aggregated, "CP"],
                "decoder-only": ["DP", *(["DA"] if aggregated else [])],
                "encoder-only": ["EP", *aggregated],
            }[self.kind]
        self.is_encoder_decoder = self.kind == "encoder-decoder"
        if self.token_arity is not None:  # JSON writes integer keys as strings
            self.token_arity = {_token_id(key): value for key, value in self.token_arity.items()}
        super().__post_init__(**kwargs, **others)

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """As `PreTrainedConfig.from_dict`: keeps keys that are no fields, and warns of one that is nearly a field.

        Others write such keys into config.json: a quantisation, a newer transformers, notes.
        """
        names = {*cls.__dataclass_fields__, *_INHERITED_KEYS, "vocab_size"}
        own = {name: value for name, value in config_dict.items() if name in names}
        others = {name: value for name, value in config_dict.items() if name not in names}
        for name, value in others.items():
            if near := difflib.get_close_matches(name, cls.__dataclass_fields__, n=1, cutoff=0.8):
                logger.warning("%s=%r in the configuration is no field and has no effect; did you mean %s?",
                               name, value, near[0])  # fmt: skip
        return super().from_dict({**own, _OTHERS: others} if others else own, **kwargs)

    @property
    def vocab_size(self) -> int:
        """V_n + num_symbols * num_views: the least width of logits in id space."""
        return self.base_vocab_size + self.num_symbols * self.num_views

    @property
    def kind(self) -> str:
        """`"encoder-decoder"`; `"decoder-only"` without encoder layers, `"encoder-only"` without decoder layers."""
        if self.encoder_layers == 0:
            return "decoder-only"
        return "encoder-only" if self.decoder_layers == 0 else "encoder-decoder"

    @property
    def answers_have_new_symbols(self) -> bool:
        """Whether an encoder-decoder's answers may have symbols that the question does not have."""
        return self.kind == "encoder-decoder" and bool(self.num_fresh_symbols)

    @property
    def num_hidden_layers(self) -> int:
        """The encoder's layers, or the decoder's if it is alone."""
        return self.encoder_layers or self.decoder_layers

    @num_hidden_layers.setter
    def num_hidden_layers(self, value: int) -> None:
        setattr(self, "encoder_layers" if self.encoder_layers else "decoder_layers", value)

    @classmethod
    def from_preset(cls, name: str, **overrides: Any) -> "SymbolInvariantConfig":
        """The papers' model for a task, with any field overridden: `"ltl"` and `"prop"` with streams, `"ltl-baseline"`
        and `"prop-baseline"` with one; `"lexinvariant"`, a language model of ASCII characters; `"renamer-tiny"`,
        `"renamer-mini"` and `"renamer-small"`, encoders whose vocabulary is to be given.

        Raises:
            ValueError: if there is no such preset.
        Source: SIT Tables 2, 3 and 5; ITE Table 4; LI section 3; Renamer section 5.2.
        """
        if name not in PRESETS:
            raise ValueError(f"preset={name!r}: unknown preset; use one of {', '.join(PRESETS)}")
        return cls(**{**PRESETS[name], **overrides})

    def validate_sizes(self) -> None:
        """Refuses sizes that no model can have."""
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            _require(
                not isinstance(value, float) or math.isfinite(value),
                f"{name}={value}: must be finite; JSON has no such number, so the model could not be saved",
            )
        for name in ("base_vocab_size", "num_views", "d_model", "num_attention_heads", "d_ff", "max_positions"):
            _require(getattr(self, name) >= 1, f"{name}={getattr(self, name)}: must be at least 1")
        for name, rest in (("encoder_layers", " decoder without encoder"), ("decoder_layers", "n encoder alone")):
            _require(getattr(self, name) >= 0, f"{name}={getattr(self, name)}: must be at least 1, or 0 for a{rest}")
        _require(self.encoder_passes >= 1, f"encoder_passes={self.encoder_passes}: must be at least 1")
        least = 0 if self.symbol_embedding in ("streams", "views") else 1
        _require(self.num_symbols >= least, f"num_symbols={self.num_symbols}: must be at least {least}")
        _require(
            self.d_model % (2 * self.num_attention_heads) == 0,
            f"d_model={self.d_model}: must be a multiple of 2 * num_attention_heads = {2 * self.num_attention_heads}, "
            "so that every head has an even width to rotate",
        )
        _require(0 <= self.dropout < 1, f"dropout={self.dropout}: must be a probability in [0, 1)")
        _require(0 <= self.label_smoothing < 1, f"label_smoothing={self.label_smoothing}: must be a share in [0, 1)")
        _require(self.layer_norm_eps > 0, f"layer_norm_eps={self.layer_norm_eps}: must be positive")
        _require(
            self.initializer_range is None or self.initializer_range > 0,
            f"initializer_range={self.initializer_range}: must be positive, as BERT's 0.02, or None",
        )
        _require(self.rope_theta > 0, f"rope_theta={self.rope_theta}: must be positive")
        _require(
            self.identity_multiplier > 0,
            f"identity_multiplier={self.identity_multiplier}: must be positive; 1 changes nothing",
        )
        for name in ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id"):
            value = getattr(self, name)
            _require(
                value is None or 0 <= value < self.base_vocab_size,
                f"{name}={value}: must be a base id, 0 … {self.base_vocab_size - 1} (base_vocab_size - 1)",
            )

    def validate_activation(self) -> None:
        """Refuses an activation that transformers does not know."""
        from .versions_symbinv import ACT2FN  # which imports torch

        near = difflib.get_close_matches(self.activation_function, ACT2FN, n=1)
        _require(
            self.activation_function in ACT2FN,
            f"activation_function={self.activation_function!r}: unknown; "
            + (f"did you mean {near[0]}?" if near else "use a name of transformers.activations.ACT2FN, such as relu"),
        )

    def validate_components(self) -> None:
        """Refuses component lists that name no model of the family."""
        components = self.components or []  # never None here: the defaults are filled in
        shown = "-".join(map(str, components))
        _require(
            self.encoder_layers != 0 or self.decoder_layers != 0,
            "encoder_layers=0, decoder_layers=0: a model needs layers of one kind at least",
        )
        for component in components:
            _require(
                component in COMPONENTS,
                f'components="{shown}": unknown component {component!r}; use some of {" ".join(COMPONENTS)}',
            )
        _require(
            len(set(components)) == len(components),
            f'components="{shown}": a component is listed twice; list each at most once',
        )
        if self.kind == "decoder-only":
            _require(
                bool(components) and set(components) <= {"DP", "DA"},
                f'components="{shown}": without encoder (encoder_layers=0) there are DP and, with streams, DA; use one '
                "or both",
            )
        elif self.kind == "encoder-only":
            _require(
                bool(components) and set(components) <= {"EP", "EA"},
                f'components="{shown}": without decoder (decoder_layers=0) there are EP and EA; use one or both',
            )
        else:
            _require(
                bool({"CP", "CA"} & set(components)),
                f'components="{shown}": the decoder would not see the encoder; add CP, CA or both, or for a decoder '
                "alone set encoder_layers=0, for an encoder alone decoder_layers=0",
            )
            _require(
                bool({"DP", "DA"} & set(components)),
                f'components="{shown}": the decoder would not see the answer so far; add DP, DA or both',
            )
        _require(
            self.symbol_embedding == "streams" or not {"EA", "DA", "CA"} & set(components),
            f'components="{shown}": symbol_embedding="{self.symbol_embedding}" has one stream, which leaves nothing to '
            "aggregate; use some of EP DP CP",
        )
        self._validate_embedding()

    def _validate_embedding(self) -> None:
        kind = self.symbol_embedding
        _require(
            self.kind != "decoder-only" or kind in ("streams", "gaussian", "learned", "renamed"),
            f'symbol_embedding="{kind}": a decoder without encoder (encoder_layers=0) uses "streams", "gaussian", '
            '"learned" or "renamed"',
        )
        _require(
            self.kind != "encoder-only" or kind in ("views", "streams", "learned", "canonical", "renamed"),
            f'symbol_embedding="{kind}": an encoder without decoder (decoder_layers=0) uses "views", "streams", '
            '"learned", "canonical" or "renamed"',
        )
        _require(
            self.kind == "decoder-only" or kind != "gaussian",
            'symbol_embedding="gaussian": is for a decoder without encoder; set encoder_layers=0 and components=["DP"]',
        )
        _require(
            self.kind == "encoder-only" or kind != "views",
            'symbol_embedding="views": is for an encoder without decoder; set decoder_layers=0 and components=["EP"]',
        )
        _require(
            self.kind != "decoder-only" or self.num_views <= 1,
            f"num_views={self.num_views}: a decoder without encoder (encoder_layers=0) writes symbols of one view; set "
            "num_views=1",
        )
        _require(
            self.kind == "encoder-only" or not self.embedding_norm,
            "embedding_norm=True: is for an encoder without decoder; set decoder_layers=0, or remove the field",
        )
        _require(
            self.num_fresh_symbols is None or self.kind != "encoder-only",
            f"num_fresh_symbols={self.num_fresh_symbols}: an encoder without decoder (decoder_layers=0) writes no "
            "symbols; remove the field",
        )
        _require(
            self.num_fresh_symbols is None or kind in ("streams", "canonical"),
            f'num_fresh_symbols={self.num_fresh_symbols}: symbol_embedding="{kind}" has a row for every symbol and '
            "writes any of them, new or not; remove the field",
        )
        _require(
            self.num_fresh_symbols is None or self.num_fresh_symbols >= 0,
            f"num_fresh_symbols={self.num_fresh_symbols}: must be at least 0, or None for no limit",
        )
        _require(
            0 < self.random_share <= 1,
            f"random_share={self.random_share}: must be a probability in (0, 1]; to randomise nothing, use "
            'symbol_embedding="learned"',
        )
        _require(
            self.random_share == 1 or kind in ("gaussian", "renamed"),
            f'random_share={self.random_share}: symbol_embedding="{kind}" randomises no share of the symbols; use '
            '"gaussian" or "renamed"',
        )
        _require(
            self.symbol_embedding != "random" or 1 <= self.random_dim < self.d_model,
            f"random_dim={self.random_dim}: must be at least 1 and leave some of d_model={self.d_model} to learn",
        )
        _require(
            self.symbol_embedding != "random" or self.num_symbols <= num_vectors(self.random_method, self.random_dim),
            f"num_symbols={self.num_symbols}: {self.random_method} with random_dim={self.random_dim} has "
            f"{num_vectors(self.random_method, self.random_dim)} different vectors; choose a larger random_dim",
        )

    def validate_problem(self) -> None:
        """Refuses a problem type that `SymbolInvariantForSequenceClassification` has no loss for."""
        _require(
            self.problem_type in (None, "regression", "single_label_classification"),
            f'problem_type="{self.problem_type}": use "regression" or "single_label_classification", or None for '
            "regression with one label and classification with more",
        )

    def validate_tokens(self) -> None:
        """Refuses token tables that do not fit the vocabulary or the positions."""
        for token, arity in (self.token_arity or {}).items():
            _require(
                0 <= token < self.base_vocab_size and arity in (0, 1, 2),
                f"token_arity={{{token}: {arity}}}: keys are base ids 0 … {self.base_vocab_size - 1}, values 0, 1 or 2",
            )
        _require(
            self.encoder_positions != "tree" or bool(self.token_arity),
            'encoder_positions="tree": needs token_arity (base id → number of children) to find the syntax tree',
        )
        for name, off in (("encoder_passes", 1), ("encoder_positions_in_layers", False)):
            _require(
                self.encoder_layers > 0 or getattr(self, name) == off,
                f"{name}={getattr(self, name)}: a decoder without encoder (encoder_layers=0) has no use for it; remove "
                "the field",
            )
        _require(
            self.encoder_positions != "rope" or not self.encoder_positions_in_layers,
            'encoder_positions_in_layers=True: encoder_positions="rope" turns queries and keys in each layer already; '
            "remove the field",
        )
        _require(
            self.loss != "adacos" or (self.normalize_embeddings and self.normalize_features),
            'loss="adacos": scales cosines, so it needs normalize_embeddings=True and normalize_features=True; '
            'or use loss="cross_entropy"',
        )
        if self.grammar is not None:
            _require(self.is_encoder_decoder, "grammar: only encoder-decoders follow one; remove the field")
            check_grammar(self.grammar, self.base_vocab_size, self.num_views)
            _require(self.eos_token_id is not None, "eos_token_id=None: grammar needs a token that ends an answer")
            check_grammar_alone(self)
        _require(
            self.tie_word_embeddings,
            "tie_word_embeddings=False: encoder, decoder and projection share one table; remove the field",
        )


def num_vectors(method: str, width: int) -> float:
    """How many different random parts there are; infinity where draws are not checked to differ.

    In more than 32 dimensions the integers that stand for vectors would be too large, and equal draws are too rare to
    matter.

    Source: ITE Table 1 and section 4.2.
    """
    if method == "normal" or width > 32:
        return math.inf
    return 2**width if method == "hypercube" else 3**width - 1


# The token ids that each grammar of answers needs.
_GRAMMAR_KEYS = {
    "lasso": ("operand", "unary", "binary", "separator", "cycle_start", "cycle_end"),
    "assignment": ("values",),
}


def check_grammar(grammar: dict[str, Any], base_vocab_size: int, num_views: int = 1) -> None:
    """Refuses a grammar that no `GrammarLogitsProcessor` can follow.

    Raises:
        ValueError: for another name than "lasso" and "assignment", a missing key, an id that is no base id, or symbols
            of several views.
    """
    name = grammar.get("name")
    names = ", ".join(f'{{"name": "{known}", …}}' for known in _GRAMMAR_KEYS)
    _require(name in list(_GRAMMAR_KEYS), f"grammar={grammar!r}: unknown grammar; use {names} or None")
    keys = _GRAMMAR_KEYS[str(name)]
    missing = [key for key in keys if key not in grammar]
    _require(not missing, f"grammar={grammar!r}: {', '.join(missing)} missing; give the ids of these tokens")
    for key in keys:
        ids = grammar[key] if isinstance(grammar[key], list) else [grammar[key]]
        _require(
            all(type(token) is int and 0 <= token < base_vocab_size for token in ids),
            f"grammar: {key}={grammar[key]!r}: must be base ids, 0 … {base_vocab_size - 1}",
        )
    _require(
        num_views == 1,
        f"grammar={name!r} with num_views={num_views}: grammars know symbols of one view; use grammar=None",
    )
    _require(grammar.get("values") != [], "grammar: values=[]: give the ids of the values that symbols can have")


def check_grammar_alone(config: Any) -> None:
    """Refuses a grammar beside `num_fresh_symbols` of the configuration.

    Raises:
        ValueError: if answers may have new symbols.
    """
    _require(
        not config.answers_have_new_symbols,
        f"grammar with num_fresh_symbols={config.num_fresh_symbols}: grammars know the symbols of the question only; "
        "use grammar=None, or remove num_fresh_symbols",
    )


def _token_id(key: Any) -> int:
    if isinstance(key, str) and key.isdecimal():
        return int(key)
    _require(isinstance(key, int) and not isinstance(key, bool), f"token_arity: key {key!r} is not a token id (int)")
    return key


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


SymbolInvariantConfig.register_for_auto_class()  # saved checkpoints bring the code along

__all__ = ["SymbolInvariantConfig"]

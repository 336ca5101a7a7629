"""Configuration of the symbol-invariant models: one dataclass, checked field by field and as a whole."""

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from .versions_symbinv import PreTrainedConfig, later, strict

COMPONENTS = ("EP", "EA", "DP", "DA", "CP", "CA")
# What each kind of model needs, of these pairs of blocks one or both, and the embeddings that it can have.
_NEEDED = {
    "encoder-decoder": (("DP", "DA"), ("CP", "CA")), "decoder-only": (("DP", "DA"),), "encoder-only": (("EP", "EA"),),
}  # fmt: skip
_EMBEDDINGS = {
    "encoder-decoder": ("streams", "learned", "canonical", "renamed", "random"),
    "decoder-only": ("streams", "learned", "renamed", "gaussian"),
    "encoder-only": ("streams", "learned", "canonical", "renamed", "views"),
}

# What `PreTrainedConfig` takes besides its fields.
_INHERITED_KEYS = {
    "_attn_implementation", "_name_or_path", "_output_attentions", "attn_implementation", "experts_implementation",
    "name_or_path", "num_labels", "output_attentions", "torch_dtype",
}  # fmt: skip

# Sizes: SIT Table 5; components: SIT Tables 2 and 3, first rows; positions: SIT section 5.2. Ids of the two logics are
# 0 <s>, 1 <pad>, 2 </s>, 3 … 7 for 0 1 & | !; LTL goes on with ; { } U X, propositional logic with xor <->.
PRESETS: dict[str, dict[str, Any]] = {
    "ltl": {
        "base_vocab_size": 13, "num_symbols": 5, "d_model": 64, "encoder_layers": 8, "decoder_layers": 8,
        "num_attention_heads": 4, "d_ff": 1024, "components": ["EP", "DP", "EA", "CP"], "encoder_positions": "tree",
        "scale_embedding": False, "token_arity": {3: 0, 4: 0, 5: 2, 6: 2, 7: 1, 11: 2, 12: 1},
        "grammar": {"name": "lasso", "operand": [3, 4], "unary": [7], "binary": [5, 6],
                    "separator": 8, "cycle_start": 9, "cycle_end": 10},
    },
    "prop": {
        "base_vocab_size": 10, "num_symbols": 5, "d_model": 96, "d_ff": 768, "encoder_layers": 6, "decoder_layers": 6,
        "num_attention_heads": 6, "components": ["EP", "DP", "EA", "DA", "CP"], "encoder_positions": "tree",
        "scale_embedding": False, "token_arity": {3: 0, 4: 0, 5: 2, 6: 2, 7: 1, 8: 2, 9: 2},
        "grammar": {"name": "assignment", "values": [3, 4]},
    },
}  # fmt: skip
_ONE_STREAM = {"symbol_embedding": "learned", "components": ["EP", "DP", "CP"]}
PRESETS |= {
    # The papers' models with one stream for the same tasks: ITE Table 4.
    "ltl-baseline": {**PRESETS["ltl"], **_ONE_STREAM, "d_model": 128, "num_attention_heads": 8},
    "prop-baseline": {**PRESETS["prop"], **_ONE_STREAM, "d_model": 132, "d_ff": 512},
    # The lexinvariant language model of 151M parameters, for ASCII: LI section 3 and appendix B. It has T5's positions,
    # and does not say where it normalises: here it is where T5 does.
    "lexinvariant": {
        "base_vocab_size": 3, "num_symbols": 128, "d_model": 1024, "encoder_layers": 0, "decoder_layers": 12,
        "num_attention_heads": 8, "d_ff": 4096, "dropout": 0.0, "components": ["DP"], "symbol_embedding": "gaussian",
        "decoder_positions": "t5", "norm_first": True, "normalize_embeddings": False, "normalize_features": False,
        "loss": "cross_entropy",
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
    """Sizes and choices of a symbol-invariant model; the defaults are the paper's LTL model without its tree positions,
    and for more symbols.

    Args:
        base_vocab_size: V_n, the number of base tokens, with ids 0 … V_n - 1; every id from V_n on is a symbol.
        num_symbols: referents seen in training; sets `vocab_size`, the least width of logits, and AdaCos' first scale,
            sqrt(2) log(vocab_size - 1). `learned`, `canonical`, `renamed`: symbols that have rows; `gaussian`: symbols
            that exist. No other model's weights depend on it, so the default is generous.
        num_views: what can be said of a symbol besides its identity, as a register's width or that it is a function.
            Symbol ids are `base_vocab_size + referent * num_views + view`; renamings exchange referents and keep views.
            An encoder-decoder can write every view of a symbol that it can write. Decoders alone and grammars have one.
        num_fresh_symbols: how many symbols that its text does not have `generate` may write; a limit only. A decoder
            alone with streams takes None for no limit and 0 for none. An encoder-decoder takes None or 0 for none; more
            than 0 gives it an anonymous stream for new symbols, or with canonical names the next rows.
        d_model: width of a hidden state, a multiple of `2 * num_attention_heads`.
        encoder_layers, decoder_layers: number of layers. Without encoder layers the model is a decoder only, for
            `SymbolInvariantForCausalLM`; without decoder layers an encoder only, for classification or `…ForMaskedLM`.
        encoder_passes: how often a text goes through all of the encoder's layers, with the same weights each time.
        num_attention_heads, d_ff: heads of every attention block; width of the feed-forward blocks' middle.
        activation_function: activation of the feed-forward blocks, a name of `transformers.activations`.
        dropout: probability, applied to embeddings and to the output of every block in training.
        layer_norm_eps: epsilon of every LayerNorm.
        norm_first: `h + f(norm(h))` in place of `norm(h + f(h))`; deep models then bear larger learning rates.
        initializer_range: standard deviation of new weights, as BERT's 0.02; with None matrices are Glorot-uniform.
        components: attention blocks, of `EP EA DP DA CP CA` (encoder, decoder, cross; per-stream, aggregated). CP and
            CA apply in the order listed; the decoder needs DP or DA, and CP or CA if there is an encoder. Default
            EP DP EA CP, with one stream EP DP CP; for one part alone DP or EP, with streams also DA or EA.
        symbol_embedding: how symbols become vectors: `"streams"`, one stream per symbol of the input, and an anonymous
            one where new symbols may be written; or with one stream `"learned"`, a row per symbol, `"canonical"`, a row
            for the first symbol of an example, one for the second, ..., `"renamed"`, rows of symbols that every
            training forward permutes, `"random"`, a part that all symbols share and a random part each, `"gaussian"`,
            of a decoder alone, a standard normal row per symbol and sequence, or `"views"`, of an encoder alone, a row
            per view and a first layer in which only coreferent tokens see each other.
        random_dim, random_method: its width, and `"normal"`, `"neighbors"` or `"hypercube"` of `random_vectors`.
        random_share: probability that in training a symbol of a sequence gets a random row (`gaussian`) or is permuted
            (`renamed`). Below 1 the others, and in evaluation all, have learned rows: a regulariser.
        normalize_parts: L2-normalise the learned and the random part on their own.
        encoder_positions: `"tree"`, paths in the syntax tree of a prefix text, `"rope"`, `"sinusoidal"` or `"learned"`.
        encoder_positions_in_layers: add them in each layer too, to what queries and keys are made of; rotary ones are.
        decoder_positions: `"rope"`, in cross-attention too, `"sinusoidal"`, or `"t5"`; see `RelativeBias`.
        max_positions: how many positions learn a vector where they are `"learned"`.
        rope_theta: base of the rotary frequencies.
        token_arity: base id → number of children (0, 1 or 2) of the tokens that make syntax trees, for tree positions.
        identity_qk: add `a_h x xᵀ` to the scores of attention, with a trainable a per head; x has no positions.
        identity_vo: add `Σ_h b_h A_h x` to the output of every attention, with a trainable scalar b per head.
        identity_initial: a and b of a new model.
        identity_multiplier: a and b are stored divided by this; Adam moves them as with so many times the rate.
        embedding_norm: of an encoder alone, LayerNorm of embeddings plus positions, and no factor sqrt(D), as in BERT.
        normalize_embeddings: L2-normalise the rows of the embedding table, before look-up and projection.
        scale_embedding: multiply looked-up rows by sqrt(D), as BART's. Beside them `"tree"` positions are small.
        extra_streams: logits of base tokens are a mean over at least so many streams. Those beyond an example's symbols
            show placeholders everywhere; they take no part in aggregated attention, where an example without symbols
            has zeros. For checkpoints of SIT's release, which has a stream for each symbol of a list; default 0.
        normalize_features: L2-normalise the last hidden states before the projection.
        loss: `"adacos"` (adaptively scaled cosine logits) or `"cross_entropy"`, of the next token.
        label_smoothing: share of the probability spread over all that can be written; instead of the Trainer's own.
        pooling: for sequence classification `"sum"`, `"mean"`, `"first"` of the tokens' outputs, or BERT's `"pooler"`.
        regression_loss: `"mse"`, mean squared error, or `"mape"`, mean absolute percentage error, for regression.
        grammar: grammar of the answers, a default for `generation_config.grammar`; see `GrammarProcessor`.
        canonical_slots: slots by first appearance, so renamed inputs are the same tensors; False shuffles, for tests.
        use_cache: return keys and values for the next decoding step.
        pad_token_id, bos_token_id, eos_token_id, decoder_start_token_id: base ids.

    A configuration that is read from a file keeps keys that are no fields, such as `quantization_config`.

    Raises:
        ValueError: for an impossible value or combination, or an unknown field in a call.
        huggingface_hub.errors.StrictDataclassError: for a field of a wrong type, or around the ValueError.

    Source: sizes and components SIT Table 5 and section 5.2; `gaussian` and `random_share` LI (Huang et al. 2023),
    section 2 and appendix G; views Renamer section 4.1; `embedding_norm`, `initializer_range` and the pooler BERT
    (Devlin et al. 2019) and its release; identities "When can transformers reason with abstract symbols?", section 1;
    `norm_first` Xiong et al. 2020, Figure 1(b); `encoder_passes` Dehghani et al. 2019, section 2.1;
    `encoder_positions_in_layers` Carion et al. 2020, appendix A.4; the rest SIT section 3.3 and Işık et al. 2025.
    """

    model_type = "symbol_invariant"
    # The encoder's states have as many streams as the batch has symbols: a Trainer cannot join those of two batches.
    keys_to_ignore_at_inference = ["cache", "slot_referents", "slot_vectors", "encoder_last_hidden_state"]
    attribute_map = {"hidden_size": "d_model"}

    base_vocab_size: int = 13
    num_symbols: int = 64
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
    scale_embedding: bool = True
    extra_streams: int = 0
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
        is_read = "model_type" in kwargs  # from a file, which may have keys that are no fields
        for name in () if is_read else kwargs:
            if name == "vocab_size":
                why = "follows from base_vocab_size + num_symbols * num_views and cannot be set"
                raise ValueError(f"vocab_size {why}; set num_symbols instead")
            if name not in _INHERITED_KEYS:
                near = difflib.get_close_matches(name, self.__dataclass_fields__, n=1)
                remedy = f"did you mean {near[0]}?" if near else "SymbolInvariantConfig's docstring lists the fields"
                raise ValueError(f"{name}={kwargs[name]!r}: unknown field; {remedy}")
        if self.components is None:
            aggregated = ["EA"] if self.symbol_embedding == "streams" else []
            self.components = {
                "encoder-decoder": ["EP", "DP", *aggregated, "CP"],
                "decoder-only": ["DP", *(["DA"] if aggregated else [])],
                "encoder-only": ["EP", *aggregated],
            }[self.kind]
        self.is_encoder_decoder = self.kind == "encoder-decoder"
        if self.token_arity is not None:  # JSON writes integer keys as strings
            numbers = (int(key) if str(key).isdecimal() else key for key in self.token_arity)
            self.token_arity = dict(zip(numbers, self.token_arity.values(), strict=True))
        super().__post_init__(**kwargs)

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
        """
        if name not in PRESETS:
            raise ValueError(f"preset={name!r}: unknown preset; use one of {', '.join(PRESETS)}")
        return cls(**{**PRESETS[name], **overrides})

    def validate_sizes(self) -> None:
        """Refuses sizes that no model can have."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name, value in fields.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{name}={value}: must be finite; JSON has no such number, so it could not be saved")
        last, least = self.base_vocab_size - 1, 0 if self.symbol_embedding in ("streams", "views") else 1
        ones = ("base_vocab_size", "num_views", "d_model", "num_attention_heads", "d_ff", "max_positions")
        ids = ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id")
        fresh, spread = self.num_fresh_symbols, self.initializer_range
        self._refuse([
            *((name, fields[name] < 1, "must be at least 1") for name in (*ones, "encoder_passes")),
            ("encoder_layers", self.encoder_layers < 0, "must be at least 1, or 0 for a decoder without encoder"),
            ("decoder_layers", self.decoder_layers < 0, "must be at least 1, or 0 for an encoder alone"),
            ("num_symbols", self.num_symbols < least, f"must be at least {least}"),
            ("num_fresh_symbols", fresh is not None and fresh < 0, "must be at least 0, or None for no limit"),
            ("extra_streams", self.extra_streams < 0, "must be at least 0"),
            ("dropout", not 0 <= self.dropout < 1, "must be a probability in [0, 1)"),
            ("label_smoothing", not 0 <= self.label_smoothing < 1, "must be a share in [0, 1)"),
            ("random_share", not 0 < self.random_share <= 1, "must be a probability in (0, 1]; for none, use learned"),
            ("layer_norm_eps", self.layer_norm_eps <= 0, "must be positive"),
            ("initializer_range", spread is not None and spread <= 0, "must be positive, as BERT's 0.02, or None"),
            ("rope_theta", self.rope_theta <= 0, "must be positive"),
            ("identity_multiplier", self.identity_multiplier <= 0, "must be positive; 1 changes nothing"),
            ("activation_function", self.activation_function not in later("ACT2FN"),
             "must be a key of transformers' ACT2FN, such as relu"),
            ("problem_type", self.problem_type not in (None, "regression", "single_label_classification"),
             "use regression or single_label_classification, or None for regression with one label alone"),
            *((name, fields[name] is not None and not 0 <= fields[name] <= last, f"must be a base id, 0 … {last}")
              for name in ids),
        ])  # fmt: skip
        heads = 2 * self.num_attention_heads
        rule = f"must be a multiple of 2 * num_attention_heads = {heads}, so that each head has an even width to rotate"
        self._refuse([("d_model", self.d_model % heads, rule)])

    def validate_components(self) -> None:
        """Refuses component lists that name no model of the family."""
        if not self.num_hidden_layers:
            raise ValueError("encoder_layers=0, decoder_layers=0: a model needs layers of one kind at least")
        components, needed = self.components or [], _NEEDED[self.kind]  # never None here: the defaults are filled in
        known: Sequence[str] = COMPONENTS if self.kind == "encoder-decoder" else needed[0]
        if self.symbol_embedding != "streams":  # one stream leaves nothing to aggregate
            known = [name for name in known if name.endswith("P")]
        self._refuse([
            *(("components", name not in known, f"{name!r} is no block of this model; use some of {' '.join(known)}")
              for name in components),
            ("components", len({*components}) < len(components), "a component is listed twice; list each at most once"),
            *(("components", not {*pair} & {*components}, f"{self.kind} models need {' or '.join(pair)}, or both")
              for pair in needed),
        ])  # fmt: skip
        self._validate_embedding()

    def _validate_embedding(self) -> None:
        kind, known = self.symbol_embedding, _EMBEDDINGS[self.kind]
        has_decoder, has_encoder = self.kind != "encoder-only", self.kind != "decoder-only"
        fresh, fixed = self.num_fresh_symbols is not None, self.is_encoder_decoder and not self.answers_have_new_symbols
        available = num_vectors(self.random_method, self.random_dim)
        no_width = not 1 <= self.random_dim < self.d_model
        self._refuse([
            ("symbol_embedding", kind not in known, f"a model that is {self.kind} has one of {', '.join(known)}; "
             "without encoder layers it is decoder-only, without decoder layers encoder-only"),
            ("num_views", not has_encoder and self.num_views > 1, "a decoder alone writes symbols of one view; set 1"),
            ("embedding_norm", self.embedding_norm and has_decoder, "is for an encoder alone; remove the field"),
            ("scale_embedding", not self.scale_embedding and kind == "gaussian", "gaussian rows have a learned scale"),
            ("num_fresh_symbols", fresh and not has_decoder, "an encoder alone writes no symbols; remove the field"),
            ("num_fresh_symbols", fresh and kind not in ("streams", "canonical"), f"symbol_embedding={kind!r} has a "
             "row for every symbol and writes any of them, new or not; remove the field"),
            ("extra_streams", self.extra_streams and not (kind == "streams" and fixed),
             "is for an encoder-decoder with streams whose answers have no new symbols; remove the field"),
            ("random_share", self.random_share != 1 and kind not in ("gaussian", "renamed"),
             f"symbol_embedding={kind!r} randomises no share of the symbols; use gaussian or renamed"),
            ("random_dim", kind == "random" and no_width, f"must be at least 1, and less than d_model={self.d_model}"),
            ("num_symbols", kind == "random" and self.num_symbols > available,
             f"{self.random_method} with random_dim={self.random_dim} has {available} different vectors; choose a "
             "larger random_dim"),
        ])  # fmt: skip

    def validate_tokens(self) -> None:
        """Refuses token tables that do not fit the vocabulary or the positions."""
        last, positions, no_encoder = self.base_vocab_size - 1, self.encoder_positions, self.kind == "decoder-only"
        unused = "a decoder without encoder (encoder_layers=0) has no use for it; remove the field"
        self._refuse([
            *(("token_arity", not (type(token) is int and 0 <= token <= last and arity in (0, 1, 2)),
               f"{token!r}: {arity}: keys are base ids 0 … {last}, values 0, 1 or 2")
              for token, arity in (self.token_arity or {}).items()),
            ("encoder_positions", positions == "tree" and not self.token_arity,
             "needs token_arity (base id → number of children) to find the syntax tree"),
            ("encoder_passes", no_encoder and self.encoder_passes != 1, unused),
            ("encoder_positions_in_layers", no_encoder and self.encoder_positions_in_layers, unused),
            ("encoder_positions_in_layers", positions == "rope" and self.encoder_positions_in_layers,
             'encoder_positions="rope" turns queries and keys in each layer already; remove the field'),
            ("loss", self.loss == "adacos" and not (self.normalize_embeddings and self.normalize_features),
             "scales cosines, so it needs normalize_embeddings=True and normalize_features=True; or use cross_entropy"),
            ("grammar", self.grammar is not None and not self.is_encoder_decoder, "is for encoder-decoders"),
            ("tie_word_embeddings", not self.tie_word_embeddings, "encoder, decoder and projection share one table"),
        ])  # fmt: skip
        if self.grammar is not None:
            check_grammar(self.grammar, self)

    def _refuse(self, rules: Iterable[tuple[str, object, str]]) -> None:
        """Raises a ValueError for the first of the fields of which it is true that something is wrong."""
        for name, is_wrong, rule in rules:
            if is_wrong:
                value = getattr(self, name)
                shown = "-".join(map(str, value)) if isinstance(value, list) else value
                raise ValueError(f"{name}={shown!r}: {rule}")


def num_vectors(method: str, width: int) -> float:
    """How many different random parts there are; infinity where draws are not checked to differ.

    Source: ITE Table 1 and section 4.2; the limit of 32 is our choice, as equal draws are too rare to matter beyond it.
    """
    if method == "normal" or width > 32:
        return math.inf
    return 2**width if method == "hypercube" else 3**width - 1


# The token ids that each grammar of answers needs.
_GRAMMAR_KEYS = {
    "lasso": ("operand", "unary", "binary", "separator", "cycle_start", "cycle_end"),
    "assignment": ("values",),
}


def check_grammar(grammar: Any, config: Any) -> None:
    """Raises a ValueError for a grammar that no `GrammarProcessor` can follow with a model of this configuration."""
    name = grammar.get("name") if isinstance(grammar, Mapping) else None
    keys, last = _GRAMMAR_KEYS.get(str(name)), config.base_vocab_size - 1
    if keys is None:
        names = ", ".join(f'{{"name": "{known}", …}}' for known in _GRAMMAR_KEYS)
        raise ValueError(f"grammar={grammar!r}: unknown grammar; use {names} or None")
    for key in keys:
        ids = grammar.get(key)
        each = ids if isinstance(ids, list) else [ids]
        if not all(type(token) is int and 0 <= token <= last for token in each) or (key == "values" and not each):
            raise ValueError(f"grammar: {key}={ids!r}: must be base ids, 0 … {last}")
    if config.num_views > 1:
        raise ValueError(f"grammar={name!r} with num_views={config.num_views}: grammars know symbols of one view")
    if config.answers_have_new_symbols:
        why = f"num_fresh_symbols={config.num_fresh_symbols}: grammars know the symbols of the question only"
        raise ValueError(f"grammar with {why}; use grammar=None, or remove num_fresh_symbols")
    if config.eos_token_id is None:
        raise ValueError("eos_token_id=None: grammar needs a token that ends an answer")


SymbolInvariantConfig.register_for_auto_class()  # saved checkpoints bring the code along

"""What the files beside a model hold, as far as cards and commands use it; other keys may have any value."""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class Recipe(TypedDict, total=False):
    """`recipe` of `run.json`."""

    task: str
    start: str | None
    trainer: dict[str, Any]


class Machine(TypedDict, total=False):
    """`environment` of `run.json`."""

    python: str | None
    cpu: str | None
    cpu_count: int | None
    threads: int | None
    accelerator: str | None
    packages: dict[str, str | None]


class Entry(TypedDict, total=False):
    """One of a trainer's log."""

    step: int
    loss: float
    eval_loss: float
    eval_accuracy: float


class Results(TypedDict, total=False):
    """`results` of `run.json`, as far as the table of a card needs it."""

    test_count: int
    test_accuracy: float
    test_accuracy_interval: tuple[float, float]
    test_exact: float
    test_edit_distance: float | None


class Record(TypedDict, total=False):
    """`run.json`."""

    finished: bool
    command: str
    recipe: Recipe
    data: dict[str, Any] | None
    rows: dict[str, int]
    hyperparameters: dict[str, Any]
    results: Results
    log: list[Entry]
    step: int | None
    max_steps: int | None
    seconds: float
    processes: int | None
    environment: Machine
    verified_by: str | None


class State(TypedDict, total=False):
    """`trainer_state.json`."""

    global_step: int
    max_steps: int
    log_history: list[Entry]


class Conversion(TypedDict):
    """`conversion.json`."""

    source: str
    how: str
    base_model: str | None


class Summary(TypedDict):
    """How many questions a group has."""

    count: int


class Shares(Summary, total=False):
    """A group's shares; only the count where best of N alone was recorded."""

    accuracy: float
    accuracy_interval: tuple[float, float]
    edit_distance: float | None


class Best(TypedDict):
    """Best of N."""

    n: int
    verified: float
    verified_interval: tuple[float, float]


class _Group(TypedDict):
    label: str
    summary: Shares


class Group(_Group, total=False):
    """Questions that have something in common."""

    best_of_n: Best | None


class _Part(TypedDict):
    symbols: int
    alpha_covariance: float
    examples: int


class Part(_Part, total=False):
    """The alpha-covariance of questions with one number of symbols."""

    interval: tuple[float, float] | None
    values: list[float]


class _Covariance(TypedDict):
    alpha_covariance: float | None
    examples: int
    predictions: int


class Covariance(_Covariance, total=False):
    """`alpha_covariance` of an evaluation."""

    interval: tuple[float, float] | None
    excluded: int
    by_symbols: list[Part]
    per_symbols: int
    renamings: int | None
    alphabet: int | None
    every_renaming: bool
    renamed: bool


class _Evaluation(TypedDict):
    model: str
    data: str
    split: str
    generation: dict[str, Any]
    groups: list[Group]


class Evaluation(_Evaluation, total=False):
    """What `symbinv evaluate --output` writes."""

    task: str
    verified_by: str | None
    hub: bool
    grammar: str | None
    alpha_covariance: Covariance | None


class Tokenizer(TypedDict, total=False):
    """`tokenizer_config.json`."""

    base_tokens: list[str]
    symbol_pattern: str | None
    base_words: list[str]
    spaced: bool
    data: dict[str, Any] | None


class Grammar(TypedDict):
    """`grammar` of `config.json`."""

    name: str


class Generation(TypedDict, total=False):
    """`generation_config.json`, as far as answers depend on it."""

    bos_token_id: int | None
    decoder_start_token_id: int | None
    eos_token_id: int | list[int] | None
    pad_token_id: int | None
    early_stopping: bool | str | None
    grammar: dict[str, Any] | None
    length_penalty: float | None
    max_new_tokens: int | None
    num_beams: int | None
    output_attentions: bool | None
    output_hidden_states: bool | None
    output_scores: bool | None
    use_cache: bool | None


class Config(TypedDict, total=False):
    """`config.json`."""

    model_type: str
    architectures: list[str] | None
    grammar: Grammar | None
    encoder_layers: int
    decoder_layers: int
    encoder: dict[str, Any]
    symbol_embedding: Literal["streams", "learned", "canonical", "renamed", "random", "gaussian", "views"]
    random_share: float


__all__ = ["Config", "Conversion", "Evaluation", "Record", "State", "Tokenizer"]

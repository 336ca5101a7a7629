"""What the files beside a model hold, as far as cards and commands use it; other keys may have any value."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from annotated_types import Ge, Len, Lt
from typing_extensions import TypedDict

Count = Annotated[int, Ge(0)]
Interval = Annotated[list[float], Len(2, 2)]
Span = Annotated[list[Count], Len(2, 2)]  # the smallest and the largest number


class Recipe(TypedDict, total=False):
    """`recipe` of `run.json`."""

    task: str
    start: str | None
    trainer: dict[str, Any]


class Split(TypedDict, total=False):
    """What `hf_symbinv.training.run_data` measured of the rows of a split."""

    rows: Count | None
    symbols: Span | None
    size: Span | None
    sha256: str | None


class Data(TypedDict):
    """`data` of `run.json`: the folder or repository, None where the recipe drew the rows; what they were made with."""

    source: str | None
    builder: dict[str, Any] | None
    splits: dict[str, Split]


class Machine(TypedDict, total=False):
    """`environment` of `run.json`."""

    python: str | None
    cpu: str | None
    accelerator: str | None
    packages: dict[str, str | None]


class Results(TypedDict, total=False):
    """`results` of `run.json`."""

    test_count: int
    test_accuracy: float
    test_accuracy_interval: Interval
    test_exact: float


class Entry(TypedDict, total=False):
    """One of a trainer's log."""

    step: int


class Record(TypedDict, total=False):
    """`run.json`."""

    finished: bool
    command: str
    recipe: Recipe
    data: Data | None
    hyperparameters: dict[str, Any]
    results: Results
    log: list[Entry]
    step: int | None
    max_steps: int | None
    seconds: Annotated[float, Lt(float("inf"))]
    processes: int | None
    environment: Machine
    verified_by: str | None


class State(TypedDict, total=False):
    """`trainer_state.json`."""

    global_step: int


class Conversion(TypedDict):
    """`conversion.json`."""

    source: str
    how: str
    base_model: str | None


class Summary(TypedDict):
    """A group's shares; only the count where best of N alone was recorded."""

    count: int
    accuracy: NotRequired[float]
    accuracy_interval: NotRequired[Interval]


class Best(TypedDict):
    """Best of N."""

    n: int
    verified: float
    verified_interval: Interval


class Group(TypedDict):
    """Questions that have something in common."""

    label: str
    summary: Summary
    best_of_n: NotRequired[Best | None]


class Part(TypedDict):
    """The alpha-covariance of questions with one number of symbols."""

    symbols: int
    alpha_covariance: float
    examples: int
    interval: NotRequired[Interval | None]
    values: NotRequired[list[float]]


class Covariance(TypedDict):
    """`alpha_covariance` of an evaluation."""

    alpha_covariance: float | None
    examples: int
    predictions: int
    interval: NotRequired[Interval | None]
    by_symbols: NotRequired[list[Part]]
    renamed: NotRequired[bool]


class Evaluation(TypedDict):
    """What `symbinv evaluate --output` writes."""

    model: str
    data: str
    split: str
    generation: dict[str, Any]
    groups: Annotated[list[Group], Len(1)]
    task: NotRequired[str]
    verified_by: NotRequired[str | None]
    hub: NotRequired[bool]
    grammar: NotRequired[str | None]
    alpha_covariance: NotRequired[Covariance | None]


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

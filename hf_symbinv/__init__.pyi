"""The public names. Type checkers read them here, and so does the package, which imports each at its first use."""

from .datasets_scripts.loading import load_data as load_data
from .datasets_scripts.questions.benchmarks import Copying as Copying
from .datasets_scripts.questions.benchmarks import LtlRandom as LtlRandom
from .datasets_scripts.questions.benchmarks import PropRandom as PropRandom
from .datasets_scripts.questions.builder import RandomQuestions as RandomQuestions
from .datasets_scripts.questions.grid import QuestionGrid as QuestionGrid
from .evaluation import checkpoint as checkpoint
from .evaluation.invariance import CanonicalModel as CanonicalModel
from .evaluation.invariance import RenamingLawError as RenamingLawError
from .evaluation.invariance import SymbolIds as SymbolIds
from .evaluation.invariance import assert_invariant as assert_invariant
from .evaluation.invariance import canonical as canonical
from .evaluation.invariance_report import measure_invariance as measure_invariance
from .evaluation.invariant import InvariantModel as InvariantModel
from .evaluation.invariant import RenamingError as RenamingError
from .evaluation.invariant import invariant as invariant
from .logic import Formula as Formula
from .logic import FormulaSyntaxError as FormulaSyntaxError
from .logic import Trace as Trace
from .logic import parse as parse
from .logic import parse_infix as parse_infix
from .logic import parse_lbt as parse_lbt
from .logic import parse_prefix as parse_prefix
from .logic import parse_trace as parse_trace
from .logic import to_infix as to_infix
from .logic import to_lbt as to_lbt
from .logic import to_prefix as to_prefix
from .logic import trace_to_infix as trace_to_infix
from .logic import trace_to_prefix as trace_to_prefix
from .modeling.causal_symbinv import SymbolInvariantForCausalLM as SymbolInvariantForCausalLM
from .modeling.classification_symbinv import SymbolInvariantForMaskedLM as SymbolInvariantForMaskedLM
from .modeling.classification_symbinv import (
    SymbolInvariantForSequenceClassification as SymbolInvariantForSequenceClassification,
)
from .modeling.classification_symbinv import (
    SymbolInvariantForTokenClassification as SymbolInvariantForTokenClassification,
)
from .modeling.configuration_encoder_symbinv import SymbolInvariantEncoderConfig as SymbolInvariantEncoderConfig
from .modeling.configuration_identity_gpt2 import IdentityGPT2Config as IdentityGPT2Config
from .modeling.configuration_symbinv import SymbolInvariantConfig as SymbolInvariantConfig
from .modeling.encoder_symbinv import SymbolInvariantEncoder as SymbolInvariantEncoder
from .modeling.encoder_symbinv import (
    SymbolInvariantEncoderForSequenceClassification as SymbolInvariantEncoderForSequenceClassification,
)
from .modeling.encoder_symbinv import (
    SymbolInvariantEncoderForTokenClassification as SymbolInvariantEncoderForTokenClassification,
)
from .modeling.modeling_identity_gpt2 import (
    IdentityGPT2ForSequenceClassification as IdentityGPT2ForSequenceClassification,
)
from .modeling.modeling_identity_gpt2 import IdentityGPT2LMHeadModel as IdentityGPT2LMHeadModel
from .modeling.modeling_identity_gpt2 import IdentityGPT2Model as IdentityGPT2Model
from .modeling.modeling_symbinv import (
    SymbolInvariantForConditionalGeneration as SymbolInvariantForConditionalGeneration,
)
from .modeling.modeling_symbinv import SymbolInvariantModel as SymbolInvariantModel
from .modeling.subwords_symbinv import SymbolInvariantSubwordTokenizer as SymbolInvariantSubwordTokenizer
from .modeling.text_symbinv import SymbolInvariantTextTokenizer as SymbolInvariantTextTokenizer
from .modeling.text_symbinv import SymbolInvariantWordTokenizer as SymbolInvariantWordTokenizer
from .modeling.tokenization_symbinv import SymbolInvariantTokenizer as SymbolInvariantTokenizer
from .modeling.tokenization_symbinv import TokenizationError as TokenizationError
from .pipelines import LtlWitnessPipeline as LtlWitnessPipeline
from .pipelines import PropAssignmentPipeline as PropAssignmentPipeline
from .pipelines import SymbolPipeline as SymbolPipeline
from .pipelines import SymbolTokensPipeline as SymbolTokensPipeline
from .solvers import Checker as Checker
from .solvers import CheckResult as CheckResult
from .solvers import find_witness as find_witness
from .tasks import COPY as COPY
from .tasks import LTL as LTL
from .tasks import LTL_OPERATORS as LTL_OPERATORS
from .tasks import PROP as PROP
from .tasks import TSEITIN as TSEITIN
from .tasks import SymbolTask as SymbolTask
from .tasks import load_task as load_task
from .training import Recipe as Recipe
from .training import generate_answers as generate_answers
from .training import train as train
from .training.cards import ModelCardCallback as ModelCardCallback

__version__: str

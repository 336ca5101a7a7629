"""The public names of training, as in `hf_symbinv/__init__.pyi`."""

from .batching import GroupedSampler as GroupedSampler
from .batching import group_keys as group_keys
from .cards import write_card as write_card
from .decoding import generate_answers as generate_answers
from .fitting import fit as fit
from .recipe import Recipe as Recipe
from .recipe import load_sections as load_sections
from .recipe import overrides as overrides
from .recipe import recipe_names as recipe_names
from .recipe import training_arguments as training_arguments
from .recipe_run import closing_words as closing_words
from .recipe_run import train as train
from .run import OtherRunError as OtherRunError
from .run import interruptible as interruptible
from .run_data import data_record as data_record
from .run_data import measure_rows as measure_rows
from .sequences import SequenceCollator as SequenceCollator
from .start import model_errors as model_errors

"""The public names of training, as in `hf_symbinv/__init__.pyi`."""

from .batching import Collator as Collator
from .batching import GroupedSampler as GroupedSampler
from .batching import group_keys as group_keys
from .decoding import generate_answers as generate_answers
from .failures import OtherRunError as OtherRunError
from .failures import refusals as refusals
from .fitting import fit as fit
from .recipe import Recipe as Recipe
from .recipe import load_sections as load_sections
from .recipe import recipe_names as recipe_names
from .run import train as train
from .sequences import SequenceCollator as SequenceCollator

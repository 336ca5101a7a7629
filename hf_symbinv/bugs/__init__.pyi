"""The public names of bugs, as in `hf_symbinv/__init__.pyi`."""

from .finding import Calibration as Calibration
from .finding import Finder as Finder
from .finding import Suspicion as Suspicion
from .reading import Reader as Reader
from .training import Batches as Batches
from .training import BugTrainer as BugTrainer

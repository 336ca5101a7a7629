"""The public names. Type checkers read them here, and so does the package, which imports each at its first use."""

from .checker import Checker as Checker
from .checker import CheckResult as CheckResult
from .checker import Verdict as Verdict
from .ltl import SpotMissingError as SpotMissingError
from .ltl import find_witness as find_witness
from .pool import Outcome as Outcome
from .pool import PoolError as PoolError
from .pool import ProcessPool as ProcessPool
from .pool import available_cores as available_cores
from .prop import AigerMissingError as AigerMissingError

"""The public names of tasks, as in `hf_symbinv/__init__.pyi`."""

from .base import SymbolTask as SymbolTask
from .base import symbol_names as symbol_names
from .contract import Law as Law
from .contract import check_task as check_task
from .copying import COPY as COPY
from .ltl import LTL as LTL
from .ltl import LTL_OPERATORS as LTL_OPERATORS
from .ltl import LTLTask as LTLTask
from .ltl import OperatorsTask as OperatorsTask
from .pairs import PAIRS as PAIRS
from .pairs import PairsTask as PairsTask
from .prop import PROP as PROP
from .registry import TASKS as TASKS
from .registry import TaskError as TaskError
from .registry import load_task as load_task
from .registry import new_task as new_task
from .registry import task_file as task_file
from .registry import task_of as task_of
from .registry import task_of_tokenizer as task_of_tokenizer
from .tseitin import TSEITIN as TSEITIN

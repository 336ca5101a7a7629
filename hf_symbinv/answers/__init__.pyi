"""The public names. Type checkers read them here, and so does the package, which imports each at its first use."""

from .certificates import Certificate as Certificate
from .certificates import CertificateError as CertificateError
from .certificates import certify as certify
from .certificates import read_certificate as read_certificate
from .certificates import verify_certificate as verify_certificate
from .clauses import Clauses as Clauses
from .clauses import ClausesAnswer as ClausesAnswer
from .clauses import answer_clauses as answer_clauses
from .clauses import read_dimacs as read_dimacs
from .clauses import read_dimacs_file as read_dimacs_file
from .collection import Pattern as Pattern
from .collection import read_collection as read_collection
from .portfolio import MEMBERS as MEMBERS
from .portfolio import Answer as Answer
from .portfolio import Check as Check
from .portfolio import Portfolio as Portfolio
from .portfolio import Tried as Tried
from .specification import Property as Property
from .specification import Specification as Specification
from .specification import SpecificationError as SpecificationError
from .specification import read_specification as read_specification
from .specification import read_specification_file as read_specification_file
from .tlsf import read_tlsf as read_tlsf
from .tlsf import read_tlsf_file as read_tlsf_file

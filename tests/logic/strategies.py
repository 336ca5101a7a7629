"""Random formulas and names for property-based tests, and the same formulas built by Spot's constructors."""

import spot
from hypothesis import strategies as st

from hf_symbinv.logic import Formula
from hf_symbinv.logic.formula import ARITY, PROPOSITIONAL_OPERATORS, SYMBOL

# Words that are operators in one notation or another, and names that need quoting in some but not in all of them.
AWKWARD_NAMES = [
    "U", "X", "F", "S", "xor", "true", "FALSE", "t", "f", "i", "e", "p", "p0", "X2", "Fa", "Gx", "Ua", "Ready",
    "_", "a.b", ".a", "0", "1", ";", "{", "a{b}", "é", "∧", "->", "<->", "ap", "cycle", "cycle{", "}", "a b", 'say "a"',
    "back\\slash", "\\", '"', "first_match",
]  # fmt: skip
letters = st.sampled_from("abcde")
names = st.one_of(
    letters,
    st.sampled_from(AWKWARD_NAMES),
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_.]{1,6}", fullmatch=True),
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=5),
)


def formulas(operators=frozenset(ARITY), names=names, max_leaves=12):
    """Formulas over `operators` (symbols and constants included where the set holds them)."""
    leaves = [names.map(Formula.ap)]
    leaves += [
        st.just(Formula(operator)) for operator in sorted(operators) if ARITY[operator] == 0 and operator != SYMBOL
    ]
    unary = sorted(operator for operator in operators if ARITY[operator] == 1)
    binary = sorted(operator for operator in operators if ARITY[operator] == 2)

    def grow(operands):
        return st.one_of(
            st.builds(lambda operator, operand: Formula(operator, (operand,)), st.sampled_from(unary), operands),
            st.builds(lambda operator, *pair: Formula(operator, pair), st.sampled_from(binary), operands, operands),
        )

    return st.recursive(st.one_of(leaves), grow, max_leaves=max_leaves)


steps = formulas(PROPOSITIONAL_OPERATORS, names, max_leaves=4)


def built_by_spot(formula):
    """The Spot formula with the same tree, made by Spot's constructors and no parser."""
    make = spot.formula
    binary = {"^": make.Xor, "->": make.Implies, "<->": make.Equiv, "U": make.U, "R": make.R, "W": make.W, "M": make.M}
    unary = {"!": make.Not, "X": make.X, "F": make.F, "G": make.G}
    built = {}
    for node in formula.distinct_nodes():
        operands = [built[id(operand)] for operand in node.operands]
        if node.operator == SYMBOL:
            result = make.ap(node.name)
        elif not operands:
            result = make.tt() if node.operator == "1" else make.ff()
        elif node.operator in unary:
            result = unary[node.operator](*operands)
        elif node.operator in binary:
            result = binary[node.operator](*operands)
        else:
            result = (make.And if node.operator == "&" else make.Or)(operands)
        built[id(node)] = result
    return built[id(formula)]

"""TLSF in the basic form becomes a specification; what is more than that, or no TLSF, is told in a sentence."""

import pytest

from hf_symbinv.answers import SpecificationError, read_specification, read_tlsf, read_tlsf_file
from hf_symbinv.logic import parse_infix, to_infix

INFO = 'INFO {\n  TITLE: "An arbiter"\n  DESCRIPTION: "MAIN { of it"\n  SEMANTICS: Mealy\n  TARGET: Mealy\n}\n'
ARBITER = (
    INFO
    + """MAIN { // two clients
  INPUTS { r_0; r_1 }
  OUTPUTS { g_0; g_1; Fine; }
  INITIALLY { !r_0 && !r_1; }
  PRESET { !g_0; }
  REQUIRE { r_0 -> X (r_0 || g_0); }
  ASSUME { G F r_0; G F r_1; }
  ASSERT { !(g_0 && g_1); /* mutex */ }
  GUARANTEE { G (r_0 -> F g_0); }
  GUARANTEE { G (r_1 -> F Fine) }
}
"""
)


def formula(text):
    """The formula of one guarantee, as a value."""
    main = f"MAIN {{ INPUTS {{ a; b; }} OUTPUTS {{ c; d; }} GUARANTEE {{ {text}; }} }}"
    return read_tlsf(INFO + main).properties[0].formula


def test_formulas_are_called_by_their_sections_and_mean_what_these_mean():
    assert [(item.name, item.role, item.text) for item in read_tlsf(ARBITER).properties] == [
        ("INITIALLY 1", "assume", "!r_0 & !r_1"),
        ("PRESET 1", "guarantee", "!g_0"),
        ("REQUIRE 1", "assume", "G(r_0 -> X(r_0 | g_0))"),
        ("ASSUME 1", "assume", "G F r_0"),
        ("ASSUME 2", "assume", "G F r_1"),
        ("ASSERT 1", "guarantee", "G !(g_0 & g_1)"),
        ("GUARANTEE 1", "guarantee", "G(r_0 -> F g_0)"),
        ("GUARANTEE 2", "guarantee", 'G(r_1 -> F "Fine")'),
    ]


def test_its_text_reads_back_as_the_same_specification():
    specification = read_tlsf(ARBITER)
    again = read_specification(specification.text)
    assert [(item.name, item.role, item.formula) for item in again.properties] == [
        (item.name, item.role, item.formula) for item in specification.properties
    ]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a && b U c", "(a & b) U c"),
        ("a U b -> c", "a U (b -> c)"),
        ("a U b U c", "a U (b U c)"),
        ("a R b R c", "(a R b) R c"),
        ("a W b U c", "(a W b) U c"),
        ("a R b U c", "a R (b U c)"),
        ("a || b && c", "a | (b & c)"),
        ("a -> b <-> c -> d", "a -> (b <-> (c -> d))"),
        ("! a && X b || F G c", "((!a) & (X b)) | (F G c)"),
        ("NOT a AND b IMPLIES c EQUIV d OR false", "(!a & b) -> (c <-> (d | 0))"),
        ("((a)) && true", "a & 1"),
    ],
)
def test_operators_bind_as_in_tlsf(text, meant):
    assert to_infix(formula(text)) == to_infix(parse_infix(meant))


def test_finite_semantics_make_traces_finite():
    assert read_tlsf(ARBITER.replace("SEMANTICS: Mealy", "SEMANTICS: Finite,Mealy")).finite
    assert not read_tlsf(ARBITER).finite


def test_very_deep_formulas_are_read():
    assert formula("(" * 50_000 + "a" + ")" * 50_000) == parse_infix("a")


def test_without_a_formula_there_is_no_specification():
    with pytest.raises(SpecificationError, match="no formula is assumed or guaranteed"):
        read_tlsf(INFO + "MAIN { INPUTS { a; } OUTPUTS { b; } }")


FULL = {
    "parameters": ARBITER.replace("MAIN {", "GLOBAL { PARAMETERS { n = 2; } }\nMAIN {"),
    "a bus": ARBITER.replace("r_1 }", "r_1; r[2]; }"),
    "a bounded operator": ARBITER.replace("G F r_1", "G F[0:3] r_1"),
    "a conjunction": ARBITER.replace("G F r_1", "&&[0 <= i < 2] G F r_1"),
    "a function": ARBITER.replace("G F r_1", "mutual(r_1)"),
}


@pytest.mark.parametrize("text", FULL.values(), ids=FULL)
def test_the_full_form_is_told_from_the_basic_one_and_syfco_is_named(text, tmp_path):
    path = tmp_path / "full.tlsf"
    path.write_text(text)
    with pytest.raises(SpecificationError) as caught:
        read_tlsf_file(path)
    assert str(caught.value).startswith(f"{path}:") and "belongs to the full form" in str(caught.value)
    assert "syfco -f basic" in str(caught.value)

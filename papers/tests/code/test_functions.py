"""What of Python code is a symbol: each construct of the language, in files that are read and run."""

import ast
import sys
import textwrap

import pytest

from papers.code.functions import Function, Reason, read_functions
from papers.code.renaming import RenamingError, rename


def read(source: str) -> Function:
    found, skipped = read_functions(textwrap.dedent(source), "file.py")
    assert not skipped and len(found) == 1
    return found[0]


def reasons(source: str) -> list[Reason]:
    found, skipped = read_functions(textwrap.dedent(source), "file.py")
    assert not found
    return [one.reason for one in skipped]


def marked(source: str) -> str:
    """The text of the one function in a source, a symbol as its number in angle brackets."""
    return "".join(
        piece.text if piece.variable is None else f"<{piece.variable}>" for piece in read(source).pieces()
    )  # fmt: skip


# Source, and the text that is wanted.
CONSTRUCTS = {
    "parameters and variables": (
        "def f(a, b):\n    c = a.b + len(b)\n    return c",
        "def f(<0>, <1>):\n    <2> = <0>.b + len(<1>)\n    return <2>",
    ),
    "all kinds of parameters": (
        "def f(a, /, b, *c, d, **e): return a, b, c, d, e",
        "def f(<0>, /, <1>, *<2>, <3>, **<4>): return <0>, <1>, <2>, <3>, <4>",
    ),
    "a decorator and defaults are evaluated outside": (
        "@a\ndef f(a=a, *, b: b=b) -> a: return a",
        "@a\ndef f(<0>=a, *, <1>: b=b) -> a: return <0>",
    ),
    "a keyword argument": ("def f(x): return g(x=x)", "def f(<0>): return g(x=<0>)"),
    "star arguments": ("def f(x, y): return g(*x, **y)", "def f(<0>, <1>): return g(*<0>, **<1>)"),
    "an attribute": ("def f(x): x.x.x = x", "def f(<0>): <0>.x.x = <0>"),
    "a type hint": ("def f(x: T, y: 'x'): z: x; w: T = x", "def f(<0>: T, <1>: 'x'): <2>: <0>; <3>: T = <0>"),
    "a global": ("def f(x):\n    global y\n    y = x", "def f(<0>):\n    global y\n    y = <0>"),
    "deletion": ("def f(x):\n    del x, y", "def f(<0>):\n    del <0>, <1>"),
    "a walrus": (
        "def f(x): return [y := z for z in x if (w := z)], y",
        "def f(<0>): return [<1> := <2> for <2> in <0> if (<3> := <2>)], <1>",
    ),
    "a lambda with a name that is there already": (
        "def f(x): return lambda x=x: x",
        "def f(<0>): return lambda <1>=<0>: <1>",
    ),
    "a comprehension, whose first iterable is outside": (
        "def f(x): return [x for x in x for y in x if x]",
        "def f(<0>): return [<1> for <1> in <0> for <2> in <1> if <1>]",
    ),
    "other comprehensions": (
        "async def f(x): return {y: z async for y, z in x}, {y for y in x}, (y for y in x)",
        "async def f(<0>): return {<1>: <2> async for <1>, <2> in <0>}, {<3> for <3> in <0>}, (<4> for <4> in <0>)",
    ),
    "a closure": (
        "def f(x):\n    def g(y):\n        nonlocal x\n        x = y\n    return g",
        "def f(<0>):\n    def <1>(<2>):\n        nonlocal <0>\n        <0> = <2>\n    return <1>",
    ),
    "several names in nonlocal": (
        "def f(x, y):\n    def g():\n        nonlocal y, \\\n            x\n        x = y = 0\n    return g",
        "def f(<0>, <1>):\n    def <2>():\n        nonlocal <1>, <0>\n        <0> = <1> = 0\n    return <2>",
    ),
    "a global inside a function with such a variable": (
        "def f(x):\n    def g():\n        global x\n        return x\n    return g, x",
        "def f(<0>):\n    def <1>():\n        global x\n        return x\n    return <1>, <0>",
    ),
    "a class, whose names are attributes": (
        "def f(x):\n    class C(x):\n        y = x\n        def g(self): return y, x, C\n    return C",
        "def f(<0>):\n    class <1>(<0>):\n        y = <0>\n        def g(<2>): return y, <0>, <1>\n    return <1>",
    ),
    "a comprehension in a class does not see the class": (
        "def f(x):\n    class C:\n        x = [x for y in x]\n    return C",
        "def f(<0>):\n    class <1>:\n        x = [<0> for <2> in x]\n    return <1>",
    ),
    "super and __class__": (
        "class C:\n    def f(self): return super().f(), __class__, self",
        "def f(<0>): return super().f(), __class__, <0>",
    ),
    "an exception": (
        "def f():\n    try: g()\n    except (A,\n            B) as e: raise e\n    except C: pass",
        "def f():\n    try: g()\n    except (A, B) as <0>: raise <0>\n    except C: pass",
    ),
    "with and for": (
        "def f(x):\n    with x as (y, z), g() as w:\n        for w[y] in z: y += 1",
        "def f(<0>):\n    with <0> as (<1>, <2>), g() as <3>:\n        for <3>[<1>] in <2>: <1> += 1",
    ),
    "match": (
        """
        def f(x):
            match x:
                case {"k": y, **z}: return y, z
                case [a, *b] | (a as b): return a, b
                case P(c=d) as e if d: return e
                case Q.r | None: pass
                case [*_] | {**rest}: pass
                case _: return rest
        """,
        """
        def f(<0>):
            match <0>:
                case {"k": <1>, **<2>}: return <1>, <2>
                case [<3>, *<4>] | (<3> as <4>): return <3>, <4>
                case P(c=<5>) as <6> if <5>: return <6>
                case Q.r | None: pass
                case [*_] | {**<7>}: pass
                case _: return <7>
        """,
    ),
    "an import without as, whose name is the module's": (
        "def f(x):\n    import a.b, c as d\n    from e import g, h as i\n    return a, c, d, e, g, h, i",
        "def f(<0>):\n    import a.b, c as <1>\n    from e import g, h as <2>\n    return a, c, <1>, e, g, h, <2>",
    ),
    "a formatted string": (
        "def f(x, y): return f'x {x} {y.x!r:>{x}} {{x}}' 'x' f'''\n{\ny}'''",
        "def f(<0>, <1>): return f'x {<0>} {<1>.x!r:>{<0>}} {{x}}' 'x' f'''\n{\n<1>}'''",
    ),
    "strings are no code": ("def f(x): return 'x', b'x', r'{x}'", "def f(<0>): return 'x', b'x', r'{x}'"),
    "comments, blank lines, brackets and backslashes": (
        "def f(  # x\n    x,\n):\n\n    # x\n    return \\\n        (x,  # x\n         1)",
        "def f( <0>, ):\n    return (<0>, 1)",
    ),
    "text that is not ASCII": (
        "def f(é): return 'é', é, f'é {é} é {é}'",
        "def f(<0>): return 'é', <0>, f'é {<0>} é {<0>}'",
    ),
    "tabs and form feeds": ("def f(x):\n\tif x:\n\t\treturn x\n\x0c\n\treturn 1",
                            "def f(<0>):\n    if <0>:\n        return <0>\n    return 1"),
    "a mark of the byte order": ("\ufeffdef f(x): return x", "def f(<0>): return <0>"),
    "line ends of other systems": ("def f(x):\r\n    return x\r\n", "def f(<0>):\n    return <0>"),
}  # fmt: skip


@pytest.mark.parametrize(("source", "wanted"), CONSTRUCTS.values(), ids=CONSTRUCTS)
def test_variables_of_a_function_are_symbols_and_all_else_is_base_text(source, wanted):
    assert marked(source) == textwrap.dedent(wanted).strip("\n")


@pytest.mark.parametrize(("source", "_"), CONSTRUCTS.values(), ids=CONSTRUCTS)
def test_the_text_is_the_same_function_and_reads_as_itself(source, _):
    function = read(source)
    (again,), skipped = read_functions(function.text)
    assert (again.text, again.spans(), skipped) == (function.text, function.spans(), [])
    if not any("_2" in name for name in function.variables):
        node = next(one for one in ast.walk(ast.parse(textwrap.dedent(source).lstrip("\ufeff")))
                    if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))  # fmt: skip
        assert ast.dump(ast.parse(function.text).body[0]) == ast.dump(node)


def test_variables_of_two_scopes_with_one_name_are_two_symbols_with_two_names():
    function = read("def f(x, x_2): return [x for x in x], x_2, lambda x: x")
    assert function.variables == ("x", "x_2", "x_3", "x_4")
    assert function.text == "def f(x, x_2): return [x_3 for x_3 in x], x_2, lambda x_4: x_4"
    assert read("def f(_): return [_ for _ in [_ for _ in _]]").variables == ("_", "_2", "_3")
    assert read("def f(_1): return lambda _1: lambda __x__: lambda __x__: 0").variables[1::2] == ("_1_2", "_x_2")


def test_functions_of_a_file_are_those_that_no_other_function_holds():
    source = """
        class A:
            class B:
                def f(self):
                    def inner(): pass
        if True:
            async def g(): pass
        else:
            def g(): pass
    """
    found, _ = read_functions(textwrap.dedent(source), "file.py")
    assert [(one.file, one.name) for one in found] == [("file.py", "A.B.f"), ("file.py", "g"), ("file.py", "g")]


def test_others_are_the_variables_that_have_a_value_where_a_use_stands():
    function = read(
        """
        def f(a, k):
            b = a
            del k
            for c in b:
                try:
                    d = [e for e in c if e for g in e]
                except E as h:
                    h
            i: int
            return lambda j: d
        """
    )
    name = function.variables.__getitem__
    found = [(name(one.variable), "".join(map(name, one.others))) for one in function.symbols if one.is_use]
    assert found == [
        ("a", ""), ("b", "a"), ("e", "abcg"), ("c", "ab"), ("e", "abc"), ("e", "abc"), ("h", "abcd"), ("d", "abcj"),
    ]  # fmt: skip


def test_a_variable_that_another_of_its_name_hides_is_one_of_the_others():
    """The text that a model reads has another name for it, and a renaming of the text has it too."""
    function = read("def f(a, b):\n    return [a for a in b], lambda b: a")
    name = function.variables.__getitem__
    found = [(name(one.variable), [name(other) for other in one.others]) for one in function.symbols if one.is_use]
    assert found == [("a_2", ["a", "b"]), ("b", ["a"]), ("a", ["b", "b_2"])]


def test_calls_have_the_places_of_their_positional_arguments():
    function = read(
        "def f(x, y):\n    g(x, (y, 1))\n    x.h((y), x + y, *x, y)\n    g(x)\n    return f'{g(x, y)}', g(*x)"
    )
    found = [(call.callee, [function.text[start:end] for start, end in call.arguments]) for call in function.calls]
    assert found == [("g", ["x", "(y, 1)"]), ("h", ["y", "x + y"])]


SKIPPED = {
    Reason.NO_PYTHON: ["print 'x'", "def f(:", "def f(x):\n  x\n x", "x = '\x00'"],
    Reason.READS_NAMES: [
        "def f(x): return locals()",
        "def f(x): return eval('x')",
        "def f(x): return exec",
        "def f(x): return vars()",
        "def f(x): return dir()",
        "def f(x): return sys._getframe().f_locals",
    ],
    Reason.PASSED_BY_NAME: ["def f(x):\n    def g(y): pass\n    g(y=x)", "def f(x): return f(x=x)"],
    Reason.PRIVATE_NAME: ["def f(__x): pass"],
    Reason.MORE_CHANGES: [
        "def f(x): return f'{x=}'",
        "def f(ﬁ): return ﬁ",
        "def f():\n  match 1:\n    case {**ﬁ}: pass",
    ],
    Reason.TOO_DEEP: ["def f(x): return " + "+".join("x" * 20000)],
}


@pytest.mark.parametrize(
    ("source", "reason"), [(source, reason) for reason, sources in SKIPPED.items() for source in sources]
)
def test_what_cannot_be_renamed_safely_is_left_out_with_a_reason(source, reason):
    assert reasons(source) == [reason]


@pytest.mark.parametrize(
    "source", ["def f[T](x: T): pass", "def f(x):\n    type T = x", "def f(x):\n    class C[T]: pass"]
)
def test_type_parameters_are_left_out(source):
    # The syntax is new in 3.12: an older version of Python parses nothing of the file.
    expected = Reason.TYPE_PARAMETERS if sys.version_info >= (3, 12) else Reason.NO_PYTHON
    assert reasons(source) == [expected]


@pytest.mark.parametrize(
    "source",
    [
        "def f(x): return vars(x), dir(x), self.locals(), x.eval",
        "def f(eval): return eval(1)",
        "def f(__x__): return g(y=__x__)",
    ],
)
def test_what_is_alike_but_harmless_is_given(source):
    assert read(source)


RUN = [
    ("def f(x, y): return [x * y for x in range(y)] + [x]", (3, 4)),
    (
        "def f(n):\n    def add():\n        nonlocal n\n        n += 1\n        return n\n    return add() + add() + n",
        (5,),
    ),
    ("def f(x):\n    class C:\n        x = x = 1\n        y = [x for _ in 'ab']\n    return C.x, C.y, x", (7,)),
    (
        "def f(*a, **k):\n    try:\n        a[9]\n    except IndexError as e:\n        return f'{e!s:>{len(a)}}', a, k",
        (1, 2),
    ),
    (
        "def f(d):\n    match d:\n        case {'a': x, **r}: return x, r\n        case [x, *r]: return r",
        ({"a": 1, "b": 2},),
    ),
    ("def f(x):\n    if (y := x + 1) > 2: return y\n    import os.path as p\n    return p.join('a', 'b'), y", (0,)),
]


@pytest.mark.parametrize(("source", "arguments"), RUN)
def test_a_renamed_function_does_what_it_did(source, arguments):
    function = read(source)
    renamed = rename(function, {name: f"new_{index}" for index, name in enumerate(function.variables)})
    assert all(new in renamed for new in (f"new_{index}" for index in range(len(function.variables))))
    results = []
    for text in (source, function.text, renamed):
        namespace = {}
        exec(text, namespace)
        results.append(namespace["f"](*arguments))
    assert results[0] == results[1] == results[2]


def test_names_may_be_exchanged():
    assert rename(read("def f(x, y): return x - y"), {"x": "y", "y": "x"}) == "def f(y, x): return y - x"


@pytest.mark.parametrize(
    ("source", "names", "message"),
    [
        ("def f(x): return len(x)", {"x": "len"}, "x → len: a name in f would mean something else; give names"),
        ("def f(x, y): return x", {"x": "y"}, "x → y: a name in f would mean something else; give names"),
        ("def f(x): return [y + x for y in x]", {"y": "x"}, "y → x: a name in f would mean something else"),
        ("def f(x): return x", {"x": "locals"}, None),
        ("def f(x): return x", {"z": "y"}, "'z': f has no such variable; use x"),
        ("def f(x): return x", {"x": "if"}, "'if', the new name of 'x': is no name of a variable; give an identifier"),
        ("def f(x): return x", {"x": "1"}, "'1', the new name of 'x': is no name of a variable; give an identifier"),
    ],
)
def test_a_renaming_that_captures_is_refused(source, names, message):
    function = read(source)
    if message is None:
        assert rename(function, names) == "def f(locals): return locals"
        return
    with pytest.raises(RenamingError) as refused:
        rename(function, names)
    assert str(refused.value).startswith(message)

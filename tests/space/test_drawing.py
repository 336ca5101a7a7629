"""The pictures say what the values say, and never let a name become HTML."""

import random
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import drawing
import pytest
from answering import MOST_LIMIT, Attention, Candidate, Comparison, QuestionError, Search, Solved, read_renaming

from hf_symbinv import FormulaSyntaxError, parse, parse_trace, to_infix, trace_to_prefix
from hf_symbinv.logic import read_trace


class Reader(HTMLParser):
    """Rows of tables as lists of (tag, class, colspan, text), and every tag that was opened."""

    def __init__(self, html):
        super().__init__()
        self.rows, self.tags, self.text = [], [], []
        self.attributes, self.others = set(), []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        self.attributes |= found.keys()
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append([tag, found.get("class") or "", int(found.get("colspan", 1)), ""])

    def handle_comment(self, data):
        self.others.append(data)

    handle_decl = handle_pi = unknown_decl = handle_comment

    def handle_data(self, data):
        self.text.append(data)
        if self.rows and self.rows[-1]:
            self.rows[-1][-1][3] += data


def drawn(infix, names=()):
    return Reader(drawing.timeline(trace_to_prefix(read_trace(infix)), names))


def rows_of(table):
    """First cell → the texts of the others."""
    return {row[0][3]: [cell[3] for cell in row[1:]] for row in table.rows}


class TestTimeline:
    def test_a_row_says_of_every_step_whether_its_proposition_holds(self):
        table = drawn("a & !grant; 1; cycle{grant; b & a}", names=("grant", "other"))
        assert rows_of(table) | {
            "grant": ["0", "either", "1", "either"],
            "other": ["either", "either", "either", "either"],
            "a": ["1", "either", "either", "1"],
            "b": ["either", "either", "either", "1"],
        } == rows_of(table)

    def test_prefix_and_loop_are_marked_with_their_lengths(self):
        head, numbers, *_ = drawn("a; b; 1; cycle{a; b}").rows
        assert [(cell[3], cell[2]) for cell in head[1:]] == [("prefix", 3), ("loop", 2)]
        assert [cell[3] for cell in numbers[1:]] == ["0", "1", "2", "3", "4"]
        assert ["loop" in cell[1] for cell in numbers[1:]] == [False, False, False, True, True]

    def test_what_is_no_list_of_literals_is_written_out(self):
        rows = rows_of(drawn("a & (b | !a); cycle{1}"))
        assert rows["a"] == ["1", "either"] and rows["also"] == ["b | !a", ""]

    def test_what_is_no_trace_is_shown_with_its_fault(self):
        assert "a;b: position 3 of 'a;b': expected a cycle" in "".join(Reader(drawing.timeline("a;b")).text)
        assert "an empty answer: position 0" in drawing.timeline("")


def solved(*verdicts, search=None, formula="F a", answer="a;{1}"):
    candidates = tuple(Candidate(answer, -0.5, verdict, "", 0.25) for verdict in verdicts)
    return Solved(parse(formula), candidates, search or Search("done", "a;{1}", "", 0.001), 1.5, 5, 2.0)


class TestResults:
    def test_the_first_verified_answer_is_the_witness(self):
        assert ">verified<" in drawing.witness(solved("incorrect", "correct"))
        assert ">wrong<" in drawing.witness(solved("incorrect", "invalid"))

    def test_a_busy_solver_is_said_to_have_been_stopped_at_its_limit(self):
        late = solved("timeout", "unchecked", "unchecked", search=Search("timeout", None, "stopped", 2.0))
        text = "".join(Reader(drawing.witness(late)).text)
        assert "stopped at its limit; 2 answers were not checked. Give it more time under Settings." in text
        assert "busy for 2 s" in text
        assert "".join(Reader(drawing.times(late)).text).count("stopped at its limit of 2 s") == 2
        assert "stopped" not in drawing.witness(solved("correct"))
        text = drawing.witness(replace(late, limit=MOST_LIMIT))
        assert "This page gives no more: `symbinv solve --timeout` does." in text and "Settings" not in text

    def test_where_all_answers_are_wrong_the_page_says_whether_there_is_a_right_one(self):
        none = Search("done", None, "", 0.1)
        assert "No run makes" in drawing.witness(solved("incorrect", "invalid", search=none))
        assert "but Spot has" in drawing.witness(solved("incorrect")) and "No run" not in drawing.witness(
            solved("timeout")
        )
        assert "No run" not in drawing.witness(solved("incorrect", "timeout", search=none))

    def test_who_had_less_time_because_of_others_is_told_so(self):
        text = "".join(Reader(drawing.witness(replace(solved("timeout", "unchecked"), crowded=True))).text)
        assert "It had no more time because others wait for it with such formulas: ask again in a minute." in text
        assert "Settings" not in text

    def test_the_list_has_every_answer_with_its_score(self):
        page = Reader(drawing.candidates(solved("correct", "incorrect")))
        assert page.tags.count("li") == 2
        assert "".join(page.text).count("score -0.500000 · Spot 250 ms") == 2


FAULT = re.compile(
    r'<div class="problem" role="alert"><pre>(.*)\n<span aria-hidden="true"><span class="before">(.*)</span>'
    r'<b class="caret">\^</b></span></pre><p>(.*)</p></div>'
)


class TestFaults:
    @pytest.mark.parametrize(
        "text", ["a U", "a & & b", "G(a -> F b))", "(a &\nb) )\n| c", "é", "a" * 50 + " ) " + "b" * 50]
    )
    def test_the_caret_stands_under_the_first_character_that_cannot_be_right(self, text):
        with pytest.raises(FormulaSyntaxError) as error:
            parse(text)
        page = drawing.fault(error.value)
        shown, before, reason = map(unescape, FAULT.fullmatch(page).groups())
        assert shown.startswith(before) and len(shown) <= 2 * drawing.MARGIN + 2  # fits a phone
        assert text[: error.value.position].endswith(before.removeprefix("…"))
        assert shown[len(before) :][:1] == text[error.value.position :][:1]
        assert reason.lower() == f"{error.value.reason}.".lower() and not reason[0].islower()


class TestComparisons:
    RENAMING = {"a": "b", "b": "a", "c": "c"}

    def side(self, before, after, scores=(-0.5, -0.5)):
        first = tuple(Candidate(one, scores[0]) for one in before)
        second = tuple(Candidate(one, scores[1]) for one in after)
        one = Comparison(parse("a U b"), self.RENAMING, first, second)
        return one, "".join(Reader(drawing.comparisons(one, one)).text)

    def test_a_model_follows_only_with_all_answers_and_scores(self):
        one, text = self.side(["b;{1}", "&ab;{1}"], ["a;{1}", "&ba;{1}"])
        assert one.follows and "follows all 2 answers and scores, bit for bit" in text
        assert "a → b, b → a" in text and "The formula is now b U a." in text

    def test_other_answers_are_counted_beside_the_expected_one(self):
        one, text = self.side(["b;{1}", "&ab;{1}"], ["&ab;{1}", "&ba;{1}"])
        assert not one.same_texts
        second = drawing.comparisons(replace(one, shown=1), one)
        assert "Before <span" in second and "<code>a &amp; b; cycle{1}</code>" in second
        assert "1 of 2 answers are others" in text and "Renamed it would be a; cycle{1}" in text

    def test_what_cannot_be_asked_says_why_and_counts_for_nothing(self):
        one = Comparison(parse("a"), self.RENAMING, (), (), "It knows three names only.")
        assert not one.follows and "It knows three names only." in drawing.comparisons(one, one)
        assert "the symbol-invariant model 2 of 2, the baseline could not be asked" in drawing.tally([(True, None)] * 2)
        assert "model 2 of 2, the baseline 1 of 2" in drawing.tally([(True, True), (True, False)])


class TestHeatmap:
    def test_there_is_a_cell_for_every_pair_and_the_strongest_is_named(self):
        map_ = drawing.heatmap(Attention(("a", "(end)"), ("&", "a", "b"), ((0.5, 0.25, 0.25), (0, 0.2, 0.8)), "a"))
        assert map_.count("<rect") == 6 and "the strongest cell is 80%" in map_
        assert "a looks at &amp;: 50%" in map_ and map_.count('class="own"') == 2


# What a name or a formula may be made of that wants to be HTML, to end an attribute, or to run.
PIECES = (
    "<script>", "</script>", "<img src=x onerror=alert(1)>", '"', "'", ">", "<", "&", "&lt;", "&#60;", "--><!--",
    "]]>", "</pre>", "</code></td>", "<svg/onload=alert(1)>", "javascript:alert(1)", "{{7*7}}", "${7*7}", "`", "\\",
    " onmouseover=alert(1) ", "</textarea>", "<style>*{display:none}</style>", "\u202e", "\u2028", "é", "U", "G",
)  # fmt: skip


def hostile(seed):
    """Two names of random pieces."""
    draw = random.Random(seed)
    first, second = ("".join(draw.choices(PIECES, k=draw.randint(1, 5))) for _ in range(2))
    return first, f"{second} "  # another one


def every_picture(first, second):
    """Whatever the page shows of a formula, of answers to it, and of errors, with these names."""
    names = {"a": first, "b": second}
    formula, trace = parse("a U b").rename(names), trace_to_prefix(parse_trace("a;{b}").rename(names))
    own = Candidate(trace, -0.5, "incorrect", f"because of {first}", 0.1)
    one = Solved(formula, (own, replace(own, verdict="timeout")), Search("error", None, first, 0.1), 1.0, 5, 2.0)
    two = Comparison(formula, {first: second, second: first}, (own,), (own,))
    three = Comparison(formula, {first: second, second: first}, (), (), f"not {second}")
    yield from (drawing.witness(one), drawing.times(one), drawing.candidates(one), drawing.comparisons(two, three))
    yield from (drawing.heatmap(Attention((first,), (second,), ((1.0,),), first)), drawing.problem(first))
    yield from (drawing.timeline(first), drawing.infix(first))
    for text in (first, f"a U {second}", f"{to_infix(formula)} {first}"):
        try:
            parse(text)
        except FormulaSyntaxError as error:
            yield from (drawing.fault(error), drawing.problem(str(error)))
        try:
            read_renaming(text, formula)
        except QuestionError as error:
            yield drawing.problem(str(error))


OURS = {name for html in every_picture("first", "second") for name in Reader(html).tags}
ATTRIBUTES = {name for html in every_picture("first", "second") for name in Reader(html).attributes}


@pytest.mark.parametrize("seed", range(20))
def test_names_and_errors_never_become_html(seed):
    first, second = hostile(seed)
    pictures = list(every_picture(first, second))
    assert len(pictures) >= 10
    for html in pictures:
        page = Reader(html)
        page.close()
        assert set(page.tags) <= OURS and page.attributes <= ATTRIBUTES and not page.others
    assert "".join(Reader(drawing.problem(first)).text) == first

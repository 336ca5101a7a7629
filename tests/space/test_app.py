"""The page in a browser, on a desk and on a phone: open it, type, solve, rename, and type what is no formula."""

from string import ascii_lowercase

import pytest
from app import EXAMPLES, FEWEST, MOST, with_symbols

from hf_symbinv import Checker, FormulaSyntaxError, parse, to_infix, to_prefix, trace_to_prefix
from hf_symbinv.logic import read_trace

pytestmark = pytest.mark.slow

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
PATIENCE = 60_000  # milliseconds; a busy machine takes seconds for an answer
# What reaches over the right edge, unless it is in a box that scrolls.
WIDE = """() => [...document.querySelectorAll('.gradio-container *')].filter(
    one => one.getBoundingClientRect().right > innerWidth + 1 && one.checkVisibility() && !one.closest('.scroll')
).map(one => one.outerHTML.slice(0, 80))"""


class Visitor:
    """A page that was opened, with what the browser asked for and complained about."""

    def __init__(self, browser, site, viewport=DESKTOP, query=""):
        self.context = browser.new_context(viewport=viewport)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.asked, self.complaints = [], []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("websocket", lambda socket: self.asked.append(socket.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda line: self.complaints.append(line.text) if line.type == "error" else None)
        self.page.goto(f"{site.url}{query}")
        self.page.wait_for_selector("#witness table")

    def ask(self, text, key=None):
        """Types a formula and asks for a witness, by the button or a key, and waits for the answer."""
        box = self.page.locator("#formula textarea")
        box.fill(text)
        if key:
            box.press(key)
        else:
            self.page.click("#solve")
        try:
            self.page.get_by_label(f"Witness of {to_infix(parse(text))}", exact=True).wait_for()
        except FormulaSyntaxError:
            self.page.locator("#problem").wait_for()
        self.renamed = 0

    def tab(self, name):
        self.page.get_by_role("tab", name=name).click()

    def rename(self, new_names=""):
        """Gives new names, or none to have them shuffled, and waits for the answer."""
        self.tab("Rename")
        self.renamed += 1
        self.page.locator("#names textarea").fill(new_names)
        self.page.click("#rename")
        self.page.locator("#renamed .tally", has_text=f"model {self.renamed} of {self.renamed},").wait_for()

    def comes_into_sight(self, selector):
        """Waits until the element is in the upper half of the window, or at its top, to stay there."""
        self.page.wait_for_function(
            """selector => {
                const {top, height} = document.querySelector(selector).getBoundingClientRect();
                const atEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 1;
                return height && top > -1 && (top < innerHeight / 2 || (atEnd && top < innerHeight - 100));
            }""",
            arg=selector,
        )

    def height(self):
        return self.page.evaluate("document.documentElement.scrollHeight")

    def text(self, selector):
        return " ".join(self.page.locator(selector).inner_text().split())

    def sticks_out(self):
        """What is wider than the page, on a desk and on a phone."""
        found = []
        for size in (PHONE, DESKTOP):
            self.page.set_viewport_size(size)
            self.page.wait_for_timeout(100)
            found += self.page.evaluate(WIDE)
            if (width := self.page.evaluate("document.documentElement.scrollWidth")) > size["width"]:
                found.append(f"the page is {width} wide")
        return found


@pytest.fixture(scope="module")
def opened(browser, site):
    visitor = Visitor(browser, site)
    yield visitor
    visitor.context.close()


def is_witness(formula, shown):
    """Whether a trace that the page shows satisfies a formula."""
    with Checker(workers=1) as checker:
        (result,) = checker.check([(to_prefix(parse(formula)), trace_to_prefix(read_trace(shown)))])
    return result.verdict == "correct"


def test_a_visit_open_solve_rename_mistype_and_recover(opened):
    page = opened.page
    places = ("#question", "#answer", "#witness table")
    question, answer, picture = (page.locator(one).bounding_box() for one in places)
    assert question["x"] + question["width"] < answer["x"] and abs(question["y"] - answer["y"]) < 2, "side by side"
    assert picture["y"] + picture["height"] < DESKTOP["height"], "on the first screen"
    assert "verified" in opened.text("#witness") and not opened.sticks_out()

    opened.ask("!door_open U (alarm & X door_open)")
    assert is_witness("!door_open U (alarm & X door_open)", page.locator("#witness code").first.inner_text())
    assert "verified" in opened.text("#witness .verdict")
    rows = page.locator("#witness tbody th").all_inner_texts()
    assert rows == ["door_open", "alarm"]
    assert all(name in opened.text("#times") for name in ("Model", "Spot checks", "Spot searches"))
    opened.tab("All answers")
    assert page.locator("#answers li").count() >= 2
    page.locator("#answers li summary").nth(1).click()
    assert page.locator("#answers li").nth(1).locator("table").is_visible() and not opened.sticks_out()

    opened.ask("(request U grant) & X(done & !grant)", key="Enter")
    before = page.locator("#witness code").first.inner_text()
    opened.rename()
    assert "request → grant, grant → done, done → request" in opened.text("#renamed")
    own, baseline = page.locator("#renamed .side").all()
    assert "follows all 5 answers and scores, bit for bit" in own.inner_text()
    assert "does not follow" in baseline.inner_text()
    mapping = {"request": "grant", "grant": "done", "done": "request"}
    expected = trace_to_prefix(read_trace(before).rename(mapping))
    assert trace_to_prefix(read_trace(own.locator("code").nth(1).inner_text())) == expected
    opened.rename()
    assert "the symbol-invariant model 2 of 2, the baseline 0 of 2" in opened.text("#renamed .tally")
    assert not opened.sticks_out()

    opened.ask("(a | b) U c -> ((door_open")
    assert "Expected ')' for the '(' at position 16." in opened.text("#problem")
    below = page.locator("#problem").bounding_box()["y"] - page.locator("#formula").bounding_box()["y"]
    assert 0 < below < 300 and not page.locator("#results").is_visible() and not opened.sticks_out()

    opened.ask("a & X b")
    assert page.locator("#results").is_visible() and not page.locator("#problem").is_visible()
    assert not page.locator("#renamed").is_visible()
    assert is_witness("a & X b", page.locator("#witness code").first.inner_text())

    number, slider = (page.locator(f"#symbols input[type={kind}]") for kind in ("number", "range"))
    for key, count in (("Home", FEWEST), ("End", MOST), ("1", FEWEST), ("21", MOST), ("", FEWEST), ("12", 12)):
        slider.press(key) if len(key) > 2 else number.fill(key)
        wanted = with_symbols(ascii_lowercase[:count])
        page.wait_for_function("e => document.querySelector('#formula textarea').value == e", arg=wanted)
    page.locator("#results").wait_for(state="hidden", timeout=1000)  # it belongs to another formula

    opened.ask("(p U q) & X(r U s)")
    opened.tab("Attention")
    assert "In the stream of p" in opened.text("#heatmap")
    page.locator("#stream input").click()
    page.get_by_role("option", name="s", exact=True).click()
    page.locator("#heatmap", has_text="In the stream of s").wait_for()

    page.evaluate("window.harmed = false")
    opened.ask('"<img src=x onerror=window.harmed=true>" & X "<b>bold</b>"')
    opened.rename()
    assert "<img src=x onerror=window.harmed=true>" in opened.text("#witness .verdict")
    assert not page.evaluate("window.harmed")
    assert not page.locator("#results img, #results b:text-is('bold')").count()


def test_nothing_outside_this_machine_is_asked_for(opened, site):
    opened.ask("F(req & X ack) & G !err")
    assert opened.asked and not [url for url in opened.asked if not url.startswith((site.url, "data:", "blob:"))]
    assert not opened.complaints
    turned_to = {line.split()[-1] for line in site.lines if line.startswith("TURNS TO")}
    assert turned_to <= {"127.0.0.1", "localhost", "None"}, turned_to
    assert not [line for line in site.lines if "Traceback" in line or "Error" in line]


def test_a_formula_has_each_symbol_once_and_each_number_of_them_is_answered(answering):
    for count in range(FEWEST, MOST + 1):
        formula = with_symbols(ascii_lowercase[:count])
        assert [letter for letter in formula if letter.islower()] == list(ascii_lowercase[:count])
        assert answering.solve(formula).best.verdict == "correct"


def test_on_a_phone_answers_come_into_sight_and_the_page_is_three_screens_at_most(browser, site):
    visitor = Visitor(browser, site, PHONE)
    page, most = visitor.page, 3 * PHONE["height"]
    assert visitor.height() <= most
    for example in EXAMPLES[:-1]:
        page.evaluate("scrollTo(0, 0)")
        visitor.ask(example)
        visitor.comes_into_sight("#witness")
        visitor.rename()
        visitor.comes_into_sight("#renamed")
        heights = [visitor.height()]
        for tab in ("All answers", "Attention"):
            visitor.tab(tab)
            page.locator({"All answers": "#answers", "Attention": "#heatmap"}[tab]).wait_for()
            heights.append(visitor.height())
        assert max(heights) <= most, (example, heights)
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    visitor.ask("a & (b", key="Enter")
    visitor.comes_into_sight("#problem")
    visitor.ask("request_from_line_1 & X request_from_line_2")
    assert page.locator("#witness th[scope=row]").evaluate_all(
        "all => all.every(one => one.scrollWidth <= one.clientWidth && getComputedStyle(one).textOverflow == 'clip')"
    ), "long names are shown whole"
    visitor.ask(" | ".join(ascii_lowercase[:MOST]))
    shown = page.locator("#witness .scroll").evaluate("one => [one.scrollHeight, one.clientHeight]")
    assert shown[0] <= shown[1], "twenty symbols are shown whole"
    visitor.ask("X" * 100 + "a")
    assert page.locator("#times").bounding_box()["height"] < PHONE["height"] / 2, "Spot's witness has a hundred steps"
    visitor.context.close()


def test_everything_can_be_reached_with_the_keyboard_and_has_a_name(opened):
    page = opened.page
    page.locator("#formula textarea").fill("b & X a")
    page.locator("#formula textarea").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "solve"
    page.keyboard.press("Enter")
    page.get_by_label("Witness of b & X a", exact=True).wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("e => document.querySelector('#formula textarea').value == e", arg=EXAMPLES[0])
    page.click("#solve")
    page.locator("#witness table").wait_for()
    for tab in ("Rename", "All answers", "Attention"):
        opened.tab(tab)
        nameless = page.evaluate(
            """() => [...document.querySelectorAll("input, textarea, button, [role=img], [tabindex='0']")].filter(
                one => one.checkVisibility() && !one.labels?.length && !one.ariaLabel && !one.ariaHidden
                    && !one.textContent.trim()
            ).map(one => one.outerHTML.slice(0, 150))"""
        )
        assert not nameless
    page.evaluate("document.activeElement.blur()")
    for _ in range(25):
        page.keyboard.press("Tab")
        focus = page.evaluate(
            "[document.activeElement.outerHTML, getComputedStyle(document.activeElement).outlineStyle]"
        )
        assert focus[0].startswith("<body") or focus[1] == "solid", focus

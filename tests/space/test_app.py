"""The page in a browser: open it, type, solve, rename, and type what is no formula."""

import pytest

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

    def __init__(self, browser, site):
        self.context = browser.new_context(viewport=DESKTOP)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.asked, self.complaints = [], []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("websocket", lambda socket: self.asked.append(socket.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda line: self.complaints.append(line.text) if line.type == "error" else None)
        self.page.goto(site.url)
        self.page.wait_for_selector("#witness table")

    def set_limit(self, seconds):
        """Types the limit until the slider beside it, which a user sees, has moved there and stays."""
        number, slider = (self.page.locator(f"#limit input[type={kind}]") for kind in ("number", "range"))
        for _ in range(20):
            number.fill(seconds)
            number.press("Tab")
            self.page.wait_for_timeout(300)  # what a part that has just been opened is given late would undo it
            if slider.input_value() == number.input_value() == seconds:
                return
        raise AssertionError(f"the limit is {number.input_value()}, its slider {slider.input_value()}")

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

    def rename(self):
        """Presses the button and waits for the answer."""
        self.renamed += 1
        self.page.click("#rename")
        self.page.locator("#renamed .tally", has_text=f"model {self.renamed} of {self.renamed},").wait_for()

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
    assert "verified" in opened.text("#witness") and not opened.sticks_out()

    opened.ask("!door_open U (alarm & X door_open)")
    assert is_witness("!door_open U (alarm & X door_open)", page.locator("#witness code").first.inner_text())
    assert "verified" in opened.text("#witness .verdict")
    rows = page.locator("#witness tbody th").all_inner_texts()
    assert rows == ["door_open", "alarm"]
    assert page.locator("#answers li").count() >= 2
    assert all(name in opened.text("#times") for name in ("Model", "Spot checks", "Spot searches"))
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
    with pytest.raises(FormulaSyntaxError) as error:
        parse("(a | b) U c -> ((door_open")
    assert opened.text("#problem") == str(error.value)
    below = page.locator("#problem").bounding_box()["y"] - page.locator("#formula").bounding_box()["y"]
    assert 0 < below < 300 and not page.locator("#results").is_visible() and not opened.sticks_out()

    opened.ask("a & X b")
    assert page.locator("#results").is_visible() and not page.locator("#problem").is_visible()
    assert not page.locator("#renamed").is_visible()
    assert is_witness("a & X b", page.locator("#witness code").first.inner_text())


def test_a_busy_spot_is_cut_at_its_limit_and_the_page_says_so(opened, busy_formula):
    opened.page.get_by_text("Settings", exact=True).click()
    opened.set_limit("0.5")
    opened.ask(busy_formula)
    assert "busy for 0.5 s" in opened.text("#witness .busy") and "4 answers were not checked" in opened.text("#witness")
    assert opened.text("#answers li >> nth=0").startswith("timeout") and "timeout" in opened.text("#witness .verdict")
    assert opened.text("#times").count("stopped at its limit of 0.5 s") == 2
    assert not opened.sticks_out()


def test_names_are_shown_and_never_run(opened):
    opened.page.evaluate("window.harmed = false")
    opened.ask('"<img src=x onerror=window.harmed=true>" & X "<b>bold</b>"')
    opened.rename()
    assert "<img src=x onerror=window.harmed=true>" in opened.text("#witness .verdict")
    assert not opened.page.evaluate("window.harmed")
    assert not opened.page.locator("#results img, #results b:text-is('bold')").count()


def test_long_names_are_shown_whole_on_a_phone_too(opened):
    page = opened.page
    opened.ask("request_from_line_1 & X request_from_line_2")
    page.set_viewport_size(PHONE)
    page.wait_for_timeout(100)
    assert page.locator("#witness th[scope=row]").evaluate_all(
        "all => all.every(one => one.scrollWidth <= one.clientWidth && getComputedStyle(one).textOverflow == 'clip')"
    )
    assert not opened.sticks_out()


def test_the_map_is_of_the_chosen_stream(opened):
    opened.ask("(p U q) & X(r U s)")
    before = opened.page.locator("#heatmap svg").inner_html()
    assert "In the stream of p" in opened.text("#heatmap")
    opened.page.locator("#stream input").click()
    opened.page.get_by_role("option", name="s", exact=True).click()
    opened.page.locator("#heatmap", has_text="In the stream of s").wait_for()
    assert opened.page.locator("#heatmap svg").inner_html() != before
    opened.page.get_by_text("how the formula is read").click()
    opened.page.wait_for_function("document.querySelectorAll('#heatmap rect').length == 9 * 9")


def test_nothing_outside_this_machine_is_asked_for(opened, site):
    opened.ask("F(req & X ack) & G !err")
    assert opened.asked
    assert not [url for url in opened.asked if not url.startswith((site.url, "data:", "blob:"))]
    assert not opened.complaints
    turned_to = {line.split()[-1] for line in site.lines if line.startswith("TURNS TO")}
    assert turned_to <= {"127.0.0.1", "localhost", "None"}, turned_to
    assert not [line for line in site.lines if "Traceback" in line or "Error" in line]

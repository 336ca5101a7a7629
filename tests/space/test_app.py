"""The page in a browser, on a desk and on a phone: open it, type, solve, rename, and type what is no formula."""

import io
from string import ascii_lowercase

import pytest
from app import EXAMPLES, FEWEST, MOST, with_symbols
from PIL import Image

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

    def choose(self, example):
        """Chooses an example, which needs no answer of the server."""
        self.page.get_by_role("button", name=example, exact=True).click()
        self.page.wait_for_function("e => document.querySelector('#formula textarea').value == e", arg=example)

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


def test_a_busy_spot_is_cut_at_its_limit_and_the_page_says_so(opened, busy_formula):
    opened.page.get_by_text("Settings", exact=True).click()
    opened.set_limit("0.5")
    opened.ask(busy_formula)
    assert "busy for 0.5 s" in opened.text("#witness .busy") and "4 answers were not checked" in opened.text("#witness")
    assert "timeout" in opened.text("#witness .verdict")
    assert opened.text("#times").count("stopped at its limit of 0.5 s") == 2
    opened.tab("All answers")
    assert opened.text("#answers li >> nth=0").startswith("timeout")
    assert not opened.sticks_out()

    button = opened.page.get_by_role("button", name="Find a witness", exact=True)
    opened.page.click("#solve")
    opened.page.get_by_role("button", name="Looking for a witness …").wait_for()
    opened.page.locator("#formula textarea").fill("a & X b")
    button.wait_for()
    assert not opened.page.locator("#results").is_visible() and opened.page.locator("#hint").is_visible()


def test_a_number_of_symbols_writes_a_formula_with_so_many_which_is_then_answered(opened):
    page = opened.page
    slider, box = page.locator("#symbols input[type=range]"), page.locator("#formula textarea")
    for key, count in (("Home", FEWEST), ("ArrowRight", FEWEST + 1), ("End", MOST)):
        slider.press(key)
        wanted = with_symbols(ascii_lowercase[:count])
        page.wait_for_function("e => document.querySelector('#formula textarea').value == e", arg=wanted)
    formula = parse(box.input_value())
    page.click("#solve")
    page.get_by_label(f"Witness of {to_infix(formula)}", exact=True).wait_for()
    rows = page.locator("#witness table").first.locator("tbody th").all_inner_texts()
    assert rows == list(formula.symbols()) and not opened.sticks_out()
    assert is_witness(to_infix(formula), page.locator("#witness code").first.inner_text())


def test_a_formula_has_each_symbol_once_and_each_number_of_them_is_answered(answering):
    for count in range(FEWEST, MOST + 1):
        formula = with_symbols(ascii_lowercase[:count])
        assert [letter for letter in formula if letter.islower()] == list(ascii_lowercase[:count])
        assert answering.solve(formula).best.verdict == "correct"


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
    opened.tab("Attention")
    before = opened.page.locator("svg.heatmap").inner_html()
    assert "In the stream of p" in opened.text("#heatmap")
    opened.page.locator("#stream input").click()
    opened.page.get_by_role("option", name="s", exact=True).click()
    opened.page.locator("#heatmap", has_text="In the stream of s").wait_for()
    assert opened.page.locator("svg.heatmap").inner_html() != before
    opened.page.get_by_text("how the formula is read").click()
    opened.page.wait_for_function("document.querySelectorAll('#heatmap rect').length == 9 * 9")


def test_whatever_changes_the_formula_clears_the_old_answer(opened):
    page = opened.page
    opened.ask("a & X b")
    opened.rename()
    opened.choose(EXAMPLES[1])
    page.locator("#results").wait_for(state="hidden", timeout=1000)
    assert opened.text("#hint") == "Press Find a witness, and the answer is shown here."
    page.click("#solve")
    page.get_by_label(f"Witness of {EXAMPLES[1]}", exact=True).wait_for()
    assert not page.locator("#hint").is_visible() and not page.locator("#renamed").is_visible()

    page.locator("#formula textarea").press("End")
    page.keyboard.type(" & X")
    page.locator("#results").wait_for(state="hidden", timeout=1000)
    page.keyboard.press("Enter")
    page.locator("#problem pre").wait_for()
    opened.choose(EXAMPLES[2])
    page.locator("#problem").wait_for(state="hidden", timeout=1000)


@pytest.mark.parametrize(
    "text", ["(request U grant) & & X done", "a &\nb & (c U d) e", "iiiiiiiiiiiiiiiiiiiiWWWWWWWWWWWWWW )))"]
)
def test_a_caret_stands_under_the_place_of_the_fault(opened, text):
    with pytest.raises(FormulaSyntaxError) as error:
        parse(text)
    opened.ask(text)
    below = opened.page.evaluate(
        """() => {
            const [pre, caret] = ["#problem pre", "#problem .caret"].map(one => document.querySelector(one));
            const length = pre.querySelector(".before").textContent.length, fault = document.createRange();
            fault.setStart(pre.firstChild, length);
            fault.setEnd(pre.firstChild, length + 1);
            const [under, over] = [caret.getBoundingClientRect(), fault.getBoundingClientRect()];
            const middle = (under.left + under.right) / 2;
            return [fault.toString(), over.left < middle && middle < over.right && over.bottom <= under.bottom];
        }"""
    )
    assert below == [text[error.value.position], True]
    assert "monospace" in opened.page.locator("#problem pre").evaluate("one => getComputedStyle(one).fontFamily")


def test_new_names_can_be_chosen_and_are_refused_in_a_sentence(opened):
    page = opened.page
    opened.ask("request U (grant & X request)")
    opened.rename("request=ask, grant=give")
    assert opened.text("#renamed").startswith("request → ask, grant → give The formula is now ask U (give & X ask).")
    assert "follows all 5 answers and scores" in opened.text("#renamed .side >> nth=0")
    page.locator("#names textarea").fill("request=grant")
    page.keyboard.press("Enter")
    page.locator("#renamed .problem").wait_for()
    assert opened.text("#renamed") == "'request' and 'grant' would both be called 'grant': give each a name of its own."
    opened.ask("alarm & X door")
    assert page.locator("#names textarea").input_value() == ""
    assert page.locator("#names textarea").get_attribute("placeholder") == "alarm=new_1, door=new_2"


def test_what_is_open_in_a_trace_is_striped_and_what_is_false_is_not(opened):
    opened.ask("a & X(b & !a)")
    cells = opened.page.locator("#witness td[title]").evaluate_all(
        "all => all.map(one => [one.title.split(' at')[0], getComputedStyle(one).backgroundImage.split('(')[0]])"
    )
    looks = {said.split(" ", 1)[1]: look for said, look in cells}
    assert looks == {"is true": "none", "is false": "none", "may be true or false": "repeating-linear-gradient"}
    assert opened.text("#witness .legend") == "1 true 0 false either"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_scale_of_the_map_has_the_colours_of_its_cells(browser, site, theme):
    visitor = Visitor(browser, site, query=f"?__theme={theme}")
    visitor.tab("Attention")
    strongest = visitor.page.locator("#heatmap rect[style='--w:1.000']").first
    strongest.wait_for()
    scale = visitor.page.locator("#heatmap .scale")
    shown = visitor.text("#heatmap")
    assert scale.inner_text().split("\n")[-1].split()[-1] in shown.split("the strongest cell is ")[1].split(".")[0]

    def colour(part, x):
        picture = Image.open(io.BytesIO(part.screenshot())).convert("RGB")
        return picture.getpixel((round(x * (picture.width - 1)), picture.height // 2))

    bar = scale.locator(".colours")
    difference = [abs(a - b) for a, b in zip(colour(bar, 0.99), colour(strongest, 0.5), strict=True)]
    assert max(difference) < 8
    assert max(abs(a - b) for a, b in zip(colour(bar, 0.01), colour(bar, 0.99), strict=True)) > 60
    assert not visitor.complaints
    visitor.context.close()


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (1600, 900)])
def test_on_a_desk_question_and_answer_stand_side_by_side_on_the_first_screen(browser, site, width, height):
    visitor = Visitor(browser, site, {"width": width, "height": height})
    question, answer, picture = (
        visitor.page.locator(one).bounding_box() for one in ("#question", "#answer", "#witness table")
    )
    assert question["x"] + question["width"] < answer["x"] and abs(question["y"] - answer["y"]) < 2
    assert answer["x"] + answer["width"] - question["x"] > 0.85 * width
    assert picture["y"] + picture["height"] < height and question["y"] < height / 3
    visitor.context.close()


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


def test_nothing_outside_this_machine_is_asked_for(opened, site):
    opened.ask("F(req & X ack) & G !err")
    assert opened.asked
    assert not [url for url in opened.asked if not url.startswith((site.url, "data:", "blob:"))]
    assert not opened.complaints
    turned_to = {line.split()[-1] for line in site.lines if line.startswith("TURNS TO")}
    assert turned_to <= {"127.0.0.1", "localhost", "None"}, turned_to
    assert not [line for line in site.lines if "Traceback" in line or "Error" in line]

"""A page that finds witnesses of LTL formulas, has Spot check them, and shows that names do not matter.

python app.py

Runs on the CPU from the checkpoint that comes with the package, and asks nothing of the network.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from string import ascii_lowercase
from typing import Any, NamedTuple

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # read when gradio is imported

import drawing
import gradio as gr
import scripts
from answering import (
    LEAST_LIMIT,
    LONGEST,
    MOST_BEAMS,
    MOST_LIMIT,
    READING,
    WRITING,
    Answering,
    QuestionError,
    Solved,
    read_renaming,
    renamings,
    require_text,
    whole,
)
from guard import Guard
from starlette.middleware import Middleware
from transformers.utils import logging

from hf_symbinv import Formula, to_infix
from hf_symbinv.logic import FormulaSizeError, FormulaSyntaxError

# Our choice: questions that are worked on at a time, in a batch or after each other where they need the same, and those
# that wait for their turn. Who comes then is asked to come again.
AT_ONCE, MOST_WAITING = 30, 60
# Our choice: visits whose last answers are kept, with some 0.1 MB each.
MOST_VISITS = 500
STYLE = Path(__file__).with_name("style.css")
EXAMPLES = [
    "(request U grant) & X(grant U (done & X !request))",
    "G(request -> F grant)",
    "F(req & X ack) & G !err",
    "(p U q) & X(r U s) & X X(t U u)",
    "GF tick & GF !tick",
    "a & X b & !a",
    " U ".join(f"(a{i} | G b{i})" for i in range(8)),
]
# What joins two parts of a formula that is written for a visitor, by turns from the top.
JOINS = ["({} U {})", "(X {} & {})", "({} | {})", "({} & X {})"]
FEWEST, MOST = 2, 20
ABOUT = """
# Names don't matter

A small Transformer writes **witnesses** of formulas of linear temporal logic: runs that start with some steps and then
repeat a loop for ever. [Spot](https://spot.lre.epita.fr) checks every one. Rename the symbols, and the answer is
renamed with them, bit for bit.

The model is here to be studied. Spot alone finds most witnesses in a few milliseconds, the model in about a tenth of a
second. But it learned this from examples with five symbols at most, and no names can fool it.
"""
ASK, ASKED = "Find a witness", "Looking for a witness …"
HINT = f"<p><span>Press <b>{ASK}</b>, and the answer is shown here.</span></p>"
# What drawing.py writes brings its own style.
html = partial(gr.HTML, apply_default_css=False)
NOTHING = gr.update(value="", visible=False)
HELP = "Operators: ! & | ^ -> <-> X F G U R W M, constants 0 and 1; names like grant_1, or anything in double quotes."


def suggestion(solved: Solved) -> str:
    """What new names could be, for a formula that has names."""
    return ", ".join(f"{to_infix(Formula.ap(name))}=new_{n}" for n, name in enumerate(solved.formula.symbols()[:2], 1))


def with_symbols(names: Sequence[str], turn: int = 0) -> str:
    """A formula of these symbols, at least one, each once; some run satisfies it for that reason."""
    if len(names) == 1:
        return f"!{names[0]}" if turn % 3 == 2 else names[0]
    half = len(names) // 2
    return JOINS[turn % 4].format(with_symbols(names[:half], turn + 1), with_symbols(names[half:], turn + 2))


class Question(NamedTuple):
    """The parts of the page in which something is asked."""

    text: gr.Textbox
    problem: gr.HTML
    ask: gr.Button
    examples: gr.Dataset
    symbols: gr.Slider
    beams: gr.Slider
    limit: gr.Slider


class Answer(NamedTuple):
    """The parts of the page that show what was found."""

    hint: gr.HTML
    results: gr.Column
    witness: gr.HTML
    times: gr.HTML
    answers: gr.HTML
    new_names: gr.Textbox
    rename: gr.Button
    renamed: gr.HTML
    view: gr.Radio
    stream: gr.Dropdown
    layer: gr.Dropdown
    head: gr.Dropdown
    heatmap: gr.HTML


def question() -> Question:
    text = gr.Textbox(EXAMPLES[0], label="Formula", info=HELP, max_lines=5, max_length=LONGEST, elem_id="formula")
    problem = html(elem_id="problem", visible="hidden")
    ask = gr.Button(ASK, variant="primary", elem_id="solve")
    examples = gr.Dataset(
        components=[text],
        samples=[[one] for one in EXAMPLES],
        sample_labels=[*EXAMPLES[:-1], "keeps Spot busy"],
        label="Examples",
        elem_id="examples",
    )
    label = f"Write a formula with {FEWEST} to {MOST} symbols"
    symbols = gr.Slider(FEWEST, MOST, 5, step=1, label=label, elem_id="symbols")
    with gr.Accordion("Settings", open=False):
        beams = gr.Slider(1, MOST_BEAMS, 5, step=1, label="Beams, and answers at most")
        label = "Seconds after which Spot is stopped"
        limit = gr.Slider(LEAST_LIMIT, MOST_LIMIT, 5, step=0.5, label=label, elem_id="limit")
    return Question(text, problem, ask, examples, symbols, beams, limit)


class Page:
    """What the page does when something is typed or pressed; `Answering` does the work.

    Inputs are whatever a visitor's program sends: each is checked before it is used.
    """

    def __init__(self, answering: Answering) -> None:
        self.answering = answering
        config = answering.pipe.model.config
        self.layers = min(config.encoder_layers, config.decoder_layers)
        self.heads = config.num_attention_heads

    def solve(self, text: str, beams: int, limit: float) -> list[Any]:
        """What a formula comes to; the outputs of the event are in this order. Its map is drawn by `look`."""
        try:
            solved = self.answering.solve(text, beams, limit)
        except FormulaSyntaxError as error:
            return [text, drawing.fault(error), *[gr.skip()] * 3, None, [], *[gr.skip()] * 4]
        except (FormulaSizeError, QuestionError) as error:
            return [text, drawing.problem(str(error)), *[gr.skip()] * 3, None, [], *[gr.skip()] * 4]
        names = gr.update(value="", placeholder=suggestion(solved))
        return [text, "", *self.drawn(solved), solved, [], NOTHING, names, self.streams(solved), ""]

    def drawn(self, solved: Solved) -> tuple[str, str, str]:
        return drawing.witness(solved), drawing.times(solved), drawing.candidates(solved)

    def streams(self, solved: Solved) -> Any:
        """The choice of streams."""
        names = list(solved.formula.symbols())
        return gr.update(choices=names, value=names[0] if names else None, interactive=bool(names))

    def look(self, solved: Solved | None, view: str, stream: str | None, layer: int, head: int) -> Any:
        """The heat map of one head."""
        if solved is None:
            return gr.skip()
        try:
            place = whole("Layer", layer, self.layers) - 1, whole("Head", head, self.heads) - 1
            attention = self.answering.attention(solved, view, stream or "", *place)
        except QuestionError as error:
            return drawing.problem(str(error))
        return drawing.heatmap(attention)

    def rename(
        self, solved: Solved | None, history: list[tuple[bool, bool | None]], new_names: str
    ) -> tuple[Any, list[tuple[bool, bool | None]]]:
        """Both models under the names that are given, or under the next shuffled ones, and how often each followed."""
        if solved is None:
            return gr.skip(), history
        try:
            require_text("renaming", new_names)
            choices = [] if new_names.strip() else renamings(solved.formula.symbols())
            renaming = choices[len(history) % len(choices)] if choices else read_renaming(new_names, solved.formula)
        except QuestionError as error:
            return gr.update(value=drawing.problem(str(error)), visible=True), history
        own, baseline = self.answering.rename(solved, renaming)
        history = [*history, (own.follows, None if baseline.refusal else baseline.follows)]
        shown = drawing.comparisons(own, baseline) + drawing.tally(history)
        return gr.update(value=shown, visible=True), history

    def answer(self, first: Solved) -> Answer:
        """The parts that show an answer, with this one in them."""
        witness, times, answers = self.drawn(first)
        names = list(first.formula.symbols())
        hint = html(HINT, elem_id="hint", visible="hidden")
        with gr.Column(elem_id="results") as results:
            witness_box = html(witness, elem_id="witness")
            times_box = html(times, elem_id="times")
            with gr.Tabs():
                with gr.Tab("Rename"):
                    with gr.Row():
                        new_names = gr.Textbox(
                            label="New names",
                            info="Leave this empty to shuffle the names of the formula.",
                            placeholder=suggestion(first),
                            max_length=LONGEST,
                            scale=3,
                            min_width=300,
                            elem_id="names",
                        )
                        rename = gr.Button("Rename the symbols", scale=1, min_width=210, elem_id="rename")
                    renamed = html(elem_id="renamed", visible=False)
                with gr.Tab("All answers"):
                    gr.Markdown("Most likely first; unfold one to see it.")
                    answers_box = html(answers, elem_id="answers")
                with gr.Tab("Attention"):
                    gr.Markdown(
                        "The model has a copy of the formula for each symbol, its *stream*. Where does one head look?"
                    )
                    view = gr.Radio([WRITING, READING], value=WRITING, label="View", show_label=False, elem_id="view")
                    layers, heads = (list(range(1, count + 1)) for count in (self.layers, self.heads))
                    with gr.Row():
                        stream = gr.Dropdown(names, value=names[0], label="Stream of", min_width=160, elem_id="stream")
                        layer = gr.Dropdown(layers, value=1, label="Layer", min_width=80)
                        head = gr.Dropdown(heads, value=1, label="Head", min_width=80)
                    heatmap = html(self.look(first, WRITING, names[0], 1, 1), elem_id="heatmap")
        return Answer(
            hint, results, witness_box, times_box, answers_box, new_names, rename, renamed, view, stream, layer, head,
            heatmap,
        )  # fmt: skip

    def blocks(self) -> gr.Blocks:
        """The page, with the first example answered."""
        first = self.answering.solve(EXAMPLES[0])
        with gr.Blocks(title="Names don't matter", analytics_enabled=False) as page:
            gr.Markdown(ABOUT, elem_id="about")
            solved, history = gr.State(first), gr.State([])
            asked = gr.Textbox(EXAMPLES[0], visible="hidden")  # what the answer is to; scripts read no State
            with gr.Row(equal_height=False):
                with gr.Column(scale=5, min_width=320, elem_id="question"):
                    ours = question()
                with gr.Column(scale=7, min_width=320, elem_id="answer"):
                    theirs = self.answer(first)
            self.connect(ours, theirs, asked, solved, history)
        return page

    def connect(self, ours: Question, theirs: Answer, asked: gr.Textbox, solved: gr.State, history: gr.State) -> None:
        """What happens when something is typed, chosen or pressed."""
        # As they were sent: what Gradio says of wrong inputs is for programmers, and it says nothing of NaN.
        shared: dict[str, Any] = {
            "concurrency_id": "questions", "concurrency_limit": AT_ONCE,
            "preprocess": False, "api_visibility": "private",
        }  # fmt: skip
        places = [theirs.hint, theirs.results, ours.problem]
        ours.examples.click(None, ours.examples, ours.text, js=scripts.choose(EXAMPLES))
        many = [with_symbols(ascii_lowercase[:count]) for count in range(FEWEST, MOST + 1)]
        ours.symbols.input(None, ours.symbols, ours.text, js=scripts.choose(many, FEWEST))
        ours.text.change(None, None, places, js=scripts.CLEAR)
        pressed = [ours.ask.click, ours.text.submit]
        gr.on(pressed, None, None, ours.ask, js=scripts.give(ASKED))
        found = gr.on(
            pressed,
            self.solve,
            [ours.text, ours.beams, ours.limit],
            [asked, ours.problem, theirs.witness, theirs.times, theirs.answers, solved, history, theirs.renamed,
             theirs.new_names, theirs.stream, theirs.heatmap],
            show_progress_on=[theirs.hint, theirs.witness],
            trigger_mode="always_last",  # who asks about another formula meanwhile need not ask twice
            **shared,
        )  # fmt: skip
        found.success(None, [ours.text, asked, ours.problem], places, js=scripts.SHOW)
        chosen = [solved, theirs.view, theirs.stream, theirs.layer, theirs.head]
        # After the answer, because a map takes as long as everything else that is shown, and lies in a tab behind it.
        found.success(self.look, chosen, theirs.heatmap, **shared)
        found.failure(None, None, [*places, ours.ask], js=scripts.refuse(ASK))
        found.then(None, None, ours.ask, js=scripts.give(ASK))
        renamed = gr.on(
            [theirs.rename.click, theirs.new_names.submit],
            self.rename,
            [solved, history, theirs.new_names],
            [theirs.renamed, history],
            **shared,
        )
        renamed.then(None, None, None, js=scripts.move("#renamed"))
        changed = [one.input for one in (theirs.view, theirs.stream, theirs.layer, theirs.head)]
        gr.on(changed, self.look, chosen, theirs.heatmap, **shared)


def main() -> None:
    logging.disable_progress_bar()
    with Answering() as answering:
        # Fonts that are there: nothing is fetched, and bold letters are not mixed from two families.
        theme = gr.themes.Base(
            primary_hue="indigo",
            font=["system-ui", "-apple-system", "Segoe UI", "Roboto", "sans-serif"],
            font_mono=["ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace"],
        ).set(
            block_info_text_color="*neutral_600", block_info_text_color_dark="*neutral_400",
            input_placeholder_color="*neutral_500", input_placeholder_color_dark="*neutral_400",
            link_text_color_dark="*primary_300", link_text_color_visited_dark="*primary_300",
        )  # fmt: skip
        page = Page(answering).blocks()
        page.queue(max_size=MOST_WAITING, api_open=False)
        events = {number: len(event.inputs) for number, event in page.fns.items() if event.fn is not None}
        page.launch(
            theme=theme, css_paths=STYLE, ssr_mode=False, footer_links=[], show_error=True, enable_monitoring=False,
            state_session_capacity=MOST_VISITS, app_kwargs={"middleware": [Middleware(Guard, events=events)]},
        )  # fmt: skip


if __name__ == "__main__":
    main()

"""A page that finds witnesses of LTL formulas, has Spot check them, and shows that names do not matter.

python app.py

Runs on the CPU from the checkpoint that comes with the package, and asks nothing of the network.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # read when gradio is imported

import drawing
import gradio as gr
from answering import READING, WRITING, Answering, QuestionError, Solved
from transformers.utils import logging

from hf_symbinv.logic import FormulaSizeError, FormulaSyntaxError

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
ABOUT = """
# Names don't matter

Type a formula of linear temporal logic, with any names. A small symbol-invariant Transformer writes **witnesses**: runs
that start with some steps and then repeat a loop for ever. [Spot](https://spot.lre.epita.fr) checks every one. Then
rename the symbols: the answer is renamed with them, bit for bit, which models that learn names cannot promise.
"""
# What drawing.py writes brings its own style.
html = partial(gr.HTML, apply_default_css=False)
NOTHING = gr.update(value="", visible=False)
HELP = "Operators: ! & | ^ -> <-> X F G U R W M, constants 0 and 1; names like grant_1, or anything in double quotes."


class Page:
    """What the page does when something is typed or pressed; `Answering` does the work."""

    def __init__(self, answering: Answering) -> None:
        self.answering = answering
        config = answering.pipe.model.config
        self.layers = min(config.encoder_layers, config.decoder_layers)
        self.heads = config.num_attention_heads

    def solve(self, text: str, beams: int, limit: float, view: str, layer: int, head: int) -> list[Any]:
        """What becomes of the page when a formula is asked about; the outputs of the event are in this order."""
        try:
            solved = self.answering.solve(text, int(beams), float(limit))
        except (FormulaSyntaxError, FormulaSizeError, QuestionError) as error:
            refused = gr.update(value=drawing.problem(str(error)), visible=True)
            return [refused, gr.update(visible=False), *[gr.skip()] * 3, None, [], NOTHING, *[gr.skip()] * 2]
        return [
            NOTHING,
            gr.update(visible=True),
            *self.drawn(solved),
            solved,
            [],
            NOTHING,
            *self.first_map(solved, view, layer, head),
        ]

    def drawn(self, solved: Solved) -> tuple[str, str, str]:
        return drawing.witness(solved), drawing.times(solved), drawing.candidates(solved)

    def first_map(self, solved: Solved, view: str, layer: int, head: int) -> tuple[Any, Any]:
        """The choice of streams, and the map of the first one."""
        names = list(solved.formula.symbols())
        first = names[0] if names else None
        choice = gr.update(choices=names, value=first, interactive=bool(names))
        return choice, self.look(solved, view, first, layer, head)

    def look(self, solved: Solved | None, view: str, stream: str | None, layer: int, head: int) -> Any:
        """The heat map of one head."""
        if solved is None:
            return gr.skip()
        try:
            attention = self.answering.attention(solved, view, stream or "", int(layer) - 1, int(head) - 1)
        except QuestionError as error:
            return drawing.problem(str(error))
        return drawing.heatmap(attention)

    def rename(self, solved: Solved | None, history: list[tuple[bool, bool | None]]) -> tuple[Any, list[Any]]:
        """Both models under the next renaming, and how often each followed so far."""
        if solved is None:
            return gr.skip(), history
        try:
            own, baseline = self.answering.rename(solved, len(history))
        except QuestionError as error:
            return gr.update(value=drawing.problem(str(error)), visible=True), history
        history = [*history, (own.follows, None if baseline.refusal else baseline.follows)]
        shown = drawing.comparisons(own, baseline) + drawing.tally(history)
        return gr.update(value=shown, visible=True), history

    def blocks(self) -> gr.Blocks:
        """The page, with the first example answered."""
        first = self.answering.solve(EXAMPLES[0])
        witness, times, answers = self.drawn(first)
        names = list(first.formula.symbols())
        with gr.Blocks(title="Names don't matter", analytics_enabled=False) as page:
            gr.Markdown(ABOUT)
            solved, history = gr.State(first), gr.State([])
            with gr.Row(equal_height=False):
                text = gr.Textbox(
                    EXAMPLES[0],
                    label="Formula",
                    info=HELP,
                    max_lines=5,
                    max_length=2000,
                    scale=5,
                    min_width=320,
                    elem_id="formula",
                )
                ask = gr.Button("Find a witness", variant="primary", scale=1, min_width=160, elem_id="solve")
            problem = html(elem_id="problem", visible=False)
            with gr.Accordion("Settings", open=False):
                beams = gr.Slider(1, 10, 5, step=1, label="Beams, and answers at most")
                limit = gr.Slider(0.5, 10, 5, step=0.5, label="Seconds after which Spot is stopped", elem_id="limit")
            gr.Examples(
                EXAMPLES,
                text,
                cache_examples=False,
                label="Examples",
                example_labels=[*EXAMPLES[:-1], "keeps Spot busy"],
            )
            with gr.Column(elem_id="results") as results:
                gr.Markdown("## Witness")
                witness_box = html(witness, elem_id="witness")
                times_box = html(times, elem_id="times")
                gr.Markdown("## All answers of the model\nMost likely first; unfold one to see it.")
                answers_box = html(answers, elem_id="answers")
                gr.Markdown("## Rename\nThe same formula with its names permuted, for this model and for a baseline.")
                rename = gr.Button("Rename the symbols", elem_id="rename")
                renamed = html(elem_id="renamed", visible=False)
                gr.Markdown("## Attention\nEvery symbol has a stream of its own. Where does one head of it look?")
                view = gr.Radio([WRITING, READING], value=WRITING, show_label=False, elem_id="view")
                with gr.Row():
                    stream = gr.Dropdown(names, value=names[0], label="Stream of", min_width=280, elem_id="stream")
                    layer = gr.Dropdown(list(range(1, self.layers + 1)), value=1, label="Layer", min_width=100)
                    head = gr.Dropdown(list(range(1, self.heads + 1)), value=1, label="Head", min_width=100)
                heatmap = html(self.look(first, WRITING, names[0], 1, 1), elem_id="heatmap")
            # One at a time: the models and Spot's processes are shared.
            alone: dict[str, Any] = {"concurrency_id": "models", "concurrency_limit": 1, "api_visibility": "private"}
            gr.on(
                [ask.click, text.submit],
                self.solve,
                [text, beams, limit, view, layer, head],
                [problem, results, witness_box, times_box, answers_box, solved, history, renamed, stream, heatmap],
                **alone,
            )
            rename.click(self.rename, [solved, history], [renamed, history], **alone)
            chosen = [solved, view, stream, layer, head]
            gr.on([one.input for one in (view, stream, layer, head)], self.look, chosen, heatmap, **alone)
        return page


def main() -> None:
    logging.disable_progress_bar()
    with Answering() as answering:
        # Fonts that are there: nothing is fetched, and bold letters are not mixed from two families.
        theme = gr.themes.Base(
            primary_hue="indigo",
            font=["system-ui", "-apple-system", "Segoe UI", "Roboto", "sans-serif"],
            font_mono=["ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace"],
        ).set(block_info_text_color="*neutral_600", block_info_text_color_dark="*neutral_400")
        page = Page(answering).blocks()
        page.launch(theme=theme, css_paths=STYLE, ssr_mode=False, footer_links=[], show_error=True)


if __name__ == "__main__":
    main()

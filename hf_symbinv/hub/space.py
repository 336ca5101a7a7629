"""The files that make a metric's folder a Space: what it installs, and an app to try the metric in."""

from __future__ import annotations

REQUIREMENTS = "hf_symbinv[data,logic]\n"

APP = '''\
"""Try the metric {name} on your own inputs."""

import json

import evaluate
import gradio as gr

metric = evaluate.load("{name}.py")
inputs = list(metric.features)


def compute(*texts: str) -> str:
    """The metric of inputs given as JSON lists; an empty text leaves an input out."""
    try:
        given = {{name: json.loads(text) for name, text in zip(inputs, texts, strict=True) if text.strip()}}
        return json.dumps(metric.compute(**given), indent=2)
    except Exception as error:
        raise gr.Error(str(error)) from error


demo = gr.Interface(
    fn=compute,
    inputs=[gr.Textbox(label=f"{{name}} (a JSON list)", lines=3) for name in inputs],
    outputs=gr.Code(label="result", language="json"),
    title="{name}",
    description=metric.info.description,
    article="```text\\n" + metric.info.inputs_description + "\\n```",
)

if __name__ == "__main__":
    demo.launch()
'''


def space_files(name: str) -> dict[str, str]:
    """Path → text of the files that the Space of a metric needs besides its card and its script."""
    return {"app.py": APP.format(name=name), "requirements.txt": REQUIREMENTS}

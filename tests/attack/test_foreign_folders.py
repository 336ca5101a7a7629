"""Folders of models, data and runs that name or hold code in random places: no command runs any of it.

Code that runs leaves a file behind, the canary.
"""

import contextlib
import json
import pickle
import shutil

from hf_symbinv.cli import main

from .homes import SIZES

FILES = [
    "config.json", "tokenizer_config.json", "generation_config.json", "run.json", "recipe.json", "results.json",
    "conversion.json", "trainer_state.json", "adapter_config.json", "processor_config.json", "generation.json",
    "checkpoint-6/trainer_state.json", "checkpoint-6/config.json",
]  # fmt: skip
SCRIPTS = [
    "conftest.py", "setup.py", "__init__.py", "sitecustomize.py", "spot.py", "aiger_sat.py", "modeling_symbinv.py",
    "configuration_symbinv.py", "tokenization_symbinv.py", "custom_generate/generate.py", "foreign.py", "data/data.py",
]  # fmt: skip
PICKLES = [
    "pytorch_model.bin", "model.safetensors", "training_args.bin", "checkpoint-6/optimizer.pt", "data/train.pkl",
    "checkpoint-6/rng_state.pth", "tokenizer.json", "data/train-00000-of-00001.parquet",
]  # fmt: skip
COMMANDS = [
    ["card", "foreign"],
    ["push", "foreign", "alice/foreign"],
    ["solve", "--model", "foreign", "--max-new-tokens", "4", "a"],
    ["evaluate", "foreign", "--data", "rows", "--rows", "2"],
    ["evaluate", "--data", "foreign", "--rows", "2"],
    ["data", "--from", "foreign", "--output", "made", "--reduce", "2"],
    ["data", *SIZES, "--output", "foreign"],
    ["convert", "foreign", "--output", "made"],
    ["train", "recipe.yaml", "--output", "foreign", "--data", "rows", "trainer.max_steps=1"],
    ["train", "recipe.yaml", "--output", "made", "--data", "foreign", "trainer.max_steps=1"],
    ["train", "recipe.yaml", "--output", "made", "--data", "rows", "start=foreign", "trainer.max_steps=1"],
]
# Training takes seconds.
OFTEN = COMMANDS[:-3] * 3 + COMMANDS[-3:]


class Program:
    """What unpickling turns into a canary."""

    def __init__(self, canary):
        self.canary = canary

    def __reduce__(self):
        return exec, (f"open({str(self.canary)!r}, 'w').close()",)


def named(draw, script):
    """A way to name a Python file."""
    module = script.removesuffix(".py").replace("/", ".")
    return draw.choice([script, f"foreign/{script}", f"./foreign/{script}:MINE", module, f"{module}.Mine", "foreign"])


def name_code(draw, content, script):
    """Write into a JSON object that this Python file is to be run, in one of the ways that some library knows."""
    text = named(draw, script)
    classes = ["AutoModel", "AutoConfig", "AutoTokenizer", "AutoModelForSeq2SeqLM", "AutoProcessor"]
    ways = {
        "recipe": {"task": text, "data": {"task": text}, "start": text},
        "task": text,
        "auto_map": {name: draw.choice([text, [text, text], f"{text}--{text}"]) for name in classes},
        "custom_generate": text,
        "custom_pipelines": {"ltl-witness": {"impl": text, "pt": [text]}},
        "tokenizer_class": text,
        "architectures": [text],
        "auto_mapping": {"parent_library": text, "base_model_class": "Mine"},
        "attn_implementation": text,
        "_attn_implementation": text,
        "quantization_config": {"quant_method": text, "modules": text},
        "peft_type": text,
        "base_model_name_or_path": text,
        "builder": {"task": text},
        "data": {"source": text, "builder": {"task": text}, "splits": {"train": {"rows": 3}}},
        "base_tokens": draw.choice([["x", "y"], [text]]),
        "symbol_pattern": text,
    }
    for way in draw.sample(sorted(ways), draw.randint(1, 3)):
        content[way] = ways[way]


def change(path, how):
    """Change a JSON object in a file, which may not be there yet; what it is then."""
    content = json.loads(path.read_text()) if path.is_file() else {}
    how(content)
    path.write_text(json.dumps(content))
    return content


def poison(draw, folder, canary):
    """Make a folder foreign; what was done to it."""
    done = []
    for script in {"evil_task.py", *draw.sample(SCRIPTS, draw.randint(0, 4))}:
        (folder / script).parent.mkdir(parents=True, exist_ok=True)
        (folder / script).write_text(f"open({str(canary)!r}, 'w').close()\n")
        done.append(script)
    for name in draw.sample(FILES, draw.randint(1, 4)):
        content = change(folder / name, lambda content: name_code(draw, content, draw.choice(done)))
        done.append(f"{name}: {content}")
    if draw.random() < 0.3:  # a model of a task of its own
        change(folder / "tokenizer_config.json", lambda content: content.update(base_tokens=["x", "y"]))
        change(folder / "run.json", lambda content: content.update(recipe={"task": "foreign/evil_task.py"}))
        done.append("a task of its own")
    for name in draw.sample(PICKLES, draw.choice([0, 0, 1, 2])):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(pickle.dumps(Program(canary), protocol=draw.randint(0, 5)))
        done.append(name)
    if draw.random() < 0.2:
        (folder / "model.safetensors").unlink()
        done.append("without weights")
    return done


def test_no_command_runs_code_of_a_foreign_folder(attack, home, monkeypatch, capsys):
    for attempt in attack.tries(8):
        draw = attempt.random
        monkeypatch.chdir(attempt.folder)
        shutil.copy(home / "recipe.yaml", attempt.folder)
        shutil.copytree(home / "rows", attempt.folder / "rows")
        shutil.copytree(home / "run", attempt.folder / "foreign")
        shutil.copytree(home / "rows" / "data", attempt.folder / "foreign" / "data")
        canary = attempt.folder / "canary"
        done = poison(draw, attempt.folder / "foreign", canary)
        command = draw.choice(OFTEN)
        with contextlib.suppress(Exception, SystemExit):  # a traceback is no sentence, but it runs no code
            main(command)
        capsys.readouterr()
        assert not canary.exists(), (command, done)
        monkeypatch.undo()

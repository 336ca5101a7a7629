"""Folders with random secrets, pickles and links in random files: nothing of them is pushed, and clean ones are.

What is pushed is asked of `read_folder`, which decides it without a Hub.
"""

import contextlib
import functools
import gzip
import io
import json
import lzma
import os
import pickle
import string
import zipfile
import zlib

import numpy
import pyarrow
import pyarrow.parquet
from safetensors.numpy import save_file

from hf_symbinv.hub import PushError, read_folder

LETTERS = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
# Start of a secret, and the number and the letters of the rest, as its issuer makes them.
SECRETS = [
    ("hf_", 34, LETTERS), ("api_org_", 34, LETTERS), ("ghp_", 36, LETTERS), ("gho_", 36, LETTERS),
    ("github_pat_", 82, LETTERS + "_"), ("glpat-", 20, LETTERS + "_-"), ("sk-proj-", 150, LETTERS + "_-"),
    ("sk-ant-api03-", 95, LETTERS + "_-"), ("AKIA", 16, UPPER), ("ASIA", 16, UPPER), ("AIza", 35, LETTERS + "_-"),
    ("xoxb-1234567890-", 24, LETTERS), ("sk_live_", 24, LETTERS), ("npm_", 36, LETTERS),
    ("pypi-AgEIcHlwaS5vcmc", 100, LETTERS + "_-"),
]  # fmt: skip
AROUND = ["{}", "key={}\n", '{{"a": "{}"}}', '{{"cell": ["\\n{}"]}}', "<b>{}</b>", "é{}é", "x{},"]
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16"]
SUFFIXES = [
    ".log", ".sh", ".ini", ".ipynb", ".html", ".env", ".json", ".jsonl", ".py", ".md", ".txt", ".csv", ".yaml", ".cfg",
    ".toml", ".xml", ".svg", ".png", ".css", ".js", ".sql", ".safetensors.md", "", ".LOG", ".data", ".model",
]  # fmt: skip
PICKLE_SUFFIXES = [".bin", ".pkl", ".pt", ".npy", ".h5", ".joblib", ".ckpt", ".safetensors", ".parquet"]
HOMES = ["", "", "sub/", "data/", "a/b/", ".hidden/", "__own/", "checkpoint-1/"]


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def model(folder):
    config = {"model_type": "symbol_invariant", "auto_map": {"AutoModel": "code.Model"}}
    write(folder / "config.json", json.dumps(config))
    write(folder / "code.py", "class Model:\n    pass\n")
    save_file({"weight": numpy.zeros(3, dtype="float32")}, folder / "model.safetensors")


def data_set(folder):
    write(folder / "README.md", "# Rows\n")
    write(folder / "generation.json", "{}")
    (folder / "data").mkdir()
    table = pyarrow.Table.from_pylist([{"text": "a"}, {"text": "b"}])
    pyarrow.parquet.write_table(table, folder / "data" / "train-00000-of-00001.parquet")


def space(folder):
    write(folder / "README.md", "---\nsdk: gradio\n---\n")
    write(folder / "app.py", "print(1)\n")


def secret(draw):
    start, count, letters = draw.choice(SECRETS)
    if draw.random() < 0.1:
        return "-----BEGIN RSA PRIVATE KEY-----"
    return start + "".join(draw.choices(letters, k=count))


def hidden_in_bytes(draw, content):
    """The same between random bytes, as in a picture or a program; they begin like nothing that can be loaded."""
    return b"\xff" + draw.randbytes(draw.randrange(300)) + content + draw.randbytes(draw.randrange(300))


def spelled(draw, text):
    """The same in JSON, with some letters written as numbers, perhaps as a text within a text."""
    how = draw.choice(["\\u{:04x}", "\\u{:04X}", "\\x{:02x}"])
    text = "".join(letter if draw.random() < 0.7 else how.format(ord(letter)) for letter in text)
    return draw.choice(['{{"a": "{}"}}', '{{"{}": [1]}}']).format(draw.choice([text, json.dumps(text)[1:-1]]))


def noted(draw, token):
    """A table that says a secret of itself or of a column, perhaps after a long text."""
    note = {"note": draw.choice(["", "é" * 300, "a " * 9_999]) + token}
    table = pyarrow.table({"text": ["a"], "more": [[{"b": "c"}]]})
    if draw.random() < 0.3:
        return table.replace_schema_metadata(note)
    place = draw.randrange(2)
    return table.cast(table.schema.set(place, table.schema.field(place).with_metadata(note)))


def with_secret(draw, folder):
    token = secret(draw)
    kind = draw.randrange(8)
    if kind == 0:
        path = folder / draw.choice(["data/more.parquet", "data/train-00001-of-00002.parquet", "rows.parquet"])
        path.parent.mkdir(exist_ok=True)
        value = draw.choice([token, [token], {"a": [{"b": token}]}])
        rows = [{"text": value} for _ in range(draw.randint(1, 9))]
        how = draw.choice(["none", "snappy", "gzip", "zstd"])
        table = noted(draw, token) if draw.random() < 0.3 else pyarrow.Table.from_pylist(rows)
        if draw.random() < 0.3:
            words = pyarrow.array([token, "a"]).dictionary_encode()
            lists = pyarrow.ListArray.from_arrays(pyarrow.array([0, 1, 2], pyarrow.int32()), words)
            table = pyarrow.table({"text": draw.choice([words, lists])})
        pyarrow.parquet.write_table(table, path, compression=how)
        return path
    if kind == 1:
        path = folder / draw.choice(["extra.safetensors", "model-00001-of-00002.safetensors"])
        save_file({"weight": numpy.zeros(2)}, path, metadata={"note": draw.choice(AROUND).format(token)})
        return path
    text = draw.choice(AROUND).format(token)
    if kind == 2:
        return write(random_path(draw, folder, SUFFIXES), hidden_in_bytes(draw, text.encode()))
    if kind == 6:
        return write(random_path(draw, folder / f"{draw.choice(['', 'x', 'a/', 'v1-'])}{token}", SUFFIXES), "harmless")
    if kind == 7:
        return write(random_path(draw, folder, SUFFIXES), spelled(draw, token).encode(draw.choice(ENCODINGS)))
    if kind == 3:  # appended to what is there
        path = draw.choice([path for path in sorted(folder.rglob("*")) if path.suffix in (".py", ".md", ".json")])
        return write(path, path.read_bytes() + f"\n# {text}\n".encode())
    return write(random_path(draw, folder, SUFFIXES), text.encode(draw.choice(ENCODINGS)))


def with_pickle(draw, folder):
    objects = [len, functools.partial(len, 1), Exception("x"), {"state": os.getcwd}, {"a": [1], "f": len}]
    chosen = draw.choice(objects)
    content = pickle.dumps(chosen, protocol=draw.randrange(pickle.HIGHEST_PROTOCOL + 1))
    if chosen in objects[1:3] and draw.random() < 0.3:  # it calls, and then breaks
        content = content[:-1] + b"\xff" + draw.randbytes(9)
    packers = [lambda raw: raw, lambda raw: raw, gzip.compress, lzma.compress, zlib.compress]
    content = draw.choice(packers)(content * draw.choice([1, 1, 20]))
    suffix = draw.choice(PICKLE_SUFFIXES)
    path = random_path(draw, folder, [suffix, suffix.upper(), suffix.title(), *SUFFIXES])
    if draw.random() < 0.15:
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("archive/data.pkl", content)
        return path
    return write(path, content)


def with_link(draw, folder):
    outside = write(folder.parent / "outside" / "README.md", "harmless")
    if draw.random() < 0.3:
        path = folder / draw.choice(["more", "data2", "assets"])
        path.symlink_to(draw.choice([outside.parent, os.path.relpath(outside.parent, folder)]))
        return path / outside.name
    path = random_path(draw, folder, SUFFIXES)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(outside)
    if draw.random() < 0.3:  # a link to a link
        again = path.with_name("again.md")
        again.symlink_to(path.name)
        return again
    return path


def harmless(draw, folder):
    content = None
    while content is None or imports_something(content):
        text = "".join(draw.choices(string.printable, k=draw.randrange(2_000)))
        content = draw.choice([text, "hf_token, AKIA and sk-learn", "", "N.", "hf_" + "a" * 20])
    return write(random_path(draw, folder, [".log", ".md", ".txt", ".py", ".yaml", ".csv", ""], ["LICENSE"]), content)


def imports_something(content):
    """Whether this is a pickle by chance, such as a text that begins with `c` and has a full stop in its third line."""
    imported = []

    class Reader(pickle._Unpickler):  # the one in C makes room for as many objects as random bytes say
        def find_class(self, module, name):
            imported.append(module)
            return str

    with contextlib.suppress(Exception):
        Reader(io.BytesIO(content.encode() if isinstance(content, str) else content)).load()
    return bool(imported)


USUAL = ["LICENSE", "results.json", "run.json", "vocab.txt", "requirements.txt", "trainer_state.json", "logo.svg"]


def random_path(draw, folder, suffixes, usual=USUAL):
    """A name of its own, or one that belongs to some kind of repository."""
    name = draw.choice([*usual, *["notes" + draw.choice(suffixes) for _ in usual], *["notes" + suffixes[0]] * 3])
    return folder / draw.choice(HOMES) / name


POISONS = {"secret": with_secret, "pickle": with_pickle, "link": with_link}


def folder_of(attempt):
    kind = attempt.random.choice([model, data_set, space])
    folder = attempt.folder / "mine"
    folder.mkdir()
    kind(folder)
    return folder


def pattern_for(draw, folder, path):
    """`--include` of this file: by its name, by a pattern, or by everything; or none."""
    name = path.relative_to(folder).as_posix()
    return draw.choice([(), (name,), (f"*{path.name}",), ("*",)])


def test_nothing_poisonous_is_pushed(attack):
    for attempt in attack.tries(70):
        draw, folder = attempt.random, folder_of(attempt)
        kind = draw.choice(sorted(POISONS))
        path = POISONS[kind](draw, folder)
        include = pattern_for(draw, folder, path)
        try:
            content = read_folder(folder, include)
        except PushError as error:
            assert str(error).count("\n") == 0, str(error)
            continue
        assert path not in content.files.values(), (kind, path, include)
        assert not include, (kind, path, include)


def test_what_is_harmless_goes_if_it_is_asked_for(attack):
    for attempt in attack.tries(35):
        folder = folder_of(attempt)
        path = harmless(attempt.random, folder)
        name = path.relative_to(folder).as_posix()
        assert read_folder(folder, [name]).files[name] == path

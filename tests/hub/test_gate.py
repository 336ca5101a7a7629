"""What may leave a folder: what is read as its kind, without a secret."""

import gzip
import io
import lzma
import pickle
import zlib

import numpy
import pyarrow
import pyarrow.parquet
import pytest
from safetensors.numpy import save_file

from hf_symbinv.hub import PushError, gate
from hf_symbinv.hub.gate import PRIVATE_KEY, check_files, secret_in

# A made-up secret of each kind, as its issuer's documentation shows them.
SECRETS = {
    "Hugging Face": "hf_" + "aB3" * 11 + "x",
    "GitHub": "ghp_" + "aB3" * 12,
    "GitLab": "glpat-" + "aB3-" * 5,
    "OpenAI": "sk-proj-" + "aB3_" * 12,
    "Anthropic": "sk-ant-api03-" + "aB3-" * 20,
    "AWS": "AKIA" + "AB3D" * 4,
    "Google": "AIza" + "aB3-x" * 7,
    "Slack": "xoxb-1234567890-" + "aB3" * 8,
    "Stripe": "sk_live_" + "aB3" * 8,
    "PyPI": "pypi-AgEIcHlwaS5vcmc" + "aB3-" * 20,
    "npm": "npm_" + "aB3" * 12,
    "Weights & Biases": "wandb_v1_" + "aB3_" * 12,
    "JSON Web": "eyJ" + "aB3" * 6 + ".eyJ" + "aB3" * 6 + "." + "aB3" * 6,
    PRIVATE_KEY: "-----BEGIN OPENSSH PRIVATE KEY-----",
}
# What stands before and after a secret.
PLACES = ["{}", "token={}\n", '{{"source": ["line\\n{}"]}}', "<p>{}</p>", "x{}", "'{}'"]


def refusal(path) -> str:
    with pytest.raises(PushError) as caught:
        check_files(path.parent, [path])
    return str(caught.value).removeprefix(f"{path}: ")


def test_every_kind_of_secret_has_an_example():
    assert set(SECRETS) == set(gate.SECRETS)


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("place", PLACES)
def test_a_secret_is_found_wherever_it_stands(kind, place):
    assert secret_in([place.format(SECRETS[kind]).encode()]) == kind


@pytest.mark.parametrize("name", ["{}/notes.md", "a/x{}y/b/notes.md", "a/{}.md"])
def test_the_names_of_folders_and_files_are_scanned(tmp_path, name):
    path = tmp_path / name.format(SECRETS["Hugging Face"])
    path.parent.mkdir(parents=True)
    path.write_text("harmless")
    with pytest.raises(PushError, match=r": holds an access token \(Hugging Face\)"):
        check_files(tmp_path, [path])


def test_the_name_of_the_folder_that_is_pushed_is_not(tmp_path):
    folder = tmp_path / SECRETS["Hugging Face"]
    folder.mkdir()
    (folder / "notes.md").write_text("harmless")
    check_files(folder, [folder / "notes.md"])


@pytest.mark.parametrize(
    ("name", "before", "encoding"),
    [
        *[(name, "", "utf-8") for name in ("a.log", "a.html", ".env", "a.py", "a", "a.json")],
        ("a.png", "\x89PNG\r\n\x1a\n\xff", "latin-1"),
    ],
)
def test_every_file_is_scanned_whatever_its_name(tmp_path, name, before, encoding):
    (tmp_path / name).write_bytes(f"{before}{SECRETS[PRIVATE_KEY]}".encode(encoding))
    assert refusal(tmp_path / name) == "holds a private key; remove it, and make it invalid on its service"
    (tmp_path / name).write_bytes(f'{before}["{SECRETS["GitHub"]}"]\n'.encode(encoding))
    assert refusal(tmp_path / name) == "holds an access token (GitHub); remove it, and make it invalid on its service"


def test_texts_in_tables_and_in_the_header_of_weights_are_scanned(tmp_path):
    table, weights = tmp_path / "rows.parquet", tmp_path / "model.safetensors"
    rows = [{"text": "harmless", "more": [{"deep": "z"}]}, {"text": "", "more": [{"deep": SECRETS["Hugging Face"]}]}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), table, compression="zstd")
    save_file({"a": numpy.zeros(3)}, weights, metadata={"note": SECRETS["AWS"]})
    assert refusal(table).startswith("holds an access token (Hugging Face)")
    assert refusal(weights).startswith("holds an access token (AWS)")


def texts(secret):
    """Columns of the types in which a table has texts, each with the secret."""
    plain = pyarrow.array(["a", secret, "a"])
    words, offsets = plain.dictionary_encode(), pyarrow.array([0, 1, 3], pyarrow.int32())
    record = pyarrow.StructArray.from_arrays([words], ["word"])
    yield from {
        "text": plain,
        "view": plain.cast(pyarrow.string_view()),
        "dictionary": words,
        "keys": pyarrow.MapArray.from_arrays(offsets, words, pyarrow.array(["x", "y", "z"])),
        "list-of-structs": pyarrow.ListArray.from_arrays(offsets, record),
    }.items()


@pytest.mark.parametrize(("kind", "column"), [pytest.param(*one, id=one[0]) for one in texts(SECRETS["npm"])])
def test_a_column_is_scanned_whatever_its_type(tmp_path, kind, column):
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": column}), path)
    assert refusal(path).startswith("holds an access token (npm)"), kind
    pyarrow.parquet.write_table(pyarrow.table({"text": dict(texts("harmless"))[kind]}), path)
    check_files(tmp_path, [path])


@pytest.mark.parametrize(
    "text", ["hf_transfer", "task-" + "with-a-long-name-" * 4, "sk-learn", "AKIA", "eyJ.eyJ.x", "ghp_"]
)
def test_words_that_begin_like_a_secret_are_none(text):
    assert secret_in([text.encode()]) is None


def no_texts():
    raw = pickle.dumps({"loads": len})
    yield from {"gz": gzip.compress(raw), "lzma": lzma.compress(raw, lzma.FORMAT_ALONE), "hdf": b"\x89HDF\r\n"}.items()
    yield from {"pickle": raw, "zlib": zlib.compress(raw * 20), "utf-16": "a".encode("utf-16"), "nul": b"a\0"}.items()
    for kind, write in {"npy": numpy.save, "npz": numpy.savez}.items():
        buffer = io.BytesIO()
        write(buffer, numpy.array([len], dtype=object), allow_pickle=True)
        yield kind, buffer.getvalue()


# Some of them hold the time, so that contents are no names of tests.
@pytest.mark.parametrize(("kind", "content"), [pytest.param(*one, id=one[0]) for one in no_texts()])
def test_what_is_not_read_as_its_kind_does_not_pass(tmp_path, kind, content):
    texts = dict.fromkeys(("notes.txt", "notes.bin", "run.json"), "is neither text in UTF-8 nor")
    for name, said in {**texts, "a.safetensors": "damaged (", "a.parquet": "damaged ("}.items():
        (tmp_path / name).write_bytes(content)
        assert refusal(tmp_path / name).startswith(said), (kind, name)


def test_a_link_inside_the_folder_passes(tmp_path):
    (tmp_path / "README.md").write_text("# Ours\n")
    (tmp_path / "LICENSE").symlink_to("README.md")
    check_files(tmp_path, [tmp_path / "LICENSE"])

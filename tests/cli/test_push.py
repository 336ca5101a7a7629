"""`symbinv push` brings a folder to the Hub in one commit, or says in one sentence why not and changes nothing."""

import json
import pickle
import shutil
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

import hf_symbinv
from hf_symbinv.auto_classes import AUTO_CLASSES
from hf_symbinv.hub.folders import MODEL_TYPES

from ..hub.fixtures import STRANGER, TOKEN


@pytest.fixture
def model(checkpoint, tmp_path):
    """A folder as a training run leaves it."""
    folder = tmp_path / "run"
    shutil.copytree(checkpoint, folder)
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n# Tiny\n")
    (folder / "run.json").write_text("{}\n")
    (folder / "checkpoint-10").mkdir()
    (folder / "checkpoint-10" / "optimizer.pt").write_bytes(b"pickle")
    (folder / "checkpoint-10" / "model.safetensors").touch()
    (folder / "training_args.bin").write_bytes(b"pickle")
    (folder / ".hidden").write_text("")
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    from hf_symbinv.datasets_scripts.command import main

    folder = tmp_path_factory.mktemp("data") / "copy"
    sizes = ["--num-symbols", "2", "--min-size", "2", "--max-size", "5", "--rows", "40"]
    assert main(["--task", "copy", "--output", str(folder), "--workers", "1", *sizes]) == 0
    return folder


@pytest.fixture
def data(built, tmp_path):
    return Path(shutil.copytree(built, tmp_path / "copy"))


class TestWhatIsPushed:
    def test_a_model_goes_with_its_code_and_its_record_and_without_pickles(self, hub, symbinv, model):
        result = symbinv("push", model, "alice/tiny")
        files = hub["model", "alice/tiny"].files()
        pushed = {path.name for path in model.iterdir()} - {"checkpoint-10", "training_args.bin", ".hidden"}
        assert (result.code, result.out) == (0, f"alice/tiny: model, {len(pushed)} files\n")
        assert set(files) == pushed | {".gitattributes"}
        assert all(files[name] == (model / name).read_bytes() for name in pushed)
        assert "left here: checkpoint-10/, training_args.bin\n" in result.err
        assert f"{hub.endpoint}/alice/tiny\n" in result.err
        assert not hub["model", "alice/tiny"].private

    def test_a_dry_run_lists_what_goes_refuses_what_may_not_and_asks_nobody(self, symbinv, model, monkeypatch):
        monkeypatch.setattr("huggingface_hub.HfApi", None)
        listed = symbinv("push", model, "alice/tiny", "--dry-run")
        *paths, last = listed.out.splitlines()
        assert set(paths) == {path.name for path in model.iterdir()} - {"checkpoint-10", "training_args.bin", ".hidden"}
        assert (listed.code, last) == (0, f"alice/tiny: model, {len(paths)} files would go")
        assert listed.err == "symbinv push: would stay here: checkpoint-10/, training_args.bin\n"
        assert symbinv("push", model, "alice/-tiny", "--dry-run").code == 2
        (model / "model.safetensors").unlink()
        assert symbinv("push", model, "alice/tiny", "--dry-run").code == 2

    def test_a_data_set_goes_with_its_card_and_its_tables(self, hub, symbinv, data):
        result = symbinv("push", data, "alice/copy", "--private")
        assert result.code == 0 and ": dataset, " in result.out and hub["dataset", "alice/copy"].private
        files = hub["dataset", "alice/copy"].files()
        assert files["README.md"] == (data / "README.md").read_bytes()
        assert {path for path in files if path.startswith("data/")} == {
            f"data/{split}-00000-of-00001.parquet" for split in ("train", "validation", "test")
        }

    def test_a_space_goes_with_all_its_folders_and_without_pickles(self, hub, symbinv, tmp_path):
        for name in ("app.py", "model/config.json", "model/old.bin", "__pycache__/app.pyc", ".cache/notes.txt"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text("{}")
        (tmp_path / "README.md").write_text("---\nsdk: static\n---\n# Ours\n")
        result = symbinv("push", tmp_path, "alice/ours")
        assert (result.code, result.out) == (0, "alice/ours: space, 3 files\n")
        assert "left here: model/old.bin\n" in result.err
        space = hub["space", "alice/ours"]
        assert space.sdk == "static"
        assert set(space.files()) == {".gitattributes", "README.md", "app.py", "model/config.json"}

    def test_the_demo_goes_whole(self, hub, symbinv):
        folder = Path(__file__).parents[2] / "examples" / "space"
        assert symbinv("push", folder, "alice/demo").code == 0
        files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
        ours = {name: path.read_bytes() for name, path in files.items() if "__pycache__" not in name}
        assert hub["space", "alice/demo"].sdk == "gradio"
        assert {name: content for name, content in hub["space", "alice/demo"].files().items() if name[0] != "."} == ours

    def test_what_does_not_belong_to_a_model_goes_only_if_it_is_asked_for(self, hub, symbinv, model):
        for name in ("notes.txt", "train.log", "plots/loss.svg", "plots/old/loss [1].svg"):
            (model / name).parent.mkdir(parents=True, exist_ok=True)
            (model / name).write_text("harmless")
        result = symbinv("push", model, "alice/tiny")
        assert result.code == 0
        assert result.err.splitlines()[0].endswith(
            "left here: checkpoint-10/, notes.txt, plots/, train.log, training_args.bin"
        )
        before = set(hub["model", "alice/tiny"].files())
        result = symbinv("push", model, "alice/tiny", "--include", "plots/*")
        assert result.code == 0 and "left here: checkpoint-10/, notes.txt, train.log, training_" in result.err
        added = set(hub["model", "alice/tiny"].files()) - before
        assert added == {"plots/loss.svg", "plots/old/loss [1].svg"}

    def test_a_branch_is_made_and_leaves_main_alone(self, hub, symbinv, model):
        assert symbinv("push", model, "alice/tiny").code == 0
        before = hub["model", "alice/tiny"].resolve("main")
        (model / "run.json").write_text('{"seed": 2}\n')
        result = symbinv("push", model, "alice/tiny", "--revision", "seed-2")
        assert result.code == 0 and result.out.endswith(" files, branch seed-2\n")
        repository = hub["model", "alice/tiny"]
        assert repository.resolve("main") == before
        assert repository.files("seed-2")["run.json"] == b'{"seed": 2}\n'

    def test_pushing_the_same_again_makes_no_commit_and_sends_no_weights(self, hub, symbinv, model):
        assert symbinv("push", model, "alice/tiny").code == 0
        repository, commits = hub["model", "alice/tiny"], len(hub["model", "alice/tiny"].commits)
        hub.requests.clear()
        assert symbinv("push", model, "alice/tiny").code == 0
        assert len(repository.commits) == commits
        assert not [request for request in hub.requests if request.startswith("PUT") or "/commit/" in request]

    def test_tables_and_weights_of_an_earlier_push_do_not_stay(self, hub, symbinv, data, model):
        old = {"data/train-00000-of-00002.parquet": b"old", "notes.txt": b"mine"}
        hub.put("dataset", "alice/copy", old)
        hub.put("model", "alice/tiny", {"model-00001-of-00002.safetensors": b"", "model.safetensors.index.json": b"{}"})
        assert symbinv("push", data, "alice/copy").code == symbinv("push", model, "alice/tiny").code == 0
        files = hub["dataset", "alice/copy"].files()
        assert "data/train-00000-of-00002.parquet" not in files and files["notes.txt"] == b"mine"
        assert [name for name in hub["model", "alice/tiny"].files() if "safetensors" in name] == ["model.safetensors"]


def test_every_family_of_the_package_can_be_pushed():
    assert set(MODEL_TYPES) == {getattr(hf_symbinv, name).config_class.model_type for name in AUTO_CLASSES}


def written(name, text):
    return lambda folder: (folder / name).write_text(text)


def gone(name):
    return lambda folder: (folder / name).unlink()


def halved(name):
    def halve(folder):
        (folder / name).write_bytes((content := (folder / name).read_bytes())[: len(content) // 2])

    return halve


def flipped(folder):
    """One bit of a table is another."""
    content = bytearray((folder / TABLE).read_bytes())
    content[40] ^= 1
    (folder / TABLE).write_bytes(content)


def without_code(folder):
    content = json.loads((folder / "config.json").read_text())
    del content["auto_map"]
    (folder / "config.json").write_text(json.dumps(content))


def linked(folder):
    """A file of the folder is a link to one outside."""
    (folder.parent / "secret.json").write_text("{}")
    (folder / "results.json").symlink_to(folder.parent / "secret.json")


def folder_linked(folder):
    (folder / "data").rename(folder.parent / "tables")
    (folder / "data").symlink_to("../tables")


TABLE, AGAIN = "data/train-00000-of-00001.parquet", "save the model again with save_pretrained"
# What lies in the folder, what happens to it, and the sentence, in which `{}` is the folder and `*` anything.
REFUSED = [
    ("empty", Path.rmdir, "{}: no such folder; pass one that holds a model, a data set or a Space"),
    (
        "empty", Path.exists, "{}: holds nothing that can be pushed; pass the folder of a model (config.json), of a "
        "data set (data/[*].parquet), or of a Space (README.md with sdk in its first lines)",
    ),
    (
        "empty", written("README.md", "---\nsdk: gradio\napp_file: main.py\n---\n"),
        "{}: has no main.py, which is its app; write it, or name another as app_file in README.md",
    ),
    ("empty", written("README.md", "---\n- sdk\n---\n"), "{}/README.md: its first lines are damaged (*); correct*"),
    (
        "model", halved("model.safetensors"),
        "{}/model.safetensors: damaged (*); save the model again or copy the file anew",
    ),
    ("model", gone("model.safetensors"), f"{{}}: has no model.safetensors; {AGAIN}"),
    (
        "model", written("model.safetensors.index.json", '{"weight_map": {"a": "model-1.safetensors"}}'),
        f"{{}}: has no model-1.safetensors; {AGAIN}",
    ),
    (
        "model", gone("modeling_symbinv.py"),
        "{}: has no modeling_symbinv.py, which its config.json names; save the model again",
    ),
    ("model", without_code, "{}/config.json: has no auto_map, so that nobody without*"),
    ("model", written("config.json", "{"), "{}/config.json: *; save the model again"),
    ("model", written("config.json", "[]"), "{}/config.json: *; save the model again"),
    (
        "model", written("config.json", '{"model_type": "t5"}'),
        "{}: its model type is 't5', which is none of this package's; push it with `hf upload`",
    ),
    (
        "model", written("run.json", f'{{"command": "train hub_token={TOKEN}"}}'),
        "{}/run.json: holds an access token (Hugging Face); remove it, and make it invalid on the Hub",
    ),
    (
        "model", linked, "{}/results.json: is a link to *secret.json, outside the folder; put the file itself there, "
        "or remove it",
    ),
    (
        "data", flipped, f"{{}}/{TABLE}: damaged (its checksum is not the one in README.md); put it back as it was or "
        "make the data set again",
    ),
    ("data", gone(TABLE), f"{{}}/{TABLE}: is missing, and README.md lists it; *"),
    (
        "data", gone("README.md"), "{}: has no README.md, so it is not complete; repeat the `symbinv data` that makes "
        "it",
    ),
    (
        "data", folder_linked, "{}/data: is a link to the folder ../tables; put the folder itself there, or remove it"
    ),
]  # fmt: skip


class TestFoldersThatAreRefused:
    """Before anything is asked of the Hub."""

    @pytest.fixture
    def refusal(self, hub, symbinv):
        def refuse(folder, name="alice/tiny", *options):
            result = symbinv("push", folder, name, *options)
            assert result.code == 2 and result.out == "" and result.err.count("\n") == 1
            assert not hub.requests and not hub.repositories
            return result.err.removeprefix("symbinv push: ").rstrip("\n")

        return refuse

    @pytest.mark.parametrize(("holds", "harm", "sentence"), REFUSED)
    def test_the_sentence_names_the_place_and_the_remedy(self, refusal, request, tmp_path, holds, harm, sentence):
        (tmp_path / "empty").mkdir()
        folder = tmp_path / "empty" if holds == "empty" else request.getfixturevalue(holds)
        harm(folder)
        assert fnmatchcase(refusal(folder), sentence.replace("{}", str(folder)))

    def test_what_is_asked_for_must_be_there_and_no_pickle(self, refusal, model):
        assert refusal(model, "alice/tiny", "--include", "onnx/*") == (
            f"--include onnx/*: no file in {model} has such a path; correct the pattern"
        )
        (model / "training_args.bin").write_bytes(pickle.dumps({"loads": len}))
        assert refusal(model, "alice/tiny", "--include", "*.bin") == (
            f"{model / 'training_args.bin'}: is neither text in UTF-8 nor safetensors, Parquet, PNG or JPEG; "
            "save it as one of these, or remove it"
        )

    @pytest.mark.parametrize("name", ["tiny", "alice/", "/tiny", "a/b/c", "alice/-x", "alice/t..y"])
    def test_a_name_that_no_repository_can_have(self, refusal, model, name):
        message = refusal(model, name)
        assert message.startswith(f"{name!r}: no name of a repository") and message.endswith("write OWNER/NAME")


STEPS = [
    ("POST", "/preupload/", 1_000), ("POST", "/lfs/objects/batch", 10), ("PUT", "/lfs/", 1_000),
    ("POST", "/lfs/.*/verify", 10), ("POST", "/commit/", 1_000),
]  # fmt: skip


class TestPushesThatFail:
    @pytest.fixture
    def before(self, hub, symbinv, model):
        """An earlier push of the model; what is pushed next has other weights and another record."""
        import torch
        from safetensors.torch import load_file, save_file

        assert symbinv("push", model, "alice/tiny").code == 0
        files = hub["model", "alice/tiny"].files()
        weights = load_file(model / "model.safetensors")
        save_file({name: torch.zeros_like(tensor) for name, tensor in weights.items()}, model / "model.safetensors")
        (model / "run.json").write_text('{"seed": 2}\n')
        return files

    @pytest.mark.parametrize(("method", "path", "size"), STEPS)
    @pytest.mark.parametrize("how", ["cut", "status"])
    def test_the_repository_stays_as_it_was_and_a_retry_finishes(
        self, hub, symbinv, model, before, method, path, size, how
    ):  # fmt: skip
        hub.fail(method, path, status=500, times=99, cut=size if how == "cut" else None)
        result = symbinv("push", model, "alice/tiny")
        assert result.code == 2 and result.out == "" and result.err.count("\n") == 1
        assert ("cannot be reached" if how == "cut" else "fails with status 500") in result.err
        assert hub["model", "alice/tiny"].files() == before
        hub.failures.clear()
        assert symbinv("push", model, "alice/tiny").code == 0
        files = hub["model", "alice/tiny"].files()
        assert files["model.safetensors"] == (model / "model.safetensors").read_bytes() != before["model.safetensors"]
        assert files["run.json"] == b'{"seed": 2}\n'

    @pytest.mark.parametrize("token", [STRANGER, None])
    def test_a_wrong_token_or_none(self, hub, symbinv, model, monkeypatch, token):
        monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(model / "no-such-file"))
        monkeypatch.delenv("HF_TOKEN") if token is None else monkeypatch.setenv("HF_TOKEN", token)
        result = symbinv("push", model, "alice/tiny")
        assert result.code == 2 and not hub.repositories
        assert result.err == (
            "symbinv push: alice/tiny: the Hub does not accept the token; set HF_TOKEN or run `hf auth login`\n"
        )

    def test_offline_mode(self, hub, symbinv, model, monkeypatch):
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        result = symbinv("push", model, "alice/tiny")
        assert (result.code, result.err) == (
            2, "symbinv push: alice/tiny: offline mode is on; unset HF_HUB_OFFLINE, or use a folder\n",
        )  # fmt: skip

    def test_a_public_repository_does_not_become_private(self, hub, symbinv, model, before):
        result = symbinv("push", model, "alice/tiny", "--private")
        assert (result.code, result.err) == (
            2,
            "symbinv push: alice/tiny: exists and is public; make it private in its settings on the Hub, or leave out "
            "--private\n",
        )
        assert hub["model", "alice/tiny"].files() == before

    def test_a_card_whose_first_lines_are_damaged(self, hub, symbinv, model):
        (model / "README.md").write_text("---\nlicense: [\n---\n")
        result = symbinv("push", model, "alice/tiny")
        assert result.code == 2 and result.err.count("\n") == 1
        assert result.err.startswith(
            f"symbinv push: {model / 'README.md'}: Invalid metadata in README.md. - YAML parse"
        )
        assert result.err.endswith("; correct its first lines\n")
        assert set(hub["model", "alice/tiny"].files()) == {".gitattributes"}

    def test_a_card_without_metadata_is_pushed_and_the_hub_s_warning_passed_on(self, hub, symbinv, model):
        (model / "README.md").write_text("# Tiny\n")
        result = symbinv("push", model, "alice/tiny")
        assert result.code == 0 and "empty or missing yaml metadata in repo card" in result.err

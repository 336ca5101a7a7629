"""The public names, the distributions, which hold every file once, and the versions that they ask for."""

import email
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import hf_symbinv
import hf_symbinv.training
from hf_symbinv.extras import EXTRAS

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {
    "hf_symbinv": "hf_symbinv",
    "modeling": "hf_symbinv/modeling",
    "datasets_scripts": "hf_symbinv/datasets_scripts",
}


def python(program, *, interpreter=sys.executable, cwd=None, **environment):
    """What a program prints, run in a fresh interpreter with warnings as errors."""
    result = subprocess.run(
        [interpreter, "-W", "error", "-c", program], cwd=cwd, capture_output=True, text=True, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


class TestPublicNames:
    @pytest.mark.parametrize(
        ("package", "name"),
        [(package, name) for package in (hf_symbinv, hf_symbinv.training) for name in package.__all__],
    )
    def test_every_public_name_can_be_imported(self, package, name):
        assert getattr(package, name).__doc__ and name in dir(package)

    @pytest.mark.parametrize("package", [hf_symbinv, hf_symbinv.training])
    def test_an_unknown_name_is_an_attribute_error(self, package):
        with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'Formulas'"):
            _ = package.Formulas

    @pytest.mark.slow
    def test_type_checkers_know_what_each_name_is(self, tmp_path):
        program = tmp_path / "program.py"
        program.write_text(
            "import hf_symbinv\n"
            "from hf_symbinv import SymbolInvariantConfig\n"
            "from hf_symbinv.training import Recipe\n"
            "reveal_type(SymbolInvariantConfig().base_vocab_size)\n"
            "reveal_type(hf_symbinv.parse('a'))\n"
            "reveal_type(Recipe)\n"
            "hf_symbinv.Missing\n"
        )
        # With the cache of `make check`, which mypy itself keeps up to date.
        options = ["--config-file", str(ROOT / "pyproject.toml")]
        result = subprocess.run(
            [sys.executable, "-m", "mypy", *options, str(program)],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        revealed = [line.partition(": ")[2] for line in result.stdout.splitlines()]
        assert revealed[:2] == [
            'note: Revealed type is "int"',
            'note: Revealed type is "hf_symbinv.logic.formula.Formula"',
        ]
        assert "hf_symbinv.training.recipe.Recipe" in revealed[2]
        assert revealed[3] == 'error: Module has no attribute "Missing"  [attr-defined]'


def source_files():
    """Where an installation puts every module and data file; linked folders are listed where they really are."""
    data, suffixes = {"py.typed", "README.md"}, {".py", ".pyi", ".yaml", ".jinja", ".tab", ".bib", ".ltl"}
    found = {"symbinv.py"}
    for folder, package in PACKAGES.items():
        for path in (ROOT / folder).rglob("*"):
            inside = path.relative_to(ROOT / folder)
            if not path.is_file() or "__pycache__" in path.parts:
                continue
            is_model = inside.parts[0] == "checkpoints"
            if path.suffix in suffixes or path.name in data or is_model:
                found.add((Path(package) / inside).as_posix())
    return found


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """The sdist's names, the wheel built from it and the wheel's names; from a copy of the tree, without network."""
    work = tmp_path_factory.mktemp("distributions")
    tree, out = work / "tree", work / "out"
    tree.mkdir()
    # With what is to stay out, too.
    for name in (*PACKAGES, "papers", "tests", "symbinv.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, tree / name)
    build = "import sys, setuptools.build_meta as backend; backend.build_{}(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build.format("sdist"), str(out)], cwd=tree, check=True, capture_output=True)
    with tarfile.open(next(out.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        archive.extractall(work / "sdist", filter="data")
    (unpacked,) = (work / "sdist").iterdir()
    subprocess.run(
        [sys.executable, "-c", build.format("wheel"), str(out)], cwd=unpacked, check=True, capture_output=True
    )
    wheel = next(out.glob("*.whl"))
    return names, wheel, zipfile.ZipFile(wheel).namelist()


@pytest.fixture(scope="module")
def base_install(distributions, tmp_path_factory):
    """An interpreter with the wheel, what it requires without extras, what that requires, and nothing else."""
    _, wheel, _ = distributions
    venv = tmp_path_factory.mktemp("base") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    interpreter = venv / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(interpreter), "install"]
    subprocess.run([*pip, "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    (site,) = (venv / "lib").glob("python*/site-packages")
    (info,) = site.glob("hf_symbinv-*.dist-info")
    for distribution in closure(metadata.Distribution.at(info).requires):
        for top in {file.parts[0] for file in distribution.files} - {"..", "__pycache__"}:
            (site / top).symlink_to(distribution.locate_file(top))
    return interpreter, site


def test_every_folder_with_modules_is_listed_as_a_package():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {Path(package).parent for package in source_files() - {"symbinv.py"} if package.endswith(".py")}
    assert sorted(settings["packages"]) == sorted(
        ".".join(folder.parts) for folder in folders if "checkpoints" not in folder.parts
    )


@pytest.mark.slow
class TestDistributions:
    def test_the_wheel_made_from_the_sdist_holds_every_file_once(self, distributions):
        _, _, names = distributions
        installed = [name for name in names if ".dist-info/" not in name]
        assert sorted(installed) == sorted(source_files())

    def test_papers_and_tests_are_in_neither_distribution(self, distributions):
        sdist, _, wheel = distributions
        assert {name.partition("/")[0] for name in wheel} == {
            "hf_symbinv",
            "symbinv.py",
            f"hf_symbinv-{hf_symbinv.__version__}.dist-info",
        }
        assert not [name for name in sdist if name.startswith(("papers", "tests"))]

    def test_the_sdist_holds_the_outer_packages_once(self, distributions):
        names, _, _ = distributions
        assert "modeling/modeling_symbinv.py" in names and "LICENSE" in names
        assert not [name for name in names if name.startswith(("hf_symbinv/modeling", "hf_symbinv/datasets_scripts"))]

    def test_the_wheel_declares_license_and_command(self, distributions):
        _, wheel, names = distributions
        info = next(name for name in names if name.endswith(".dist-info/METADATA"))
        with zipfile.ZipFile(wheel) as archive:
            metadata = email.message_from_bytes(archive.read(info))
            commands = archive.read(info.replace("METADATA", "entry_points.txt")).decode()
        assert metadata["License-Expression"] == "Apache-2.0" and metadata["Version"] == hf_symbinv.__version__
        assert "symbinv = symbinv:main" in commands

    def test_a_base_install_loads_and_runs_a_checkpoint(self, base_install, tmp_path):
        interpreter, site = base_install
        program = """if True:
            import hf_symbinv, hf_symbinv.cli
            from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
            from pathlib import Path
            home = Path(hf_symbinv.__file__).parent
            folder = home / "checkpoints" / "ltl-small"
            model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
            ids = model.generate(**tokenizer(["&aXb"], return_tensors="pt"), max_new_tokens=20)
            text = tokenizer.decode(ids[0], symbols=["a", "b"], skip_special_tokens=True)
            print(home, type(model).__module__, text)"""
        answer = "a;b;{1}"  # what README.md shows
        assert python(program, interpreter=str(interpreter), cwd=tmp_path, PYTHONPATH="") == [
            f"{site}/hf_symbinv", "hf_symbinv.modeling.modeling_symbinv", answer,
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("arguments", "extra"),
        [
            (["solve", "a"], "logic"),
            (["data", "--output", "new"], "data"),
            (["evaluate", "ltl-small", "--data", "."], "logic"),
            (["train", "ltl-smoke", "--output", "new"], "train"),
        ],
    )
    def test_what_needs_an_extra_says_which(self, base_install, tmp_path, arguments, extra):
        interpreter, _ = base_install
        command = [str(interpreter.with_name("symbinv")), *arguments]
        environment = {**os.environ, "PYTHONPATH": ""}
        result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert (result.returncode, result.stdout) == (2, ""), result.stderr
        assert result.stderr.count("\n") == 1 and f"pip install '.[{extra}]'" in result.stderr


def closure(requirements):
    """The installed distributions that these requirements and theirs ask for here, without extras."""
    found, names = {}, list(requirements)
    while names:
        requirement = Requirement(names.pop())
        name = canonicalize_name(requirement.name)
        if name not in found and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            found[name] = metadata.distribution(requirement.name)
            names += found[name].requires or []
    return found.values()


class TestVersions:
    PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    LISTED = [
        *PROJECT["dependencies"],
        *(line for extra in PROJECT["optional-dependencies"].values() for line in extra),
    ]
    # What checks and builds the package and its documentation; the demo and the trackers, which
    # are tested with the newest version alone; and torch, of which there is one build here that is small enough, while
    # its bound is transformers' own, with the Triton that goes with it.
    DOCUMENTATION = {"furo", "ipykernel", "myst-nb", "nbclient", "sphinx"}
    NEWEST_ALONE = {"mypy", "onnxruntime", "onnxscript", "parameterized", "ruff", "setuptools", "timeout-decorator",
                    "gradio", "playwright", "torch", "trackio", "triton",
                    "wandb", *DOCUMENTATION}  # fmt: skip
    # Bounds whose own release was withdrawn from PyPI; the lowest that is tested is the next one.
    WITHDRAWN = {"transformers": "5.10"}
    # What the versions between are chosen of: the packages that work together with transformers, and torch.
    TOGETHER = ("transformers", "torch", "accelerate", "datasets", "evaluate", "huggingface-hub", "peft", "safetensors",
                "tokenizers")  # fmt: skip

    @staticmethod
    def pinned(file):
        lines = [line.partition("#")[0].strip() for line in (ROOT / file).read_text().splitlines()]
        pins = [Requirement(line) for line in lines if line]
        return {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in pins}

    def requirements(self):
        found = [Requirement(line) for line in self.LISTED]
        return {canonicalize_name(one.name): one for one in found if one.name != "hf_symbinv"}

    def test_the_lowest_versions_that_are_allowed_are_those_that_are_tested(self):
        lowest = self.pinned("constraints-min.txt")
        for name, requirement in self.requirements().items():
            bounds = [Version(one.version) for one in requirement.specifier if one.operator == ">="]
            if name not in self.NEWEST_ALONE:
                tested = Version(self.WITHDRAWN.get(name, lowest[name]))
                assert bounds == [tested], f"{requirement}: constraints-min.txt has {lowest[name]}"

    def test_the_versions_between_are_allowed_and_lie_between_the_lowest_and_the_newest(self):
        lowest, between, newest = (
            self.pinned(file) for file in ("constraints-min.txt", "constraints-mid.txt", "constraints.txt")
        )
        for name, version in between.items():
            assert Version(lowest.get(name, "0")) <= Version(version) <= Version(newest[name]), name
            if name in self.requirements():
                assert version in self.requirements()[name].specifier, name
        assert Version(lowest["transformers"]) < Version(between["transformers"]) < Version(newest["transformers"])

    def test_the_documentation_shows_the_versions_that_are_tested(self):
        lowest, between, newest = (
            self.pinned(file) for file in ("constraints-min.txt", "constraints-mid.txt", "constraints.txt")
        )
        page = (ROOT / "docs" / "installation.md").read_text()
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"]
        shown = {canonicalize_name(row[0]): row[1:] for row in rows if canonicalize_name(row[0]) in self.TOGETHER}
        assert shown == {name: [lowest[name], between[name], newest[name]] for name in self.TOGETHER}

    def test_the_versions_that_are_developed_with_are_allowed(self):
        newest = self.pinned("constraints.txt")
        for name, requirement in self.requirements().items():
            assert newest[name] in requirement.specifier, f"{requirement}: constraints.txt has {newest[name]}"

    def test_extras_name_what_installs_them(self):
        names = {"yaml": "pyyaml"}
        for package, extra in EXTRAS.items():
            listed = self.PROJECT["optional-dependencies"][extra]
            assert names.get(package, package) in {Requirement(line).name for line in listed}, package

    def test_a_public_name_whose_extra_is_missing_says_so(self):
        program = """if True:
            import sys
            sys.modules["datasets"] = None
            import hf_symbinv
            try:
                hf_symbinv.load_data
            except ImportError as error:
                print(error)"""
        said = "hf_symbinv.load_data needs datasets, which is not installed; in a checkout, run pip install '.[data]'"
        assert " ".join(python(program)) == said


# The recipes are make's, and a checkout can be tested by pytest alone, without make.
@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_the_product_what_is_around_it_and_the_showcase_have_every_test_between_them():
    """`make test` runs all of `tests` but what `make test-around` runs; what stands beside the product has its own."""
    lines = {}
    for name in ("test", "test-around", "test-papers"):
        command = ["make", "--dry-run", "--always-make", name]
        told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        (lines[name],) = (line.split()[2:] for line in told.splitlines() if "/pytest " in line)
    around, beside = lines["test-around"][2:], lines["test-papers"][2:]
    assert lines["test"] == ["-n", "2", "tests", *(f"--ignore={folder}" for folder in around)]
    assert len(around) == 5 and all(folder.startswith("tests/") and (ROOT / folder).is_dir() for folder in around)
    assert beside == sorted((str(path.relative_to(ROOT)) for path in ROOT.glob("*/tests")), reverse=True)

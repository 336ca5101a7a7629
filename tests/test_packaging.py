"""The package is found by transformers, costs nothing to import, and its distributions hold every file once."""

import email
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

import hf_symbinv

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


AUTO = "from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM"


class TestPublicNames:
    def test_importing_the_package_and_its_light_rooms_loads_neither_torch_nor_transformers(self):
        program = """if True:
            import sys, hf_symbinv, hf_symbinv.logic, hf_symbinv.solvers, hf_symbinv.tasks
            print(*(name for name in ("torch", "transformers", "evaluate", "datasets") if name in sys.modules))"""
        assert python(program) == []

    @pytest.mark.parametrize("name", hf_symbinv.__all__)
    def test_every_public_name_can_be_imported(self, name):
        assert getattr(hf_symbinv, name).__doc__
        assert name in dir(hf_symbinv)

    def test_an_unknown_name_is_an_attribute_error(self):
        with pytest.raises(AttributeError, match="module 'hf_symbinv' has no attribute 'Formulas'"):
            _ = hf_symbinv.Formulas


class TestAutoClasses:
    USE = """
config = hf_symbinv.SymbolInvariantConfig(d_model=8, encoder_layers=1, decoder_layers=1, num_attention_heads=2, d_ff=8)
print(type(AutoConfig.for_model("symbol_invariant")).__name__)
print(type(AutoModel.from_config(config)).__name__, type(AutoModelForSeq2SeqLM.from_config(config)).__name__)
"""

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "imports",
        [
            f"import hf_symbinv; {AUTO}",
            f"{AUTO}; import hf_symbinv",
            f"from transformers import AutoConfig; import hf_symbinv; {AUTO}",
            # This module imports AutoModel before it defines what models are made of.
            f"import hf_symbinv, transformers.modeling_layers; {AUTO}",
            f"import hf_symbinv.modeling.modeling_symbinv; {AUTO}",
        ],
    )
    def test_auto_classes_know_the_models_whichever_is_imported_first(self, imports):
        assert python(imports + self.USE) == [
            "SymbolInvariantConfig",
            "SymbolInvariantModel",
            "SymbolInvariantForConditionalGeneration",
        ]

    @pytest.mark.slow
    def test_a_saved_model_and_tokenizer_load_by_their_type(self, tmp_path):
        program = f"""if True:
            import hf_symbinv
            from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
            config = hf_symbinv.SymbolInvariantConfig.from_preset("ltl", encoder_layers=1, decoder_layers=1)
            hf_symbinv.SymbolInvariantForConditionalGeneration(config).save_pretrained({str(tmp_path)!r})
            hf_symbinv.LTL.tokenizer().save_pretrained({str(tmp_path)!r})
            model = AutoModelForSeq2SeqLM.from_pretrained({str(tmp_path)!r})
            tokenizer = AutoTokenizer.from_pretrained({str(tmp_path)!r})
            print(type(model).__module__, type(tokenizer).__module__)"""
        assert python(program) == ["hf_symbinv.modeling.modeling_symbinv", "hf_symbinv.modeling.tokenization_symbinv"]


def source_files():
    """Where an installation puts every module and data file; linked folders are listed where they really are."""
    data = {"py.typed", "README.md"}
    found = set()
    for folder, package in PACKAGES.items():
        for path in (ROOT / folder).rglob("*"):
            inside = path.relative_to(ROOT / folder)
            if not path.is_file() or "__pycache__" in path.parts:
                continue
            if path.suffix in (".py", ".yaml", ".jinja") or path.name in data or inside.parts[0] == "checkpoints":
                found.add((Path(package) / inside).as_posix())
    return found


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """The sdist's names, the wheel built from it and the wheel's names; from a copy of the tree, without network."""
    work = tmp_path_factory.mktemp("distributions")
    tree, out = work / "tree", work / "out"
    tree.mkdir()
    for name in (*PACKAGES, "pyproject.toml", "README.md", "LICENSE"):
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


@pytest.mark.slow
class TestDistributions:
    def test_the_wheel_made_from_the_sdist_holds_every_file_once(self, distributions):
        _, _, names = distributions
        installed = [name for name in names if ".dist-info/" not in name]
        assert sorted(installed) == sorted(source_files())

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
        assert "symbinv = hf_symbinv.cli:main" in commands

    def test_an_empty_environment_runs_the_wheel(self, distributions, tmp_path):
        _, wheel, _ = distributions
        venv = tmp_path / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
        interpreter = str(venv / "bin" / "python")
        install = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            interpreter,
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
        ]
        subprocess.run([*install, "--disable-pip-version-check", str(wheel)], check=True)
        (site,) = python(
            "import sysconfig; print(sysconfig.get_path('purelib'))", interpreter=interpreter, cwd=tmp_path
        )
        # The dependencies of the running environment, but not its own hf_symbinv: only sys.path lines, no import hooks.
        (Path(site) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
        program = """if True:
            import hf_symbinv, hf_symbinv.cli, hf_symbinv.datasets_scripts
            from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
            from pathlib import Path
            home = Path(hf_symbinv.__file__).parent
            folder = home / "checkpoints" / "ltl-small"
            model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
            print(home, type(model).__module__, tokenizer.decode(tokenizer("&ab")["input_ids"]))"""
        assert python(program, interpreter=interpreter, cwd=tmp_path) == [
            f"{site}/hf_symbinv",
            "hf_symbinv.modeling.modeling_symbinv",
            "&ab</s>",
        ]
        result = subprocess.run([str(venv / "bin" / "symbinv"), "--help"], capture_output=True, text=True, check=False)
        assert result.returncode == 0 and "solve" in result.stdout

"""The package enters transformers by its `register` functions, in any order; what needs no model stays light.

What is imported before what needs processes of its own. Each of them imports torch, which takes seconds, and therefore
tells all that the tests ask.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from transformers import CONFIG_MAPPING, AutoModelForSeq2SeqLM, AutoTokenizer, PreTrainedConfig
from transformers.pipelines import PIPELINE_REGISTRY

import hf_symbinv
from hf_symbinv.auto_classes import AUTO_CLASSES, PIPELINES, register_auto_classes, register_pipelines

ROOT = Path(__file__).resolve().parent.parent
SIZES = {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "num_attention_heads": 2, "d_ff": 8}


def python(program, *arguments, cwd=None, **environment):
    """What a program prints on its two streams, in a fresh interpreter; a variable that is None is not set."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    given = {**os.environ, "PYTHONPATH": path, **environment}
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False,
        env={name: value for name, value in given.items() if value is not None},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


FOUND = """
import json, sys
import hf_symbinv, transformers
from transformers import AutoConfig, AutoTokenizer
from transformers.models.auto import configuration_auto, modeling_auto, tokenization_auto
from transformers.pipelines import PIPELINE_REGISTRY, pipeline

folder, words = sys.argv[1:]
configs = {"symbol_invariant": hf_symbinv.SymbolInvariantConfig, "identity_gpt2": hf_symbinv.IdentityGPT2Config}
tables = [
    table
    for module in (configuration_auto, modeling_auto, tokenization_auto)
    for name, table in vars(module).items() if name.endswith("_MAPPING_NAMES")
]
print(json.dumps({
    "configs": {name: type(AutoConfig.for_model(name)) is config for name, config in configs.items()},
    "models": {
        f"{auto} {name}": getattr(transformers, auto)._model_mapping.get(config, object).__name__
        for name, config in configs.items()
        for auto in (
            "AutoModel", "AutoModelForSeq2SeqLM", "AutoModelForCausalLM", "AutoModelForMaskedLM",
            "AutoModelForSequenceClassification", "AutoModelForTokenClassification",
        )
    },
    "loaded": [
        f"{type(loaded).__module__}.{type(loaded).__name__}"
        for loaded in (
            transformers.AutoModelForSeq2SeqLM.from_pretrained(folder),
            AutoTokenizer.from_pretrained(folder),
            AutoTokenizer.from_pretrained(words),
        )
    ],
    "tasks": [task for task in PIPELINE_REGISTRY.get_supported_tasks() if task.startswith(("ltl", "prop", "symbol"))],
    "answer": pipeline("ltl-witness")("X a")["answer"],
    "finders": [str(finder) for finder in sys.meta_path if str(getattr(finder, "__module__", "")).startswith("hf_")],
    "modules": [
        name for name, module in sys.modules.items()
        if getattr(module, "__name__", "").startswith("hf_symbinv") and not name.startswith("hf_symbinv")
    ],
    "entries": [str(key) for table in tables for key in table if key in configs or "symbinv" in str(table[key])],
}))
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder with a model and its tokenizer, and one with a tokenizer of words alone."""
    folder, words = tmp_path_factory.mktemp("model"), tmp_path_factory.mktemp("words")
    config = hf_symbinv.SymbolInvariantConfig.from_preset("ltl", **SIZES)
    hf_symbinv.SymbolInvariantForConditionalGeneration(config).save_pretrained(folder)
    hf_symbinv.LTL.tokenizer().save_pretrained(folder)
    hf_symbinv.SymbolInvariantWordTokenizer().save_pretrained(words)
    return folder, words


@pytest.mark.slow
@pytest.mark.parametrize(
    "imports",
    [
        "import hf_symbinv; from transformers import AutoModel, pipeline",
        "from transformers import AutoModel, AutoTokenizer, pipeline; import hf_symbinv",
        # A module deep in the package, before transformers has defined what models are made of.
        "import hf_symbinv.modeling.modeling_symbinv, transformers.modeling_layers",
    ],
)
def test_transformers_knows_the_package_whichever_is_imported_first_and_has_nothing_of_it_elsewhere(imports, folders):
    printed, _ = python(imports + FOUND, *folders)
    assert json.loads(printed) == {
        "configs": {"symbol_invariant": True, "identity_gpt2": True},
        "models": {
            "AutoModel symbol_invariant": "SymbolInvariantModel",
            "AutoModelForSeq2SeqLM symbol_invariant": "SymbolInvariantForConditionalGeneration",
            "AutoModelForCausalLM symbol_invariant": "SymbolInvariantForCausalLM",
            "AutoModelForMaskedLM symbol_invariant": "SymbolInvariantForMaskedLM",
            "AutoModelForSequenceClassification symbol_invariant": "SymbolInvariantForSequenceClassification",
            "AutoModelForTokenClassification symbol_invariant": "SymbolInvariantForTokenClassification",
            "AutoModel identity_gpt2": "IdentityGPT2Model",
            "AutoModelForSeq2SeqLM identity_gpt2": "object",
            "AutoModelForCausalLM identity_gpt2": "IdentityGPT2LMHeadModel",
            "AutoModelForMaskedLM identity_gpt2": "object",
            "AutoModelForSequenceClassification identity_gpt2": "IdentityGPT2ForSequenceClassification",
            "AutoModelForTokenClassification identity_gpt2": "object",
        },
        "loaded": [
            "hf_symbinv.modeling.modeling_symbinv.SymbolInvariantForConditionalGeneration",
            "hf_symbinv.modeling.tokenization_symbinv.SymbolInvariantTokenizer",
            "hf_symbinv.modeling.text_symbinv.SymbolInvariantWordTokenizer",
        ],
        "tasks": ["ltl-witness", "prop-assignment", "symbol-task"],
        "answer": "cycle{a}",
        "finders": [],
        "modules": [],
        "entries": [],
    }


class TestRegistering:
    def test_every_model_of_the_package_is_in_the_table(self):
        families = [name for name in hf_symbinv.__all__ if name.startswith(("SymbolInvariant", "IdentityGPT2"))]
        assert set(AUTO_CLASSES) == {name for name in families if hasattr(getattr(hf_symbinv, name), "config_class")}

    def test_once_more_changes_nothing_and_says_nothing(self, folders, capfd):
        before = dict(PIPELINE_REGISTRY.supported_tasks)
        for register in (register_auto_classes, register_pipelines):
            register()
            register.__wrapped__()
        assert capfd.readouterr() == ("", "")
        assert before == PIPELINE_REGISTRY.supported_tasks and set(PIPELINES) <= set(before)
        model = AutoModelForSeq2SeqLM.from_pretrained(folders[0])
        assert type(model) is hf_symbinv.SymbolInvariantForConditionalGeneration

    def test_what_a_user_has_registered_before_stays(self, monkeypatch):
        class Config(PreTrainedConfig):
            model_type = "identity_gpt2"

        own = {"impl": object, "pt": ()}
        monkeypatch.setitem(CONFIG_MAPPING._extra_content, "identity_gpt2", Config)
        monkeypatch.setitem(PIPELINE_REGISTRY.supported_tasks, "symbol-task", own)
        register_auto_classes.__wrapped__()
        register_pipelines.__wrapped__()
        assert CONFIG_MAPPING["identity_gpt2"] is Config
        assert PIPELINE_REGISTRY.supported_tasks["symbol-task"] is own

    def test_what_a_user_registers_later_stays_when_a_checkpoint_is_loaded(self, folders):
        class Tokenizer(hf_symbinv.SymbolInvariantTokenizer):
            pass

        try:
            AutoTokenizer.register(hf_symbinv.SymbolInvariantConfig, Tokenizer, exist_ok=True)
            register_auto_classes()
            tokenizers = AutoTokenizer.from_pretrained(folders[0]), hf_symbinv.LTL.tokenizer()
            assert [type(one).__name__ for one in tokenizers] == ["SymbolInvariantTokenizer"] * 2  # by its saved name
            config = hf_symbinv.SymbolInvariantConfig.from_pretrained(folders[0])
            from transformers import TOKENIZER_MAPPING

            assert TOKENIZER_MAPPING[type(config)] is Tokenizer
        finally:
            register_auto_classes.__wrapped__()


MODULES = """
print(sorted({"torch", "transformers", "datasets", "evaluate"} & set(sys.modules)), "HF_SYMBINV_LIGHT" in os.environ)
"""
# The start of a task that reads its questions as they are.
TASK = '''
from hf_symbinv.tasks import SymbolTask, COPY

class Same(type(COPY)):
    """Copies."""
    name = "same"

SAME = Same()
'''


class TestLightStart:
    """`HF_SYMBINV_LIGHT` leaves transformers alone; `symbinv` sets it while it imports the package."""

    def test_the_package_and_its_light_rooms_load_neither_torch_nor_transformers(self):
        rooms = "hf_symbinv, hf_symbinv.logic, hf_symbinv.solvers, hf_symbinv.tasks"
        assert python(f"import os, sys, {rooms}{MODULES}", HF_SYMBINV_LIGHT="1") == ("[] True\n", "")

    @pytest.mark.parametrize("told", [None, "1"])
    def test_the_command_loads_neither_and_tells_no_process_that_it_starts(self, told):
        program = f"import os, sys, symbinv; symbinv.main(){MODULES}"
        printed, _ = python(program, "verify", "a", "{a}", "--json", HF_SYMBINV_LIGHT=told)
        assert printed.endswith("}\n[] False\n")

    def test_a_user_s_task_that_needs_no_model_is_read_without_them(self, tmp_path):
        (tmp_path / "same.py").write_text(TASK)
        program = f"import os, sys, symbinv; symbinv.main(){MODULES}"
        printed, _ = python(program, "verify", "--task", tmp_path / "same.py", "ab", "ab")
        assert printed.endswith("\n[] False\n")

    @pytest.mark.slow
    def test_a_user_s_task_that_imports_transformers_finds_the_package_there(self, tmp_path):
        (tmp_path / "same.py").write_text(
            "from transformers import CONFIG_MAPPING\nfrom transformers.pipelines import PIPELINE_REGISTRY\n"
            f"PIPELINE_REGISTRY.check_task('ltl-witness')\nCONFIG_MAPPING['symbol_invariant']{TASK}"
        )
        program = "import symbinv; symbinv.main()"
        said = python(program, "verify", "--task", tmp_path / "same.py", "ab", "ab")
        assert said == ("ab\n  copy     ab\n  verdict  correct\n", "")

    @pytest.mark.slow
    def test_the_command_loads_a_model_and_runs_as_a_module_of_the_package_too(self):
        expected = "X a\n  witness  1; a; cycle{1}\n  verdict  correct\n"
        for start in ("import symbinv; symbinv.main()", "from hf_symbinv.cli import main; main()"):
            assert python(start, "solve", "X a", "--model", "ltl-small") == (expected, "")


NOWHERE = "/dev/null/x"  # a path that nobody can make, root neither
HOMES = {
    "home": {"HOME": NOWHERE, "HF_HOME": None, "XDG_CACHE_HOME": None},
    "hf_home": {"HF_HOME": NOWHERE},
    "modules": {"HF_MODULES_CACHE": NOWHERE},
    "none": {"HOME": None, "HF_HOME": None, "XDG_CACHE_HOME": NOWHERE},
}


class TestReadOnlyHome:
    @pytest.mark.slow
    @pytest.mark.parametrize("home", ["home", "none"])
    def test_importing_the_package_prints_nothing(self, home, tmp_path):
        assert python("import hf_symbinv", cwd=tmp_path, **HOMES[home]) == ("", "")
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("home", HOMES)
    def test_a_light_import_prints_nothing(self, home, tmp_path):
        assert python("import hf_symbinv", cwd=tmp_path, HF_SYMBINV_LIGHT="1", **HOMES[home]) == ("", "")
        assert not list(tmp_path.iterdir())

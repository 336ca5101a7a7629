"""Fetches transformers' own tests once, and lets the tests of this folder import them as `transformers_tests`."""

import os
import sys
from pathlib import Path

import pytest
import transformers

sys.path.insert(0, str(Path(__file__).parent))

from fetch import FOLDER, fetched

collect_ignore: list[str] = []
try:
    fetched()
except OSError:
    if os.environ.get("CI") == "true":  # there it is an error
        raise
    collect_ignore = [path.name for path in Path(__file__).parent.glob("test_*.py") if path.name != "test_sources.py"]
else:
    sys.path.insert(0, str(FOLDER))
    # Their pipeline mixin imports transformers from beside its own folder.
    (FOLDER / "src").mkdir(exist_ok=True)
    link = FOLDER / "src" / "transformers"
    installed = Path(transformers.__file__).parent
    if not link.exists() or link.resolve() != installed.resolve():
        link.unlink(missing_ok=True)
        link.symlink_to(installed)

MARKERS = [
    "accelerate_test", "accelerate_tests", "executorch_export_test", "flash_attn_3_test", "flash_attn_4_test",
    "flash_attn_test", "generate", "is_expert_parallel_test", "is_fsdp_test", "is_pipeline_test", "is_staging_test",
    "is_tensor_parallel_test", "is_training_test", "onnx_export_test", "timeout", "torch_compile_test",
    "torch_export_test",
]  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", f"{marker}: a marker of transformers' own tests")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """transformers' own tests may warn, although ours may not; those that compile are slow."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings("ignore"))
            if "compil" in item.name:
                item.add_marker(pytest.mark.slow)

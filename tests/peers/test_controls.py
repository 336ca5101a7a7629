"""The same tests with models of transformers itself: what fails or is skipped here is not for us to mend."""

import pytest
from fetch import missing

if missing():
    # BART's and GPT-2's own test files are on GitHub alone, which many machines of CI cannot reach.
    pytest.skip(f"not run: {missing()}", allow_module_level=True)

from transformers_tests.models.bart.test_modeling_bart import BartModelTest
from transformers_tests.models.gpt2.test_modeling_gpt2 import GPT2ModelTest

__all__ = ["BartModelTest", "GPT2ModelTest"]
pytestmark = pytest.mark.slow

"""How transformers' own tests take our classes.

They learn what a class is for, such as whether it has a loss, from tables of names of transformers' own classes. Each
table is replaced, for the tests alone, by one that has ours too. A test is left out by a reason that names the model's
nature, and that the run itself checks.
"""

import copy
import unittest
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any

import torch
from fetch import missing
from transformers.testing_utils import torch_device
from transformers_tests import test_modeling_common

from hf_symbinv.auto_classes import AUTO_CLASSES

# Auto class -> the table that the tests read.
TABLES = {
    "AutoModel": "MODEL_MAPPING_NAMES",
    "AutoModelForCausalLM": "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "AutoModelForMaskedLM": "MODEL_FOR_MASKED_LM_MAPPING_NAMES",
    "AutoModelForSeq2SeqLM": "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    "AutoModelForSequenceClassification": "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES",
    "AutoModelForTokenClassification": "MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES",
}
for architecture, auto_class in AUTO_CLASSES.items():
    known = getattr(test_modeling_common, TABLES[auto_class])
    setattr(test_modeling_common, TABLES[auto_class], {**known, architecture: architecture})


def leave_out(reasons: Mapping[str, str]) -> Callable[[type], type]:
    """A decorator of test classes: skips the tests that `reasons` names, each for its sentence.

    Args:
        reasons: the name of a test, or a pattern such as `test_export_*` → why it cannot hold for this model.

    Raises:
        ValueError: if a name is that of no test, although all sources are there.
    """

    def decorate(cls: type) -> type:
        originals: dict[str, Callable] = {}
        for pattern, reason in reasons.items():
            names = [name for name in dir(cls) if fnmatchcase(name, pattern) and callable(getattr(cls, name))]
            if not names and not missing():
                raise ValueError(f"{cls.__name__}: {pattern} is no test of transformers any more; delete its reason")
            for name in names:
                originals[name] = getattr(cls, name)
                setattr(cls, name, unittest.skip(f"by nature: {reason}")(originals[name]))
        cls.left_out = originals
        cls.unadapted = type("Unadapted", (cls,), originals)
        return cls

    return decorate


class ReasonsAreNeeded:
    """Mixed in first: a test that is left out, but would pass, fails the run."""

    def test_no_test_is_left_out_that_would_pass(self) -> None:
        passing = []
        for name in type(self).left_out:
            result = unittest.TestResult()
            type(self).unadapted(name).run(result)
            if result.wasSuccessful():
                passing.append(name)
        self.assertEqual(passing, [], "these pass or skip themselves: delete their reasons")


class Labelled(ReasonsAreNeeded):
    """Labels for the texts of a `classifier`, none for a model that is `unlabelled`, and for tokens elsewhere."""

    unlabelled: type
    classifier: type

    def test_config(self) -> None:
        self.config_tester.run_common_tests()

    def _prepare_for_class(
        self, inputs_dict: dict[str, Any], model_class: type, return_labels: bool = False
    ) -> dict[str, Any]:
        inputs, tester = copy.deepcopy(inputs_dict), self.model_tester
        if return_labels and model_class is not self.unlabelled:
            shape = (tester.batch_size, tester.seq_length)[: 1 if model_class is self.classifier else 2]
            inputs["labels"] = torch.zeros(shape, dtype=torch.long, device=torch_device)
        return inputs

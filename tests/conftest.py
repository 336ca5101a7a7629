"""Settings for every test: offline, one thread, and the same hypothesis examples on every machine."""

import os

# Before anything imports transformers, datasets or torch, which read these once.
os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", HF_EVALUATE_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import settings

settings.register_profile("repository", derandomize=True, deadline=None, database=None)
settings.load_profile("repository")

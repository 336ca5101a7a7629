"""Repositories on the Hub: what a folder is pushed as, the push itself, and what goes wrong on the way, in a sentence.

What is pulled comes through transformers', datasets' and evaluate's own loaders.
"""

from hf_symbinv.errors import hub_failure
from hf_symbinv.hub.folders import Content, read_folder
from hf_symbinv.hub.gate import PushError
from hf_symbinv.hub.push import Pushed, content_of, push_folder

__all__ = ["Content", "PushError", "Pushed", "content_of", "hub_failure", "push_folder", "read_folder"]

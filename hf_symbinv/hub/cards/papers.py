"""The papers that models, data and metrics come from, as cards cite them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: its title, its number on arXiv if it has one, and its BibTeX entry."""

    title: str
    arxiv: str | None
    bibtex: str

    @property
    def link(self) -> str:
        """The paper as a Markdown link; the Hub shows the models, data sets and Spaces that link to it on its page."""
        return self.title if self.arxiv is None else f"[{self.title}](https://arxiv.org/abs/{self.arxiv})"


SIT = Paper(
    "Names Don't Matter: Symbol-Invariant Transformer for Open-Vocabulary Learning",
    "2601.23169",
    """\
@inproceedings{isik2026names,
  title     = {Names Don't Matter: Symbol-Invariant Transformer for Open-Vocabulary Learning},
  author    = {I{\\c{s}}{\\i}k, {\\.I}lker and Li, Wenchao},
  booktitle = {International Conference on Machine Learning},
  year      = {2026},
  url       = {https://arxiv.org/abs/2601.23169}
}""",
)
ITE = Paper(
    "Interchangeable Token Embeddings for Extendable Vocabulary and Alpha-Equivalence",
    "2410.17161",
    """\
@inproceedings{isik2025interchangeable,
  title     = {Interchangeable Token Embeddings for Extendable Vocabulary and Alpha-Equivalence},
  author    = {I{\\c{s}}{\\i}k, {\\.I}lker and Cinbis, Ramazan Gokberk and Gol, Ebru Aydin},
  booktitle = {Proceedings of the 42nd International Conference on Machine Learning},
  pages     = {26523--26541},
  year      = {2025},
  url       = {https://arxiv.org/abs/2410.17161}
}""",
)
DEEP_LTL = Paper(
    "Teaching Temporal Logics to Neural Networks",
    "2003.04218",
    """\
@inproceedings{hahn2021teaching,
  title     = {Teaching Temporal Logics to Neural Networks},
  author    = {Hahn, Christopher and Schmitt, Frederik and Kreber, Jens U. and Rabe, Markus N. and Finkbeiner, Bernd},
  booktitle = {International Conference on Learning Representations},
  year      = {2021},
  url       = {https://arxiv.org/abs/2003.04218}
}""",
)
LEXINVARIANT = Paper(
    "Lexinvariant Language Models",
    "2305.16349",
    """\
@inproceedings{huang2023lexinvariant,
  title     = {Lexinvariant Language Models},
  author    = {Huang, Qian and Zelikman, Eric and Chen, Sarah Li and Wu, Yuhuai and Valiant, Gregory and Liang, Percy},
  booktitle = {Advances in Neural Information Processing Systems},
  year      = {2023},
  url       = {https://arxiv.org/abs/2305.16349}
}""",
)
# The text that was used names no authors.
ABSTRACT_SYMBOLS = Paper(
    "When Can Transformers Reason With Abstract Symbols?",
    "2310.09753",
    """\
@misc{abstractsymbols,
  title = {When Can Transformers Reason With Abstract Symbols?},
  url   = {https://arxiv.org/abs/2310.09753}
}""",
)
RENAMER = Paper(
    "Renamer: A Transformer Architecture Invariant to Variable Renaming",
    None,
    """\
@misc{ankner-renamer,
  title  = {Renamer: A Transformer Architecture Invariant to Variable Renaming},
  author = {Ankner, Zachary and Renda, Alex and Carbin, Michael},
  note   = {An earlier version: \\url{https://openreview.net/forum?id=7hYCGFacpz}}
}""",
)

# Symbol embedding -> the papers that it comes from; task -> those of its data.
OF_EMBEDDING = {"streams": (SIT,), "learned": (SIT, ITE), "renamed": (ITE,), "random": (ITE,)}
OF_TASK = {"ltl": (DEEP_LTL,), "prop": (DEEP_LTL, ITE), "copy": (ITE,)}


def papers_of(embedding: str | None, task: str | None) -> tuple[Paper, ...]:
    """The papers of an embedding and of a task, each once; SIT where nothing is known of the embedding."""
    found = (*OF_EMBEDDING.get(embedding or "", (SIT,)), *OF_TASK.get(task or "", ()))
    return tuple(dict.fromkeys(found))


__all__ = ["ABSTRACT_SYMBOLS", "DEEP_LTL", "ITE", "LEXINVARIANT", "RENAMER", "SIT", "Paper", "papers_of"]

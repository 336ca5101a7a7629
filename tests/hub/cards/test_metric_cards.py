"""Every metric has a card that the Hub takes for a Space, with the sections of a metric card."""

from pathlib import Path

import pytest

import hf_symbinv.metrics
from hf_symbinv.hub.cards.facts import CardError
from hf_symbinv.hub.cards.families import cited
from hf_symbinv.hub.cards.rendering import check_card

SIT, ITE, DEEP_LTL = "isik2026names", "isik2025interchangeable", "hahn2021teaching"
PAPERS = {
    "alpha_covariance": (SIT, ITE), "edit_distance": (ITE,), "ltl_witness": (DEEP_LTL, SIT),
    "prop_assignment": (DEEP_LTL, ITE), "renaming_invariance": (SIT, ITE),
}  # fmt: skip
CARDS = sorted(Path(hf_symbinv.metrics.__file__).parent.glob("*/README.md"))


@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.parent.name)
def test_a_metric_card_is_whole(path):
    from huggingface_hub import SpaceCard

    text = check_card(path.read_text(), "space")
    data = SpaceCard(text).data
    assert data.title and data.sdk and {"evaluate", "metric"} <= set(data.tags) and data.to_dict()["description"]
    for heading in ("Description", "How to use", "Inputs", "Output values", "Limitations", "Citation"):
        assert f"# {heading}\n" in text
    assert all(paper.link in text and paper.bibtex in text for paper in cited(*PAPERS[path.parent.name]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("---\n- a\n---\n", "card: the Hub cannot read its metadata"),
        ("---\nlicense: mit\nmodel-index: [1]\n---\n", "card: the Hub cannot read its metadata"),
        ("---\nlicense: mit\nbase_model: /tmp/x\n---\n", "card: base_model='/tmp/x': is no name on the Hub"),
        ("---\nlicense: ''\n---\n", "card: has no license; name one, such as apache-2.0"),
    ],
)
def test_cards_that_the_hub_would_refuse(text, message):
    with pytest.raises(CardError, match=message):
        check_card(text, "model")

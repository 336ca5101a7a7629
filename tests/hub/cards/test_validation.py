"""huggingface_hub's own `validate`, which asks a Hub over HTTP, accepts every card that this package writes."""

from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import DatasetCard, ModelCard, SpaceCard
from packaging.version import Version

import hf_symbinv
from hf_symbinv import LTL
from hf_symbinv.datasets_scripts.storage import Pair, publish
from hf_symbinv.hub.cards.dataset import Origin
from hf_symbinv.hub.cards.families import RELATIVES
from model_cards.write import relative_card

from ..fixtures import hub, server  # noqa: F401, fixtures

PACKAGE = Path(hf_symbinv.__file__).parent
DEMO = Path(__file__).parents[3] / "examples" / "space"


# huggingface_hub 1 has the address of the real Hub built in, so the test's own server is never asked.
@pytest.mark.skipif(
    Version(huggingface_hub.__version__) < Version("2"), reason="huggingface_hub 1 always asks huggingface.co"
)
@pytest.mark.usefixtures("hub")
def test_a_hub_accepts_the_cards(tmp_path):
    publish(LTL, tmp_path, Origin("tiny", "A story.", "symbinv data", "spot 2.13"), {"train": [Pair("a", "{a}")]})
    DatasetCard.load(tmp_path / "README.md").validate()
    ModelCard.load(PACKAGE / "checkpoints" / "ltl-small" / "README.md").validate()
    for name in RELATIVES:
        ModelCard(relative_card(name)).validate()
    ModelCard.load(DEMO / "baseline" / "README.md").validate()
    for path in (DEMO / "README.md", *PACKAGE.glob("metrics/*/README.md")):
        SpaceCard.load(path).validate()

"""What is measured of a model, that it goes on where it was stopped, and where what it found lies."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hf_symbinv import SymbolInvariantForConditionalGeneration
from hf_symbinv.evaluation import read_question
from hf_symbinv.evaluation.checkpoints import Checkpoint
from hf_symbinv.tasks import load_task
from papers.catalogue import load_scale
from papers.harness.experiments import OutOfTimeError
from papers.harness.measurements import ModelUnderTest, Renamings
from papers.harness.tables import Training
from papers.harness.workspace import Workspace


class TestPieces:
    """Measurements keep what is finished, whatever stops them."""

    @pytest.fixture
    def model(self, tmp_path) -> ModelUnderTest:
        place = Workspace(tmp_path, load_scale("smoke"))
        tiny = SymbolInvariantForConditionalGeneration(load_scale("smoke").recipe(Training("prop"), 0).config())
        checkpoint = Checkpoint("tiny", None, tiny.eval(), load_task("prop").tokenizer(), load_task("prop"))
        return ModelUnderTest(place, Training("prop"), checkpoint, tmp_path / "grid.pieces")

    def test_a_stopped_measurement_goes_on_after_the_last_whole_piece(self, model):
        questions, asked = list(range(10)), []

        def measure(piece):
            if len(asked) == 2:
                raise KeyboardInterrupt
            asked.append(list(piece))
            return [10 * question for question in piece]

        with pytest.raises(KeyboardInterrupt):
            model.piecewise(questions, measure, 4)
        with model.pieces.open("a") as file:
            file.write("[80, 9")  # killed in the middle of a line
        asked.clear()
        os.link(model.pieces, model.pieces.with_name("before"))
        assert model.piecewise(questions, measure, 4) == [10 * question for question in questions]
        assert asked == [[8, 9]]
        assert model.pieces.with_name("before").read_text().endswith("[80, 9")  # replaced, and not written over

    def test_without_time_nothing_is_asked_and_nothing_is_lost(self, model):
        model.piecewise([1, 2], lambda piece: list(piece), 2)
        late = replace(model, place=Workspace(Path("unused"), load_scale("smoke"), max_seconds=0.0))
        assert late.piecewise([1, 2], lambda piece: pytest.fail("asked again"), 2) == [1, 2]
        with pytest.raises(OutOfTimeError):
            late.piecewise([1, 2, 3], lambda piece: pytest.fail("asked without time"), 2)


class NamesMatter(SymbolInvariantForConditionalGeneration):
    """Says that it has streams, but reads the first symbol of the alphabet as the constant 1."""

    def generate(self, input_ids, **options):
        first, one = self.config.base_vocab_size, load_task("prop").tokenizer().convert_tokens_to_ids("1")
        return super().generate(torch.where(input_ids == first, one, input_ids), **options)


class TestCovariance:
    @pytest.mark.parametrize(("kind", "kept"), [(SymbolInvariantForConditionalGeneration, True), (NamesMatter, False)])
    def test_it_is_measured_of_models_with_streams_too(self, kind, kept, tmp_path, monkeypatch):
        place = Workspace(tmp_path, load_scale("smoke"))
        torch.manual_seed(0)
        tiny = kind(place.scale.recipe(Training("prop"), 0).config())
        # Only a tokenizer with a fixed list of names lets a model see which symbol is which.
        tokenizer = load_task("prop").tokenizer(load_task("prop").config(symbol_embedding="learned"))
        checkpoint = Checkpoint("tiny", None, tiny.eval(), tokenizer, load_task("prop"))
        questions = [read_question(load_task("prop"), text) for text in ("&ab", "|a!b", "&a&bc", "|c|ab")]
        monkeypatch.setattr(ModelUnderTest, "questions", lambda *_: questions)
        model = ModelUnderTest(place, Training("prop"), checkpoint, tmp_path / "pieces")
        values = Renamings("normal").carry_out(model)["by_symbols"]
        assert {symbols: len(same) for symbols, same in values.items()} == {"2": 2, "3": 2}
        assert all(value == 1 for same in values.values() for value in same) == kept

"""The search is transformers' own in what it writes, and leans on none of its private methods."""

import inspect
import math

import pytest
import torch
import transformers
from packaging.version import Version
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    BartConfig,
    BartForConditionalGeneration,
    LogitsProcessorList,
)
from transformers.generation import GenerationMixin
from transformers.generation.logits_process import SuppressTokensLogitsProcessor
from transformers.modeling_outputs import BaseModelOutput

import hf_symbinv
from hf_symbinv import (
    SymbolInvariantForMaskedLM,
    SymbolInvariantForSequenceClassification,
    SymbolInvariantForTokenClassification,
)
from hf_symbinv.files import bundled_checkpoints
from hf_symbinv.modeling.generation_symbinv import Beginning, SlotGenerationMixin
from hf_symbinv.modeling.search_symbinv import Answer, Told, _may_improve, draw

from .test_causal import language_model
from .tiny import BASE, EOS, PAD, START, pad, tiny_config, tiny_model

BUNDLED = tuple(bundled_checkpoints())
# Eight ways to decode.
WAYS = {
    "greedy": {"num_beams": 1},
    "beams": {"num_beams": 3},
    "best of five": {"num_beams": 5, "num_return_sequences": 5},
    "samples": {"do_sample": True, "num_beams": 1, "num_return_sequences": 3},
    "samples of the likeliest": {"do_sample": True, "num_beams": 1, "top_p": 0.8, "top_k": 5, "temperature": 1.5},
    "beam samples": {"do_sample": True, "num_beams": 3},
    "beam samples of few": {"do_sample": True, "num_beams": 3, "typical_p": 0.5, "epsilon_cutoff": 0.1},
    "no cache": {"num_beams": 3, "use_cache": False, "early_stopping": "never"},
}


@pytest.fixture
def no_private_methods(monkeypatch):
    """A call of any private method of transformers' mixin raises."""

    def refuse(*args, **kwargs):
        raise AssertionError("a private method of GenerationMixin was called")

    names = [name for name, _ in inspect.getmembers(GenerationMixin) if name.startswith("_") and name[1] != "_"]
    assert len(names) > 20
    for name in names:
        monkeypatch.setattr(GenerationMixin, name, refuse)
    for name in ("generate", "prepare_inputs_for_generation", "heal_tokens"):
        monkeypatch.setattr(GenerationMixin, name, refuse)


@pytest.mark.parametrize("way", WAYS)
def test_no_private_method_of_transformers_runs(way, no_private_methods):
    batch = pad([[5, BASE, 12, BASE + 3, EOS], [12, BASE + 1, EOS]])
    texts = torch.tensor([[3, 5, 4, 3], [2, 4, 4, 9]])
    for reader, inputs in (
        (tiny_model(), batch),
        (tiny_model(num_fresh_symbols=2, grammar=None), batch),
        (language_model(), {"input_ids": texts}),
        (language_model(symbol_embedding="streams", num_fresh_symbols=2), {"input_ids": texts}),
    ):
        written = reader.generate(**inputs, max_new_tokens=6, pad_token_id=PAD, **WAYS[way])
        assert len(written) == 2 * WAYS[way].get("num_return_sequences", 1)


@pytest.mark.parametrize("name", BUNDLED)
def test_every_bundled_model_decodes_in_every_way(name):
    folder = hf_symbinv.checkpoint(name)
    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    operator = "|" if name.startswith("prop") else "U"
    questions = [f"&{operator}ab!c", "!a", f"&{operator}a{operator}b{operator}cde"]
    batch = tokenizer(questions, padding=True, return_tensors="pt")
    for options in WAYS.values():
        for seed in range(3):
            torch.manual_seed(seed)
            written = model.generate(**batch, **options, max_new_tokens=20)
            assert (written == EOS).any(1).all()
        assert torch.equal(model.generate(batch["input_ids"], num_beams=3), model.generate(**batch, num_beams=3))


def bart():
    torch.manual_seed(0)
    config = BartConfig(
        vocab_size=17, d_model=12, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=9, decoder_ffn_dim=9, max_position_embeddings=60, pad_token_id=PAD,
        bos_token_id=START, eos_token_id=EOS, decoder_start_token_id=START, forced_eos_token_id=None, init_std=0.7,
    )  # fmt: skip
    return BartForConditionalGeneration(config).eval()


class Ours(BartForConditionalGeneration, SlotGenerationMixin):
    """BART with this search: what it is asked, how it steps, and nothing else is its own."""

    def generate(self, *args, **kwargs):
        return SlotGenerationMixin.generate(self, *args, **kwargs)

    def _begin(self, input_ids, settings, call):
        mask = call.pop("attention_mask")
        encoded = self.model.encoder(input_ids, mask).last_hidden_state
        start = torch.full((len(input_ids), 1), START)

        def inputs(questions, each):
            return {"encoded": encoded[list(questions)], "source_mask": mask[list(questions)], "each": each}

        return Beginning(start, self._step, inputs, None, source=input_ids, encoder=BaseModelOutput(encoded))

    def _step(self, tokens, mask, cache, kinds, encoded, source_mask, each):
        states, mask = (one.repeat_interleave(each, 0) for one in (encoded, source_mask))
        output = self(encoder_outputs=(states,), attention_mask=mask, decoder_input_ids=tokens, use_cache=False)
        return {"logits": output.logits}


PROCESSED = [
    {},
    {"num_beams": 3},
    {"num_beams": 4, "num_return_sequences": 4, "length_penalty": 0.3},
    {"num_beams": 3, "early_stopping": True},
    {"num_beams": 3, "early_stopping": "never", "length_penalty": 2.0},
    {"num_beams": 3, "length_penalty": -1.0},
    {"num_beams": 3, "eos_token_id": [EOS, 5, 6]},
    {"repetition_penalty": 3.0, "no_repeat_ngram_size": 2},
    {"num_beams": 3, "no_repeat_ngram_size": 2, "encoder_no_repeat_ngram_size": 2},
    {"min_new_tokens": 6, "num_beams": 2, "bad_words_ids": [[5], [6, 7]]},
    {"sequence_bias": [[[7], 5.0]], "suppress_tokens": [8], "begin_suppress_tokens": [9], "num_beams": 2},
    {"forced_bos_token_id": 7, "forced_eos_token_id": EOS, "num_beams": 3},
    {"exponential_decay_length_penalty": (2, 1.5), "encoder_repetition_penalty": 1.7},
    {"renormalize_logits": True, "remove_invalid_values": True, "num_beams": 3},
    {"prefix_allowed_tokens_fn": lambda row, ids: [EOS, 3 + row, 4 + len(ids)], "num_beams": 3},
    {"max_length": 6},
    {"num_beams": 3, "logits_processor": LogitsProcessorList([SuppressTokensLogitsProcessor([4, 5])])},
    {"num_beams": 3, "stopping_criteria": [lambda ids, scores: torch.full((len(ids),), ids.shape[1] > 4)]},
]
RECORDED = {"return_dict_in_generate": True, "output_scores": True, "output_logits": True}
SAMPLED = [
    {},
    {"temperature": 0.5, "top_k": 4},
    {"top_p": 0.7, "top_k": 0},
    {"min_p": 0.1},
    {"typical_p": 0.6},
    {"epsilon_cutoff": 0.05},
    {"eta_cutoff": 0.05},
    {"num_return_sequences": 3},
    {"num_beams": 3},
    {"num_beams": 3, "top_k": 6, "num_return_sequences": 2},
]


class TestWhatBartWritesByTransformersOwnLoop:
    """The same weights, the same settings: the same ids, scores and beams."""

    QUESTIONS = pad([[5, 9, 4, 3, EOS], [7, EOS], [16, 3, 3, 8, 8, 8, EOS]])

    def compare(self, **settings):
        theirs, ours = bart(), Ours(bart().config)
        ours.load_state_dict(theirs.state_dict())
        written = []
        for model in (theirs, ours.eval()):
            torch.manual_seed(3)
            call = {"max_new_tokens": 12, "do_sample": False, **settings}
            if "max_length" in call:
                call.pop("max_new_tokens")
            written.append(model.generate(**self.QUESTIONS, **call, **RECORDED))
        expected, found = written
        assert torch.equal(found.sequences, expected.sequences)
        beams = settings.get("num_beams", 1) > 1
        if beams:
            torch.testing.assert_close(found.sequences_scores, expected.sequences_scores, atol=1e-4, rtol=1e-4)
            assert torch.equal(found.beam_indices, expected.beam_indices.long())
        # Of a search that is done transformers computes on, so scores are compared where tokens were written.
        for name in ("scores", "logits"):
            one, other = (
                model.compute_transition_scores(output.sequences, output[name], output.beam_indices if beams else None)
                for model, output in ((ours, found), (theirs, expected))
            )
            torch.testing.assert_close(one, other.where(one != 0, 0), atol=1e-4, rtol=1e-4)

    @pytest.mark.filterwarnings("ignore")
    @pytest.mark.parametrize("settings", PROCESSED, ids=lambda one: "-".join(one) or "greedy")
    def test_searching(self, settings):
        self.compare(**settings)

    @pytest.mark.parametrize("settings", SAMPLED, ids=lambda one: "-".join(one) or "plain")
    def test_sampling_with_the_same_seed(self, settings):
        if "num_beams" in settings and Version(transformers.__version__) < Version("5.24"):
            pytest.skip("before 5.24 transformers looks at what beams draw in the order of the draws")
        self.compare(**settings, do_sample=True)


def test_only_a_search_that_never_stops_early_goes_on_for_a_beam_that_free_tokens_would_make_the_best():
    answers = [Answer(-0.5, 0, 0, 0), Answer(-1.0, 0, 0, 0)]
    told = (Told(13, [EOS], PAD, beams=2, early_stopping=stops) for stops in (True, False, "never"))
    assert [_may_improve(-3.0, answers, one, length=2, prompt=1) for one in told] == [False, False, True]


class TestDraws:
    @pytest.mark.parametrize("count", [1, 4])
    def test_are_those_of_multinomial(self, count):
        values = torch.randn(5, 9, generator=torch.Generator().manual_seed(0))
        values[1, 3:] = -math.inf
        torch.manual_seed(7)
        expected = torch.multinomial(values.softmax(1), count)
        torch.manual_seed(7)
        found, places = draw(values, count)
        assert torch.equal(found, values.gather(1, expected).sort(1, descending=True).values)
        assert torch.equal(found, values.gather(1, places))

    @pytest.mark.parametrize("options", [{"num_beams": 4}, {"num_beams": 4, "do_sample": True}, {"do_sample": True}])
    def test_none_without_probability_becomes_an_answer(self, options):
        """Two answers are possible at all, and four are asked for."""
        allowed = {1: [9], 2: [BASE], 3: [10, 7], 4: [EOS]}
        asked = {"grammar": None, "num_return_sequences": 4, "max_new_tokens": 6, "return_dict_in_generate": True}
        for seed in range(5):
            torch.manual_seed(seed)
            output = tiny_model(spread=1.0).generate(
                torch.tensor([[5, BASE, BASE, EOS]]),
                prefix_allowed_tokens_fn=lambda row, ids: allowed.get(len(ids), [EOS]),
                **asked,
                **options,
            )
            rows = {tuple(token for token in row if token != PAD) for row in output.sequences.tolist()}
            assert rows <= {(START, 9, BASE, 10, EOS), (START, 9, BASE, 7, EOS)}
            if "num_beams" in options:
                assert len(rows) == 2 and (output.sequences_scores > -math.inf).sum() == 2

    def test_a_text_that_nothing_may_follow_is_an_error_that_says_so(self):
        with pytest.raises(ValueError, match="no token may follow answer 0 after 1 tokens: processors forbid all"):
            tiny_model().generate(
                torch.tensor([[5, BASE, BASE, EOS]]), grammar=None, suppress_tokens=[*range(BASE)],
                logits_processor=[lambda ids, scores: scores if ids.shape[1] < 2 else scores.fill_(-math.inf)],
            )  # fmt: skip


class TestMasksThatAreLeftOut:
    """They are inferred from padding tokens, as BART infers them."""

    ROWS = ([5, BASE, 12, BASE + 3, EOS], [12, BASE + 1, EOS])

    @pytest.mark.parametrize("side", ["left", "right"])
    @pytest.mark.parametrize("way", WAYS)
    def test_in_generate(self, side, way):
        batch, found = pad(self.ROWS, side), []
        for inputs in (batch, {"input_ids": batch["input_ids"]}):
            torch.manual_seed(0)
            found.append(tiny_model(spread=0.8).generate(**inputs, **WAYS[way], max_new_tokens=12))
        assert torch.equal(*found)

    @pytest.mark.parametrize("side", ["left", "right"])
    def test_in_forward_and_in_what_is_encoded(self, side):
        batch, model = pad(self.ROWS, side), tiny_model()
        ids, answers = batch["input_ids"], torch.tensor([[START, BASE], [START, BASE + 1]])
        expected = model(**batch, decoder_input_ids=answers).logits
        assert torch.equal(model(ids, decoder_input_ids=answers).logits, expected)
        encoded = model.get_encoder()(ids)
        assert torch.equal(encoded.last_hidden_state, model.get_encoder()(**batch).last_hidden_state)
        assert torch.equal(model(encoder_outputs=encoded, decoder_input_ids=answers).logits, expected)
        assert torch.equal(model.generate(encoder_outputs=encoded, num_beams=2), model.generate(**batch, num_beams=2))

    @pytest.mark.parametrize(
        "kind",
        [SymbolInvariantForSequenceClassification, SymbolInvariantForTokenClassification, SymbolInvariantForMaskedLM],
    )
    def test_in_an_encoder(self, kind):
        model, batch = kind(tiny_config(decoder_layers=0, grammar=None, components=["EP", "EA"])).eval(), pad(self.ROWS)
        assert torch.equal(model(batch["input_ids"]).logits, model(**batch).logits)

    @pytest.mark.parametrize("symbol_embedding", ["streams", "learned"])
    @pytest.mark.parametrize("side", ["left", "right"])
    def test_in_a_decoder_also_piece_by_piece(self, side, symbol_embedding):
        model = language_model(symbol_embedding=symbol_embedding)
        batch = pad([[3, 5, 4, 3, 2], [2, 4, 4]], side)
        expected = model(**batch).logits
        first = model(batch["input_ids"][:, :2], use_cache=True)
        second = model(batch["input_ids"][:, 2:], cache=first.cache)
        for found, start, stop in ((first, 0, 2), (second, 2, 5), (model(batch["input_ids"]), 0, 5)):
            is_token = batch["attention_mask"][:, start:stop].bool()
            width = found.logits.shape[2]
            torch.testing.assert_close(found.logits[is_token], expected[:, start:stop, :width][is_token])
        assert torch.equal(model.generate(batch["input_ids"]), model.generate(**batch))

    def test_padding_that_is_the_end_token_tells_nothing(self):
        model, batch = tiny_model(pad_token_id=EOS), pad(self.ROWS, value=EOS)
        whole = torch.ones_like(batch["input_ids"])
        expected = model(batch["input_ids"], whole).logits
        assert torch.equal(model(batch["input_ids"]).logits, expected)

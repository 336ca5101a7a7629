"""Every field of GenerationConfig works as in transformers' own models, or is refused with a sentence.

What works is compared with decoding in id space: a loop over the model's forward pass with the processors of
`transformers`, which is greedy and knows no slots. `gpt2` is GPT-2 itself, whose `generate` is transformers' own.
"""

import re
from functools import partial
from importlib.metadata import version

import pytest
import torch
from transformers import GenerationConfig, StoppingCriteria
from transformers.generation import logits_process as processors
from transformers.modeling_outputs import BaseModelOutput, CausalLMOutputWithPast, Seq2SeqLMOutput

from hf_symbinv import IdentityGPT2Config, IdentityGPT2LMHeadModel, SymbolInvariantTokenizer
from hf_symbinv.modeling.arguments_symbinv import REFUSED

from .tiny import BASE, EOS, PAD, START, TOKENS, pad, rename, tiny_decoder, tiny_model

SOURCES = [[5, BASE, 12, BASE + 3, EOS], [12, BASE + 1, EOS], [5, 5, BASE + 4, BASE + 2, BASE, EOS]]
RENAMING = {0: 1, 1: 3, 2: 0, 3: 4, 4: 2}
NEW = 9
PINNED = "5.23.0"


def processor_of(name, *arguments):
    """A processor of transformers by name, of ids in the batch's id space."""
    return lambda source: getattr(processors, name)(*(source if value is ... else value for value in arguments))


# Fields that change the next token's scores: a value, and transformers' processor of ids that means the same.
SCORES = {
    "repetition_penalty": (5.0, processor_of("RepetitionPenaltyLogitsProcessor", 5.0)),
    "encoder_repetition_penalty": (0.2, processor_of("EncoderRepetitionPenaltyLogitsProcessor", 0.2, ...)),
    "no_repeat_ngram_size": (1, processor_of("NoRepeatNGramLogitsProcessor", 1)),
    "encoder_no_repeat_ngram_size": (1, processor_of("EncoderNoRepeatNGramLogitsProcessor", 1, ...)),
    "bad_words_ids": ([[6]], processor_of("NoBadWordsLogitsProcessor", [[6]], EOS)),
    "sequence_bias": ([[[7], 50.0]], processor_of("SequenceBiasLogitsProcessor", [[[7], 50.0]])),
    "suppress_tokens": ([6, 8], processor_of("SuppressTokensLogitsProcessor", [6, 8])),
    "begin_suppress_tokens": ([6], processor_of("SuppressTokensAtBeginLogitsProcessor", [6], 1)),
    "forced_bos_token_id": (7, processor_of("ForcedBOSTokenLogitsProcessor", 7)),
    "forced_eos_token_id": (7, processor_of("ForcedEOSTokenLogitsProcessor", 1 + NEW, 7)),
    "min_length": (8, processor_of("MinLengthLogitsProcessor", 8, EOS)),
    "min_new_tokens": (7, processor_of("MinNewTokensLengthLogitsProcessor", 1, 7, EOS)),
    "exponential_decay_length_penalty": ((2, 50.0), processor_of("ExponentialDecayLengthPenalty", (2, 50.0), EOS, 1)),
    "remove_invalid_values": (True, lambda source: lambda ids, scores: scores),
    "renormalize_logits": (True, processor_of("LogitNormalization")),
}
# Fields of sampling whose value leaves the likeliest token alone.
GREEDY_SAMPLES = {
    "top_k": 1, "top_p": 1e-6, "min_p": 0.999, "top_h": 1e-3, "epsilon_cutoff": 0.999, "temperature": 1e-4,
}  # fmt: skip
# Fields that other tests here and beside here decode with; those of assistants and caches do nothing alone.
ELSEWHERE = {
    "do_sample", "typical_p", "eta_cutoff", "num_beams", "early_stopping", "length_penalty", "max_length",
    "max_new_tokens", "max_time", "use_cache", "num_return_sequences", "output_attentions", "output_hidden_states",
    "output_scores", "output_logits", "return_dict_in_generate", "pad_token_id", "bos_token_id", "eos_token_id",
    "decoder_start_token_id", "compile_config", "disable_compile",
    "max_matching_ngram_size", "num_assistant_tokens", "num_assistant_tokens_schedule",
    "assistant_confidence_threshold", "assistant_lookbehind", "target_lookbehind", "assistant_ensemble_weight",
    "transformers_version", "continuous_batching_config", "stop_strings",
}  # fmt: skip
# Argument → a value that asks for it.
REFUSED_VALUES = {
    "watermarking_config": {"bias": 3.0}, "assistant_model": "model", "prompt_lookup_num_tokens": 3,
    "custom_generate": print, "cache_implementation": "static", "dola_layers": "low", "num_beam_groups": 2,
    "force_words_ids": [[7]], "guidance_scale": 3.0,
}  # fmt: skip


def model():
    return tiny_model(spread=0.8, seed=3)


def gpt2():
    sizes = {"n_embd": 12, "n_layer": 2, "n_head": 3, "n_positions": 32, "vocab_size": 31}
    return IdentityGPT2LMHeadModel(IdentityGPT2Config(**sizes, bos_token_id=1, eos_token_id=2, pad_token_id=3)).eval()


def answers(sources=None, **arguments):
    torch.manual_seed(0)
    return model().generate(**pad(sources or SOURCES), grammar=None, **{"max_new_tokens": NEW, **arguments})


def greedy_in_id_space(source, processor):
    """The likeliest token after another, with ids only: no slots, no cache, no `generate`."""
    reader, source = model(), torch.tensor([source])
    written, adjust = torch.tensor([[START]]), processor(source)
    while written.shape[1] <= NEW and written[0, -1] != EOS:
        with torch.no_grad():
            scores = reader(source, decoder_input_ids=written).logits[:, -1].float()
        scores[:, [START, PAD]] = -torch.inf
        written = torch.cat((written, adjust(written, scores).argmax(1, keepdim=True)), 1)
    return written[0].tolist()


def without_padding(answer):
    tokens = answer.tolist()
    return tokens[: tokens.index(EOS) + 1] if EOS in tokens else tokens


def test_every_field_of_the_generation_config_has_its_place():
    fields = {name for name in vars(GenerationConfig()) if not name.startswith("_")}
    refused = set(REFUSED)
    works = set(SCORES) | set(GREEDY_SAMPLES) | ELSEWHERE
    assert not refused & works
    if version("transformers") != PINNED:
        # On another version a new field is news, not a failure: the message says which ones need a place.
        pytest.skip(f"fields of another version that have no place: {sorted(fields - refused - works)}")
    assert fields - refused - works == set() and works <= fields


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_scores_are_changed_as_in_id_space_and_follow_a_renaming(name):
    value, processor = SCORES[name]
    found = answers(**{name: value})
    assert [without_padding(row) for row in found] == [greedy_in_id_space(source, processor) for source in SOURCES]
    renamed = answers([rename(torch.tensor(source), RENAMING).tolist() for source in SOURCES], **{name: value})
    assert torch.equal(renamed, rename(found, RENAMING))


@pytest.mark.parametrize("name", GREEDY_SAMPLES)
def test_sampling_that_leaves_the_likeliest_token_is_greedy(name):
    assert torch.equal(answers(do_sample=True, **{name: GREEDY_SAMPLES[name]}), answers())


@pytest.mark.parametrize("given", [{"typical_p": 0.4}, {"eta_cutoff": 0.5}, {"top_k": 3}, {"num_beams": 3}])
def test_samples_follow_a_renaming(given):
    found = answers(do_sample=True, **given)
    renamed = answers([rename(torch.tensor(source), RENAMING).tolist() for source in SOURCES], do_sample=True, **given)
    assert torch.equal(renamed, rename(found, RENAMING))


@pytest.mark.parametrize("name", REFUSED)
def test_both_models_refuse_what_symbols_cannot_follow_and_say_why(name):
    given = {name: REFUSED_VALUES.get(name, True)}
    for call in (answers, partial(tiny_decoder().generate, torch.tensor([[5, BASE]]))):
        with pytest.raises(ValueError, match=rf"^{name}=.*{re.escape(REFUSED[name])}; leave this argument out"):
            call(**given)


@pytest.mark.parametrize("name", ["num_beams", "num_return_sequences", "early_stopping"])
@pytest.mark.parametrize("value", [-1, 2.5, "3", "always"])
def test_numbers_and_words_that_mean_nothing_are_refused(name, value):
    for call in (answers, partial(tiny_decoder().generate, torch.tensor([[5, BASE]]))):
        with pytest.raises(ValueError, match=rf"^{name}={value!r}: must be "):
            call(**{name: value})


def test_what_is_refused_is_also_found_in_a_generation_config():
    config = GenerationConfig(max_new_tokens=3, watermarking_config={"bias": 3.0})
    with pytest.raises(ValueError, match=r"^watermarking_config=a WatermarkingConfig: "):
        model().generate(torch.tensor(SOURCES[:1]), config)
    reader = tiny_decoder()
    reader.generation_config.token_healing = True
    with pytest.raises(ValueError, match=r"^token_healing=True"):
        reader.generate(torch.tensor([[5, BASE]]))


def test_values_that_ask_for_nothing_are_accepted():
    nothing = {"guidance_scale": 1.0, "num_beam_groups": 1, "diversity_penalty": 0.0, "token_healing": False}
    assert torch.equal(answers(**nothing), answers())


@pytest.mark.parametrize("make", [model, tiny_decoder, gpt2])
def test_continuous_batching_is_refused(make):
    reader = make()
    for call in (reader.generate_batch, reader.init_continuous_batching):
        with pytest.raises(
            ValueError, match=rf"continuous batching .*{type(reader).__name__} reads no paged cache; use gen"
        ):
            call([[5, 6]])
    with pytest.raises(ValueError, match="paged"):
        reader.generate(torch.tensor([[5, 6]]), cache_implementation="paged")


def test_a_function_of_allowed_tokens_reads_and_returns_ids():
    seen = []

    def allowed(index, written):
        seen.append((index, written.tolist()))
        return [SOURCES[index][-2], BASE + 6]  # no input has the second

    found = answers(prefix_allowed_tokens_fn=allowed, max_new_tokens=2)
    assert found.tolist() == [[START] + [source[-2]] * 2 for source in SOURCES]
    assert seen == [
        *((index, [START]) for index in range(3)),
        *((index, [START, source[-2]]) for index, source in enumerate(SOURCES)),
    ]
    with pytest.raises(ValueError, match=rf"allows \[{BASE + 3}\] only, symbols that input 1 does not have; allow one"):
        answers(prefix_allowed_tokens_fn=lambda index, written: [BASE + 3])


def test_a_function_of_allowed_tokens_gets_the_input_of_each_of_several_samples():
    samples = {"do_sample": True, "num_return_sequences": 2, "max_new_tokens": 2}
    found = answers(prefix_allowed_tokens_fn=lambda index, written: [SOURCES[index][-2]], **samples)
    assert found.tolist() == [[START] + [source[-2]] * 2 for source in SOURCES for _ in range(2)]


def test_what_the_encoder_returned_is_decoded_and_nothing_else():
    reader, batch = model(), pad(SOURCES)
    expected = reader(**batch, output_hidden_states=True, output_attentions=True)
    given = reader.get_encoder()(**batch, output_hidden_states=True, output_attentions=True)
    found = reader(encoder_outputs=given, attention_mask=batch["attention_mask"])
    assert torch.equal(found.logits, expected.logits)
    assert len(found.encoder_hidden_states) == len(expected.encoder_hidden_states)
    assert torch.equal(found.encoder_attentions[0], expected.encoder_attentions[0])
    foreign = BaseModelOutput(last_hidden_state=expected.encoder_last_hidden_state)
    for labels in (None, torch.tensor([[EOS]] * 3)):
        with pytest.raises(ValueError, match=r"encoder_outputs is a BaseModelOutput without .*; pass what get_encoder"):
            reader(encoder_outputs=foreign, labels=labels)


def test_the_encoder_has_its_own_parameters_and_the_mode_of_the_model():
    reader = model()
    own = {id(parameter) for parameter in reader.get_encoder().parameters()}
    assert own == {id(one) for part in (reader.model.embedding, reader.model.encoder) for one in part.parameters()}
    assert reader.get_encoder().training is reader.training is False


def test_a_tuple_holds_what_barts_does_in_its_order():
    asked = {"output_hidden_states": True, "output_attentions": True}
    ids, reader = torch.tensor(SOURCES[:1]), model()
    outputs = (reader(ids, **asked), tiny_decoder()(ids, **asked), reader.get_encoder()(ids, **asked))
    theirs = (Seq2SeqLMOutput, CausalLMOutputWithPast, BaseModelOutput)
    for output, their in zip(outputs, theirs, strict=True):
        names = ("cache" if name == "past_key_values" else name for name in their.__dataclass_fields__)
        expected = [name for name in names if name in output]
        assert list(output)[: len(expected)] == expected and output.to_tuple()[0] is output[expected[0]]


def test_time_and_token_limits_end_an_answer():
    assert answers(max_time=0.0).shape[1] == 2
    assert answers(max_length=6, max_new_tokens=None).shape[1] == 6


def test_each_input_may_have_a_start_token_of_its_own():
    assert answers(decoder_start_token_id=[4, 5, 6])[:, 0].tolist() == [4, 5, 6]


class TestStopStrings:
    @pytest.fixture
    def tokenizer(self):
        return SymbolInvariantTokenizer(TOKENS)

    @pytest.mark.parametrize("beams", [1, 3])
    def test_an_answer_ends_with_the_token_that_completes_one(self, tokenizer, beams):
        free = answers(num_beams=beams)
        stopped = answers(num_beams=beams, stop_strings=["&", "X"], tokenizer=tokenizer)
        wanted = {TOKENS.index("&"), TOKENS.index("X")}
        for row, before in zip(stopped.tolist(), free.tolist(), strict=True):
            written = [token for token in row[1:] if token != PAD]
            assert not wanted & set(written[:-1])
            if beams == 1:
                end = next((place for place, token in enumerate(before) if token in wanted), len(before))
                assert row[: end + 1] == before[: end + 1]

    def test_need_a_tokenizer(self):
        with pytest.raises(ValueError, match=r"stop_strings=\['&'\]: which tokens spell them .*; pass tokenizer="):
            answers(stop_strings=["&"])


def test_criteria_end_texts_and_see_slot_ids():
    seen = []

    class Long(StoppingCriteria):
        def __call__(self, input_ids, scores, **kwargs):
            seen.append(int(input_ids.max()))
            return torch.full((len(input_ids),), input_ids.shape[1] >= 4)

    for beams in (1, 3):
        assert answers(num_beams=beams, stopping_criteria=[Long()]).shape[1] <= 4
    assert max(seen) < BASE + 3  # no question has more than three symbols

"""The decoder-only language model: what it computes, what renaming does to it, how it trains and how it goes on."""

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForSeq2SeqLM

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForCausalLM
from hf_symbinv.modeling.layers_symbinv import RelativeBias

from .reference import CausalReference, cross_entropy, t5_bucket
from .tiny import gradients, randomised, rename

BASE, SYMBOLS, PAD = 3, 7, 1
SIZES = {
    "base_vocab_size": BASE, "num_symbols": SYMBOLS, "d_model": 18, "encoder_layers": 0, "decoder_layers": 2,
    "num_attention_heads": 3, "d_ff": 11, "dropout": 0.0, "symbol_embedding": "gaussian", "decoder_positions": "t5",
    "loss": "cross_entropy", "normalize_embeddings": False, "normalize_features": False,
}  # fmt: skip
IDENTITY = {"identity_qk": True, "identity_vo": True, "identity_multiplier": 1.7}


def config(**changes) -> SymbolInvariantConfig:
    return SymbolInvariantConfig(**{**SIZES, **changes})


def language_model(*, seed=0, dtype=torch.float64, attention="sdpa", **changes) -> SymbolInvariantForCausalLM:
    made = config(**changes)
    made._attn_implementation = attention
    return randomised(SymbolInvariantForCausalLM(made), seed=seed, dtype=dtype, identity=0.05)


def text(batch=2, length=6, seed=1) -> torch.Tensor:
    """Ids without padding, which a model infers."""
    ids = torch.randint(0, BASE + SYMBOLS, (batch, length), generator=torch.Generator().manual_seed(seed))
    return ids.masked_fill(ids == PAD, BASE)


def draw(model, batch=2, seed=2) -> torch.Tensor | None:
    vectors = model.draw(batch, torch.Generator().manual_seed(seed))
    return None if vectors is None else vectors.detach()


def renamed(ids, permutation) -> torch.Tensor:
    return rename(ids, permutation.tolist(), base=BASE)


def oracle(model, ids, vectors=None) -> np.ndarray:
    return np.stack(
        [
            CausalReference(model, None if vectors is None else vectors[row].double().numpy()).read(tokens)
            for row, tokens in enumerate(ids.tolist())
        ]
    )


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"decoder_positions": "rope"},
        {"decoder_positions": "sinusoidal"},
        {"normalize_embeddings": True, "normalize_features": True, "loss": "adacos"},
        {"random_share": 0.4},
        IDENTITY,
        {**IDENTITY, "identity_vo": False},
        {**IDENTITY, "identity_qk": False, "decoder_positions": "rope"},
        {**IDENTITY, "norm_first": True},
    ],
    ids=str,
)
def test_a_gaussian_language_model_is_the_papers_formula(changes, attention):
    model, ids = language_model(**changes, attention=attention), text()
    vectors = draw(model)
    with torch.no_grad():
        np.testing.assert_allclose(model(ids, slot_vectors=vectors).logits, oracle(model, ids, vectors), atol=1e-10)
        # One token at a time, from the cache.
        cache, steps = None, []
        for token in ids.split(1, dim=1):
            output = model(token, past_key_values=cache, slot_vectors=vectors, use_cache=True)
            cache = output.past_key_values
            steps.append(output.logits)
    np.testing.assert_allclose(torch.cat(steps, 1), oracle(model, ids, vectors), atol=1e-10)


@pytest.mark.parametrize("symbol_embedding", ["learned", "renamed"])
def test_a_model_of_learned_rows_is_one_too(symbol_embedding):
    model, ids = language_model(symbol_embedding=symbol_embedding), text()
    with torch.no_grad():
        np.testing.assert_allclose(model(ids).logits, oracle(model, ids), atol=1e-10)
    assert model.draw(2) is None


def test_long_distances_have_t5s_buckets():
    distances = torch.arange(300)
    assert RelativeBias(config()).bucket(distances).tolist() == [t5_bucket(distance) for distance in range(300)]


def test_padding_on_the_left_changes_no_logit():
    model, ids = language_model(decoder_positions="rope", **IDENTITY), text()
    vectors = draw(model)
    padded = torch.nn.functional.pad(ids, (3, 0), value=1)
    mask = (torch.arange(9) >= 3).long().expand(2, -1)
    with torch.no_grad():
        whole, logits = model(ids, slot_vectors=vectors), model(padded, mask, slot_vectors=vectors)
    torch.testing.assert_close(logits.logits[:, 3:], whole.logits, atol=1e-12, rtol=0)
    torch.testing.assert_close(model(ids, slot_vectors=vectors, logits_to_keep=2).logits, whole.logits[:, -2:])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("changes", [{}, IDENTITY, {"random_share": 0.5}])
def test_a_renamed_text_with_the_draw_renamed_alongside_has_the_same_loss_bit_for_bit(dtype, changes):
    model, ids = language_model(**changes, dtype=dtype).train(), text(length=9)
    vectors = draw(model)
    natural, permutation = torch.arange(SYMBOLS).expand(2, -1), torch.randperm(SYMBOLS)
    plain = model(ids, labels=ids, slot_vectors=vectors, slot_referents=natural)
    other = renamed(ids, permutation)
    # Slot s has the same row, and is now the symbol that s was renamed to.
    moved = model(other, labels=other, slot_vectors=vectors, slot_referents=permutation[natural])
    assert torch.equal(plain.loss, moved.loss)
    columns = torch.cat((torch.arange(BASE), BASE + permutation))
    assert torch.equal(plain.logits, moved.logits[..., columns])
    assert torch.equal(plain.logits, model(ids, slot_vectors=vectors).logits)
    # The same said with rows: those of the renamed symbols are permuted.
    rows = torch.empty_like(vectors)
    rows[:, permutation] = vectors
    torch.testing.assert_close(model(other, labels=other, slot_vectors=rows).loss, plain.loss)


def test_several_draws_give_the_mean_of_the_probabilities():
    model, ids = language_model(), text()
    vectors = draw(model, batch=6)
    with torch.no_grad():
        together = model(ids, labels=ids, slot_vectors=vectors, num_draws=3)
        single = torch.stack([model(ids, slot_vectors=vectors[start::3]).logits.softmax(-1) for start in range(3)])
        order = torch.arange(SYMBOLS).flip(0).expand(2, -1)
        flipped = model(ids, slot_vectors=vectors.flip(1), slot_referents=order, num_draws=3).logits
    torch.testing.assert_close(together.logits.exp(), single.mean(0))
    torch.testing.assert_close(together.logits, flipped)
    expected = cross_entropy(together.logits[:, :-1].flatten(0, 1).tolist(), ids[:, 1:].flatten().tolist())
    assert together.loss.item() == pytest.approx(expected)


def test_every_sequence_and_every_forward_has_its_own_draw():
    model, ids = language_model(), text(1).expand(2, -1)
    first, second = (model(ids).slot_vectors for _ in range(2))
    assert first.shape == (2, SYMBOLS, 18) and len({*first[:, 0, 0].tolist(), second[0, 0, 0].item()}) == 3


class TestShare:
    def test_gaussian_rows_replace_that_share_of_the_learned_ones_in_training_and_none_in_evaluation(self):
        model = language_model(random_share=0.25).train()
        learned = model.model.embedding.weight[BASE:] * 18**0.5
        rows = model.draw(2000)
        kept = (rows == learned).all(2)
        assert kept.any(1).all() and 0.73 < kept.double().mean() < 0.77
        assert abs(rows[~kept].mean()) < 0.02 and abs(rows[~kept].std() - 1) < 0.02
        assert torch.equal(model.eval().draw(3), learned.expand(3, -1, -1))

    @pytest.mark.parametrize("share", [1.0, 0.3])
    def test_renamed_permutes_that_share_per_sequence_in_training_and_none_in_evaluation(self, share):
        model = language_model(symbol_embedding="renamed", random_share=share).train()
        natural = torch.arange(SYMBOLS)
        referents = model.model.embedding.assign(torch.zeros(3000, 1, dtype=torch.long)).referents
        assert torch.equal(referents.sort(1).values, natural.expand(3000, -1))
        # Of m that move, one on average stays where it is.
        fixed = (referents == natural).double().sum(1).mean()
        nobody = (1 - share) ** SYMBOLS
        assert fixed == pytest.approx(SYMBOLS * (1 - share) + 1 - nobody, abs=0.1)
        assert torch.equal(model.eval()(text()).slot_referents, natural.expand(2, -1))

    def test_renamed_reads_and_predicts_with_the_permuted_rows(self):
        model, ids = language_model(symbol_embedding="renamed").train(), text()
        torch.manual_seed(3)
        output = model(ids, labels=ids)
        model.eval()
        for row, order in enumerate(output.slot_referents):
            slot = order.argsort()
            logits = model(renamed(ids[row : row + 1], slot)).logits[0]
            columns = torch.cat((torch.arange(BASE), BASE + slot))
            torch.testing.assert_close(output.logits[row], logits[:, columns])
        expected = cross_entropy(output.logits[:, :-1].flatten(0, 1).tolist(), ids[:, 1:].flatten().tolist())
        assert output.loss.item() == pytest.approx(expected)


class TestTraining:
    @pytest.mark.parametrize("loss", ["cross_entropy", "adacos"])
    def test_the_loss_is_the_mean_cross_entropy_of_the_next_tokens_that_are_labelled(self, loss):
        normal = loss == "adacos"
        model = language_model(loss=loss, normalize_embeddings=normal, normalize_features=normal)
        ids = text()
        labels = ids.clone()
        labels[0, :3] = labels[1, 5] = -100
        output = model(ids, labels=labels)
        keep = labels[:, 1:] != -100
        rows, targets = output.logits[:, :-1][keep].tolist(), labels[:, 1:][keep].tolist()
        assert output.loss.item() == pytest.approx(cross_entropy(rows, targets))
        total = model(ids, labels=labels, slot_vectors=output.slot_vectors, num_items_in_batch=torch.tensor(5)).loss
        assert total.item() == pytest.approx(output.loss.item() * len(targets) / 5)
        shifted = torch.cat((labels[:, 1:], torch.full((len(labels), 1), -100)), dim=1)
        given = model(ids, shift_labels=shifted, slot_vectors=output.slot_vectors)
        assert given.loss.item() == pytest.approx(output.loss.item()) and given.past_key_values is None

    def test_fused_and_written_out_attention_give_the_same_gradients_on_long_texts(self):
        ids, models = text(length=70), [language_model(attention=attention) for attention in ("sdpa", "eager")]
        one, other = (gradients(model, input_ids=ids, labels=ids, slot_vectors=draw(model)) for model in models)
        for name, gradient in one.items():
            torch.testing.assert_close(other[name], gradient)

    @pytest.mark.slow
    @pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # dynamo's, at a break
    @pytest.mark.parametrize("changes", [{}, {"random_share": 0.5}])
    def test_a_compiled_model_takes_the_smaller_last_batch_of_an_epoch(self, changes):
        model = language_model(dtype=torch.float32, decoder_layers=1, **changes).train()
        compiled, losses = torch.compile(model, backend="aot_eager"), []
        for function in (model, compiled):
            torch.manual_seed(4)
            losses.append([function(ids, labels=ids).loss for ids in map(text, (3, 2))])
        torch.testing.assert_close(*losses)
        torch._dynamo.reset()


class TestGeneration:
    @pytest.mark.parametrize("options", [{}, {"num_beams": 3}, {"num_beams": 4, "num_return_sequences": 2}])
    def test_with_and_without_a_cache_the_same_is_written_with_one_draw(self, options):
        model, ids = language_model(**IDENTITY), text()
        mask = torch.ones_like(ids)
        mask[0, :2] = 0
        settings = {
            "attention_mask": mask, "max_new_tokens": 7, "slot_vectors": draw(model), "pad_token_id": 1, **options,
        }  # fmt: skip
        written = model.generate(ids, **settings)
        assert torch.equal(written, model.generate(ids, use_cache=False, **settings))
        assert written.shape == (2 * options.get("num_return_sequences", 1), 13)

    def test_greedy_writes_the_most_likely_token_under_the_draw_of_the_whole_generation(self):
        model, ids = language_model(eos_token_id=None), text()
        vectors = draw(model)
        written = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=5, slot_vectors=vectors)
        for length in range(6, 11):
            logits = model(written[:, :length], slot_vectors=vectors).logits[:, -1]
            assert torch.equal(logits.argmax(1), written[:, length])

    def test_sampling_keeps_one_draw_and_the_default_draw_follows_the_seed(self):
        model, ids = language_model(), text()
        settings = {"max_new_tokens": 5, "do_sample": True, "num_return_sequences": 3}
        written = []
        for _ in range(2):
            torch.manual_seed(7)
            written.append(model.generate(ids, **settings))
        assert torch.equal(*written) and len(written[0]) == 6


@pytest.mark.parametrize(
    ("symbol_embedding", "kept", "table"),
    [("gaussian", 1.0, 3 + 2), ("gaussian", 0.2, 3 + 7 + 2), ("learned", 1.0, 10)],
)
def test_the_parameters_are_those_of_the_blocks_and_the_rows(symbol_embedding, kept, table):
    model = SymbolInvariantForCausalLM(config(symbol_embedding=symbol_embedding, random_share=kept))
    d, f, heads = 18, 11, 3
    block = 4 * (d * d + d) + 2 * d + 2 * d * f + f + d + 2 * d
    assert sum(parameter.numel() for parameter in model.parameters()) == 2 * block + 32 * heads + table * d


def test_the_papers_size_has_151_million_parameters():
    with torch.device("meta"):
        model = SymbolInvariantForCausalLM(SymbolInvariantConfig.from_preset("lexinvariant"))
    assert round(sum(parameter.numel() for parameter in model.parameters()) / 1e6) == 151


class TestErrors:
    @pytest.mark.parametrize(
        ("changes", "arguments", "message"),
        [
            ({}, {"input_ids": [[10]]}, r"symbol id 10: this model has rows for 7 symbols only.*raise num_symbols"),
            ({"random_share": 0.5}, {"input_ids": [[10]]}, 'symbol id 10: .* use a model with "streams" or "random"'),
            ({}, {"input_ids": [[3]], "labels": [[10]]}, "symbol id 10: this model has rows for 7 symbols only"),
            ({}, {"input_ids": [[-3]]}, "input id -3: ids must not be negative"),
            ({}, {"input_ids": [3]}, r"input_ids has shape \(1,\); it must be \(batch, length\)"),
            ({}, {"input_ids": [[3, 4]], "attention_mask": [[1]]}, r"attention_mask has shape \(1, 1\).* be \(1, 2\)"),
            ({}, {"input_ids": [[3]], "slot_vectors": [[[0.0]]]}, r"slot_vectors has shape \(1, 1, 1\); it must be"),
            (
                {"symbol_embedding": "learned"},
                {"input_ids": [[3]], "slot_vectors": [[[0.0]]]},
                'slot_vectors: symbol_embedding="learned" draws none; leave them out',
            ),
            (
                {},
                {"input_ids": [[3]], "slot_referents": [[0, 1, 2, 3, 4, 5, 5]]},
                r"slot_referents of shape \(1, 7\): must be \(1, 7\), and every row must have each referent 0 … 6 once",
            ),
            ({}, {"input_ids": [[3]], "num_draws": 0}, "num_draws=0: at least 1, with a cache 1"),
            ({}, {"input_ids": [[3]], "num_draws": 2, "use_cache": True}, "num_draws=2: at least 1"),
        ],
    )  # fmt: skip
    def test_an_impossible_call_is_refused(self, changes, arguments, message):
        given = {name: torch.tensor(value) if isinstance(value, list) else value for name, value in arguments.items()}
        with pytest.raises(ValueError, match=message):
            language_model(**changes)(**given)

    def test_a_cache_without_its_rows_is_refused(self):
        model, ids = language_model(), text()
        cache = model(ids, use_cache=True).past_key_values
        with pytest.raises(ValueError, match="past_key_values without slot_vectors: the cached tokens were read with"):
            model(ids[:, :1], past_key_values=cache)

    def test_generate_needs_an_input_and_one_draw(self):
        with pytest.raises(ValueError, match=r"generate\(\) got no input_ids"):
            language_model().generate()
        with pytest.raises(ValueError, match="num_draws=2: generate continues a sequence with one draw"):
            language_model().generate(text(), num_draws=2)

    def test_models_of_another_kind_refuse_the_configuration_and_name_the_right_one(self):
        for auto in (AutoModel, AutoModelForSeq2SeqLM):
            with pytest.raises(
                ValueError,
                match=r"encoder_layers=0, .* is decoder-only, Symbol.* encoder-decoder; use AutoModelForCausalLM",
            ):
                auto.from_config(config())
        with pytest.raises(ValueError, match="SymbolInvariantForCausalLM decoder-only; use AutoModelForSeq2SeqLM"):
            SymbolInvariantForCausalLM(SymbolInvariantConfig())


class TestSaving:
    def test_more_symbols_than_in_training_are_a_matter_of_the_configuration(self, tmp_path):
        language_model(dtype=torch.float32).save_pretrained(tmp_path)
        loaded = AutoModelForCausalLM.from_pretrained(tmp_path, num_symbols=50)
        assert loaded(torch.tensor([[BASE + 49]])).logits.shape == (1, 1, BASE + 50)

    def test_new_scalars_start_at_the_initial_value(self):
        model = SymbolInvariantForCausalLM(config(**IDENTITY, identity_initial=0.34))
        scalars = [parameter for name, parameter in model.named_parameters() if "identity" in name]
        assert len(scalars) == 4 and all(torch.allclose(part, torch.tensor(0.2)) for part in scalars)

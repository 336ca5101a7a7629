"""Encoders of transformers with streams: the law, what a copy sees, what is saved, training, and what is refused."""

import ast
import copy
import importlib
import re
import warnings
from functools import partial
from pathlib import Path

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    PreTrainedTokenizerFast,
    TokenClassificationPipeline,
    pipeline,
    set_seed,
)

from hf_symbinv import (
    SymbolInvariantEncoder,
    SymbolInvariantEncoderConfig,
    SymbolInvariantEncoderForSequenceClassification,
    SymbolInvariantEncoderForTokenClassification,
    SymbolInvariantSubwordTokenizer,
)
from hf_symbinv.modeling.slots_symbinv import Streams

from .tiny import pad, randomised

with warnings.catch_warnings():  # DeBERTa of transformers 5.10 compiles functions as it is imported
    warnings.simplefilter("ignore", DeprecationWarning)
    importlib.import_module("transformers.models.deberta_v2.modeling_deberta_v2")

BASE = 40
COMMON = {"vocab_size": BASE, "pad_token_id": 0}
BERT = {
    **COMMON, "model_type": "bert", "hidden_size": 12, "num_hidden_layers": 3, "num_attention_heads": 2,
    "intermediate_size": 10, "max_position_embeddings": 32, "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}  # fmt: skip
ENCODERS = {
    "bert": BERT,
    "roberta": {**BERT, "model_type": "roberta"},
    "deberta-v2": {
        **BERT, "model_type": "deberta-v2", "relative_attention": True, "pos_att_type": ["p2c", "c2p"],
        "position_buckets": 8,
    },
    "electra": {**BERT, "model_type": "electra", "embedding_size": 7},
    "distilbert": {
        **COMMON, "model_type": "distilbert", "dim": 12, "n_layers": 3, "n_heads": 2, "hidden_dim": 10,
        "max_position_embeddings": 32, "dropout": 0.0, "attention_dropout": 0.0,
    },
    "modernbert": {
        **COMMON, "model_type": "modernbert", "hidden_size": 12, "num_hidden_layers": 3, "num_attention_heads": 2,
        "intermediate_size": 10, "max_position_embeddings": 32, "bos_token_id": 1, "eos_token_id": 2,
        "cls_token_id": 1, "sep_token_id": 2,
    },
}  # fmt: skip
CLASSES = {
    SymbolInvariantEncoder: AutoModel,
    SymbolInvariantEncoderForSequenceClassification: AutoModelForSequenceClassification,
    SymbolInvariantEncoderForTokenClassification: AutoModelForTokenClassification,
}


configured = SymbolInvariantEncoderConfig


def made(kind="bert", cls=SymbolInvariantEncoder):
    """In evaluation mode, with random parameters, so that each one matters."""
    model = cls(configured(encoder=ENCODERS[kind], mixing_layers=2))
    return randomised(model, dtype=torch.float32, spread=0.3)


def unmixed(model):
    """The encoder of a model that mixes nothing any more; its rows 1 and 2 are those of `this` and `other`."""
    with torch.no_grad():
        model.gates.zero_()
        model.rest.weight.zero_()
        table = model.encoder.get_input_embeddings()
        table.weight[1], table.weight[2] = model.this, model.other
    return model.encoder


MADE = {kind: made(kind) for kind in ENCODERS}


batch_of = partial(pad, value=0)
# Rows of words and symbols of any numbers.
TOKENS = st.one_of(st.integers(3, BASE - 1), st.integers(BASE, BASE + 5))
ROWS = st.lists(st.lists(TOKENS, min_size=1, max_size=9), min_size=1, max_size=4)


def renamed(rows, generator):
    """Each row under another renaming, also to numbers that no row has."""
    found = []
    for row in rows:
        names = dict(zip(range(BASE, BASE + 6), generator.sample(range(BASE, BASE + 20), 6), strict=True))
        found.append([names.get(token, token) for token in row])
    return found


class TestTheLaw:
    @pytest.mark.parametrize("kind", ENCODERS)
    @settings(max_examples=25, deadline=None)
    @given(ROWS, st.randoms(use_true_random=False))
    def test_renaming_changes_no_vector_bit_for_bit(self, kind, rows, generator):
        with torch.no_grad():
            one, other = MADE[kind](**batch_of(rows)), MADE[kind](**batch_of(renamed(rows, generator)))
        for name in ("last_hidden_state", "pooler_output", "symbol_vectors"):
            assert torch.equal(one[name], other[name])

    @pytest.mark.parametrize("kind", ENCODERS)
    def test_order_of_symbols_and_other_texts_of_a_batch_matter_to_rounding_alone(self, kind):
        """Rows are padded and copied beside others, and the numbers of symbols are shuffled."""
        rows = [[5, BASE, 6, BASE + 1, 7, BASE + 2, BASE], [8, 9], [BASE + 3, 4, BASE + 3]]
        whole = MADE[kind](**batch_of(rows))
        for place, row in enumerate(rows):
            alone = MADE[kind](**batch_of([row]))
            torch.testing.assert_close(whole.pooler_output[place], alone.pooler_output[0], atol=1e-5, rtol=1e-4)
            states = whole.last_hidden_state[place, : len(row)]
            torch.testing.assert_close(states, alone.last_hidden_state[0], atol=1e-5, rtol=1e-4)
            vectors = whole.symbol_vectors[place, : alone.symbol_vectors.shape[1]]
            torch.testing.assert_close(vectors, alone.symbol_vectors[0], atol=1e-5, rtol=1e-4)


class TestCopies:
    def test_they_are_the_text_with_this_and_other_in_place_of_names(self):
        """Without mixing, the read-out is the mean over plain runs of the encoder, and at a symbol its own run."""
        model = made()
        encoder = unmixed(model)
        row = [5, BASE + 4, 6, BASE, BASE + 4, 7]
        first, second = [[5, 1, 6, 2, 1, 7]], [[5, 2, 6, 1, 2, 7]]
        runs = [encoder(torch.tensor(ids)).last_hidden_state[0] for ids in (first, second)]
        expected = sum(runs) / 2
        for place, run in ((1, 0), (3, 1), (4, 0)):
            expected[place] = runs[run][place]
        output = model(torch.tensor([row]))
        torch.testing.assert_close(output.last_hidden_state[0], expected)
        torch.testing.assert_close(output.pooler_output[0], expected.mean(0))
        torch.testing.assert_close(output.symbol_vectors[0], torch.stack([run.mean(0) for run in runs]))

    @pytest.mark.parametrize("kind", ENCODERS)
    def test_a_text_without_symbols_is_read_once_as_the_encoder_does(self, kind):
        ids = torch.tensor([[4, 5, 6]])
        torch.testing.assert_close(MADE[kind](ids).last_hidden_state, MADE[kind].encoder(ids).last_hidden_state)
        assert len(Streams.of(ids, None, BASE).example) == 1

    def test_they_hear_at_a_symbol_what_its_own_copy_knows(self):
        """With mixing, the first symbol hears which of the others is meant, though both look alike to it."""
        rows = [[BASE, 5, BASE + 1, 6, BASE + 2, 7, BASE + 1], [BASE, 5, BASE + 1, 6, BASE + 2, 7, BASE + 2]]
        for mixing_layers, is_told in ((0, False), (2, True)):
            model = SymbolInvariantEncoder(configured(encoder=BERT, mixing_layers=mixing_layers)).eval()
            vectors = model(**batch_of(rows)).symbol_vectors[:, 0]
            assert torch.allclose(vectors[0], vectors[1], atol=1e-6) != is_told


TEXTS = ["Anna owes Bob money", "it rains", "Bob pays . So Anna is kind"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny BERT with a fast tokenizer of its own, as other people save them."""
    base = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    base.pre_tokenizer, base.decoder = pre_tokenizers.Whitespace(), decoders.WordPiece()
    roles = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    base.train_from_iterator(
        [*TEXTS, "this other"], trainers.WordPieceTrainer(vocab_size=90, special_tokens=[*roles.values()])
    )
    base.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=base, model_max_length=16, **roles)
    path = tmp_path_factory.mktemp("encoder")
    fast.save_pretrained(path)
    set_seed(0)
    AutoModel.from_config(
        AutoConfig.for_model(**{**BERT, "vocab_size": len(fast), "max_position_embeddings": 16})
    ).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def of_bytes(tmp_path_factory):
    """The same with a tokenizer of bytes, as RoBERTa's."""
    base = Tokenizer(models.BPE())
    base.pre_tokenizer, base.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet, special = sorted(pre_tokenizers.ByteLevel.alphabet()), ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=special, initial_alphabet=alphabet)
    base.train_from_iterator(["it is this and that other one"] * 9, trainer)
    roles = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    fast = PreTrainedTokenizerFast(tokenizer_object=base, **roles)
    path = tmp_path_factory.mktemp("bytes")
    fast.save_pretrained(path)
    config = AutoConfig.for_model(**{**BERT, "model_type": "roberta", "vocab_size": len(fast)})
    AutoModel.from_config(config).save_pretrained(path)
    return path


def around(folder, cls=SymbolInvariantEncoder, **fields):
    return cls.around(str(folder), "[A-Z][a-z]+", ["So"], config={"mixing_layers": 1, "num_labels": 3, **fields})


class TestAround:
    def test_it_has_the_weights_of_the_encoder_and_starts_from_words_that_it_knows(self, folder):
        model, tokenizer = around(folder)
        given, fast = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
        own = model.encoder.state_dict()
        assert all(
            torch.equal(own[name], weight) for name, weight in given.state_dict().items() if "pooler" not in name
        )
        table = given.get_input_embeddings().weight
        for vector, word in ((model.this, "this"), (model.other, "other")):
            assert torch.equal(vector, table[fast.convert_tokens_to_ids(word)])
        assert tokenizer.vocab_size == len(fast) and tokenizer.model_max_length == 16

    def test_it_has_the_labels_of_the_encoder_unless_others_are_given_and_mixes_no_more_layers_than_there_are(
        self, folder, tmp_path
    ):
        AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path)
        labels = {"id2label": dict(enumerate("abc")), "label2id": {"a": 0, "b": 1, "c": 2}}
        source = AutoModelForSequenceClassification.from_pretrained(folder, num_hidden_layers=2, **labels)
        source.save_pretrained(tmp_path)
        model, _ = SymbolInvariantEncoderForSequenceClassification.around(str(tmp_path), "[A-Z]+")
        assert model.config.id2label == labels["id2label"] and model.config.label2id == labels["label2id"]
        assert model.classifier.out_features == 3 and model.config.mixing_layers == 2
        assert around(tmp_path, num_labels=5)[0].config.num_labels == 5

    def test_base_text_has_the_ids_of_the_encoders_own_tokenizer_and_each_name_is_one_token(self, folder):
        _, tokenizer = around(folder)
        fast = AutoTokenizer.from_pretrained(folder)
        assert tokenizer("it rains")["input_ids"] == fast("it rains")["input_ids"]
        batch = tokenizer("Wilhelmina owes Bob money, Bob pays. So Bob is kind", padding=True)
        assert batch.symbols == ["Wilhelmina", "Bob"]
        assert [token - len(fast) for token in batch["input_ids"] if token >= len(fast)] == [0, 1, 1, 1]

    @pytest.mark.parametrize("cls", CLASSES)
    def test_it_is_saved_and_loaded_as_other_checkpoints(self, folder, cls, tmp_path):
        model, tokenizer = around(folder, cls)
        model.save_pretrained(tmp_path)
        tokenizer.save_pretrained(tmp_path)
        assert {"model.safetensors", "encoder_symbinv.py", "configuration_encoder_symbinv.py"} <= {
            p.name for p in tmp_path.iterdir()
        }
        assert str(folder.parent) not in (tmp_path / "config.json").read_text()
        loaded = CLASSES[cls].from_pretrained(tmp_path)
        assert type(loaded) is cls and type(loaded.config.encoder).model_type == "bert"
        again = AutoTokenizer.from_pretrained(tmp_path)
        assert isinstance(again, SymbolInvariantSubwordTokenizer)
        batch = again(TEXTS, padding=True, return_tensors="pt")
        torch.testing.assert_close(loaded(**batch)[0], model(**batch)[0])
        assert {name for name, _ in loaded.named_parameters()} == {name for name, _ in model.named_parameters()}

    def test_a_copy_of_a_model_mixes_by_its_own_gates(self, folder):
        model, tokenizer = around(folder)
        batch = tokenizer(TEXTS, padding=True, return_tensors="pt")
        before, other = model(**batch).pooler_output, copy.deepcopy(model)
        with torch.no_grad():
            other.gates.fill_(2.0)
        assert not torch.allclose(other(**batch).pooler_output, before)
        assert torch.equal(model(**batch).pooler_output, before)

    def test_a_tokenizer_of_bytes_has_words_with_the_blank_before_them(self, of_bytes):
        fast = AutoTokenizer.from_pretrained(of_bytes)
        model, tokenizer = around(of_bytes)
        assert torch.equal(model.this, model.get_input_embeddings().weight[fast.convert_tokens_to_ids("Ġthis")])
        one, other = (tokenizer(text, return_tensors="pt") for text in ("Anna is that", "Wilhelmina is that"))
        assert torch.equal(model(**one).pooler_output, model(**other).pooler_output)

    @pytest.mark.filterwarnings("ignore:Tokenizer does not support real words")
    @pytest.mark.parametrize("strategy", ["none", "simple", "first", "average", "max"])
    def test_a_pipeline_of_tokens_has_names_as_words_at_their_places(self, folder, of_bytes, strategy, tmp_path):
        text, labels = "it Anna owes Wilhelmi money Bo", {number: f"B-{number}" for number in range(3)}
        for source in (folder, of_bytes):
            model, tokenizer = around(source, SymbolInvariantEncoderForTokenClassification, id2label=labels)
            model.save_pretrained(tmp_path)
            tokenizer.save_pretrained(tmp_path)
            options = {"model": str(tmp_path), "aggregation_strategy": strategy}
            ask = pipeline("token-classification", **options)
            found = [(one["word"].strip("Ġ "), one["start"], one["end"]) for one in ask(text)]
            names = [(word, start, start + len(word)) for word, start in (("Anna", 3), ("Wilhelmi", 13), ("Bo", 28))]
            assert {*names} <= {*found} and (source != folder or [word for word, *_ in found] == text.split())
            other = pipeline("token-classification", pipeline_class=TokenClassificationPipeline, **options)
            assert "⟨symbol2⟩" in other(text)[-1]["word"]  # as where the package is not imported

    @pytest.mark.parametrize("cls", CLASSES)
    def test_states_and_attentions_are_given_on_request_for_each_copy(self, cls):
        """Without mixing, those of a copy are those of the encoder that reads the copy alone."""
        model = made(cls=cls)
        model.set_attn_implementation("eager")
        encoder = unmixed(getattr(model, "model", model))
        batch, wanted = batch_of([[BASE + 4, 5, BASE], [7]]), {"output_hidden_states": True, "output_attentions": True}
        found = model(**batch, **wanted)
        for place, ids in ((0, [1, 5, 2]), (1, [2, 5, 1])):
            alone = encoder(torch.tensor([ids]), **wanted)
            for name in ("hidden_states", "attentions"):
                for one, other in zip(found[name], alone[name], strict=True):
                    torch.testing.assert_close(one[0, place], other[0])
        assert found.hidden_states[0].shape == (2, 2, 3, 12) and not found.hidden_states[-1][1, 1].any()
        assert model(**batch).get("hidden_states") is None and model(**batch).get("attentions") is None
        model.config.output_hidden_states = True
        assert len(model(**batch).hidden_states) == 4


# Names of one to three words, some of which begin others; sentences of words and of numbers that stand for names.
NAMES = st.lists(st.sampled_from(["Anna", "Bob", "Li", "Maria"]), min_size=1, max_size=3).map(" ".join)
SENTENCES = st.lists(st.one_of(st.integers(0, 11), st.sampled_from(["owes", "money", "kind"])), max_size=24)
TWELVE = st.lists(NAMES, min_size=12, max_size=12, unique=True)


@pytest.fixture(scope="module")
def readers(folder):
    """One of each class and type, with random parameters, and their tokenizer."""
    pattern = "[A-Z][a-z]+(?: [A-Z][a-z]+)*"
    tokenizer = SymbolInvariantSubwordTokenizer.around(AutoTokenizer.from_pretrained(folder), pattern)
    bert = {**BERT, "vocab_size": tokenizer.vocab_size, "max_position_embeddings": 128}
    config = configured(encoder=bert, mixing_layers=2, output_hidden_states=True)
    set_seed(0)
    models = [cls(config).to(dtype).eval() for cls in CLASSES for dtype in (torch.float32, torch.bfloat16)]
    for parameter in (one for model in models for one in model.parameters()):
        parameter.data.add_(0.3 * torch.randn_like(parameter))
    return models, tokenizer


class TestTheLawOfTexts:
    @settings(max_examples=40, deadline=None)
    @given(st.lists(SENTENCES, min_size=1, max_size=4), TWELVE, TWELVE, st.randoms(use_true_random=False))
    def test_other_names_and_other_ids_change_no_output_bit_for_bit(self, readers, sentences, first, second, generator):
        models, tokenizer = readers
        texts = (
            [" , ".join(names[word] if isinstance(word, int) else word for word in words) for words in sentences]
            for names in (first, second)
        )
        one, other = (tokenizer(rows, padding=True, return_tensors="pt") for rows in texts)
        assert torch.equal(one["input_ids"], other["input_ids"])
        symbols = range(tokenizer.vocab_size, tokenizer.vocab_size + 12)
        for row in other["input_ids"]:
            ids = dict(zip(symbols, generator.sample(range(symbols.start, symbols.stop + 9), 12), strict=True))
            row.copy_(torch.tensor([ids.get(token, token) for token in row.tolist()]))
        with torch.no_grad():
            for model in models:
                found, expected = model(**other), model(**one)
                assert list(found) == list(expected) and "hidden_states" in found
                for part, same in zip(found.values(), expected.values(), strict=True):
                    pairs = zip(part, same, strict=True) if isinstance(part, tuple) else [(part, same)]
                    assert all(torch.equal(*pair) for pair in pairs)


class TestTraining:
    def test_every_parameter_gets_a_gradient(self, folder):
        model, tokenizer = around(folder, SymbolInvariantEncoderForSequenceClassification)
        model(**tokenizer(TEXTS, padding=True, return_tensors="pt"), labels=torch.tensor([0, 1, 2])).loss.backward()
        assert not [name for name, parameter in model.named_parameters() if parameter.grad is None]

    def test_one_label_is_a_number(self, folder):
        model, tokenizer = around(folder, SymbolInvariantEncoderForSequenceClassification, num_labels=1)
        output = model(**tokenizer(TEXTS[:1], return_tensors="pt"), labels=torch.tensor([2.0]))
        torch.testing.assert_close(output.loss, (output.logits[0, 0] - 2.0) ** 2)


class TestRefusals:
    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: torch.export.export(MADE["bert"], (), batch_of([[BASE, 5, BASE + 1]]), strict=False),
             r"torch\.export: a text has as many copies as symbols, and a graph has a fixed number"),
            (lambda: SymbolInvariantSubwordTokenizer.around(object()),
             r"tokenizer: object is not a fast tokenizer.*use one that has a tokenizer.json"),
            (lambda: SymbolInvariantEncoder(configured(encoder={**BERT, "model_type": "perceiver"})),
             "takes no inputs_embeds"),
            (lambda: configured(encoder={"model_type": "bart"}),
             "encoder: 'bart' is an encoder with a decoder; use an encoder alone"),
            (lambda: SymbolInvariantEncoder(configured(encoder=BERT, mixing_layers=4)),
             "mixing_layers=4: BertModel has a list of 3 layers; use so many at most"),
            (lambda: configured(encoder=BERT, mixing_layers=-1),
             "mixing_layers=-1: must be at least 0, which mixes nothing"),
            (lambda: SymbolInvariantEncoder.around(made(), "[A-Z]+"),
             "is a SymbolInvariantEncoder; give a folder or a name on the Hub; save_p"),
            (lambda: made()(inputs_embeds=torch.zeros(1, 2, 12)), "inputs_embeds of shape"),
            *(
                (lambda cls=cls: made(cls=cls).resize_token_embeddings(50),
                 r"resize_token_embeddings\(50\): ids from 40 on are symbols; add tokens")
                for cls in CLASSES
            ),
        ],
    )  # fmt: skip
    def test_what_cannot_be_is_refused(self, call, message):
        with pytest.raises((ValueError, StrictDataclassError), match=message):
            call()

    def test_words_that_are_no_tokens_are_refused(self, folder):
        with pytest.raises(ValueError, match=r"must be two, each one token of "):
            SymbolInvariantEncoder.around(str(folder), "[A-Z]+", words=("unheard-of", "other"))

    def test_a_tokenizer_without_a_role_that_it_needs_is_refused(self, of_bytes):
        fast = AutoTokenizer.from_pretrained(of_bytes)
        for role in ("bos_token", "eos_token", "pad_token"):
            setattr(fast, role, None)
            with pytest.raises(ValueError, match=f"has no {role}; set tokenizer.{role} to one of its"):
                SymbolInvariantSubwordTokenizer.around(fast)
            setattr(fast, role, "<unk>")

    def test_tokens_that_are_added_to_the_encoder_first_are_taken(self, folder, tmp_path):
        assert made().resize_token_embeddings() is not None
        fast, given = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
        fast.add_tokens(["snows"])
        given.resize_token_embeddings(len(fast))
        fast.save_pretrained(tmp_path)
        given.save_pretrained(tmp_path)
        model, tokenizer = around(tmp_path)
        batch = tokenizer("Anna snows", return_tensors="pt")
        assert batch["input_ids"].tolist() == [[2, len(fast), len(fast) - 1, 3]]
        assert model(**batch).pooler_output.isfinite().all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:'pin_memory' argument")
def test_the_program_of_the_page_trains_saves_and_classifies(folder, tmp_path, monkeypatch, capsys):
    page = (Path(__file__).parents[2] / "docs" / "invariance.md").read_text(encoding="utf-8")
    (program,) = re.findall(r":caption: streams.py\n\n(.*?)^```", page, re.M | re.S)
    named = '"google-bert/bert-base-uncased"'
    assert program.count(named) == 1
    monkeypatch.chdir(tmp_path)
    exec(compile(program.replace(named, repr(str(folder))), "streams.py", "exec"), {})
    one, other = ast.literal_eval(capsys.readouterr().out.splitlines()[-1])
    assert one == other

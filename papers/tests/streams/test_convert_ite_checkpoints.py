"""A checkpoint in the authors' format gives the logits that a plain numpy reading of their architecture gives."""

import json
import pickle

import numpy as np
import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from hf_symbinv.tasks import COPY, LTL, PROP
from hf_symbinv.training.conversion import ConversionError
from papers.streams.convert_ite_checkpoints import is_release, main, read_release

D, HEADS, FF, LAYERS = 12, 3, 10, 2
# The order of rows in a release for LTL, written out; the symbols stand after the special tokens, or last.
SPECIAL, REST = ["<pad>", "<eos>", "<start>"], [*"01!&|;{}UX"]
SYMBOLS = [*"abc"]
FORMULAS, ANSWERS = ["&UabXc", "Xa"], ["a;{&bc}", "1;{a}"]
# Steps from each node to the root, nearest first, as their documentation of `binary_position_list` shows it.
PATHS = {"&UabXc": ["", "10", "1010", "0110", "01", "1001"], "Xa": ["", "10"]}
OURS = {"<pad>": "<pad>", "<eos>": "</s>", "<start>": "<s>"}


def config(**changes):
    embedder = {
        "tie_embeddings": True, "pad_vocab_size_multiple": 8, "d_ap": 0, "ap_embed": "randn",
        "base_normalization": "l2", "ap_normalization": "l2", "final_normalization": "l2",
        "feature_normalization": "l2", "embed_scaling": "sqrtd", "shuffle_aps": None,
    }  # fmt: skip
    vocab = {
        "aps": SYMBOLS, "consts": ["0", "1"], "trace_ops": ["&", "|", "!"], "ltl_ops": ["U", "X", "!", "&", "|"],
        "merge_tokens": "all", "dynamic_aps": False, "use_start_token": True, "use_pad_token": True,
        "use_eos_token": True,
    }  # fmt: skip
    whole = {
        "vocab": vocab, "d_embed_enc": D, "d_embed_dec": D, "d_ff": FF, "ff_activation": "relu", "dropout": 0.1,
        "num_heads": HEADS, "num_layers": LAYERS, "layer_norm_eps": 1e-6, "merged_embedder": embedder,
        "max_encode_length": 1024, "max_decode_length": 1024, "datatype": "float32", "enc_pe": "sinusoid",
        "dec_pe": "rope", "no_pe_cross_keys": False, "tree_pos_enc": True,
    }  # fmt: skip
    for key, value in changes.items():
        part = next(part for part in (whole, vocab, embedder) if key in part or part is embedder)
        part[key] = value
    return whole


def state_dict(rows, columns=D, extra=()):
    """Random parameters under the names of a release."""
    generator = torch.Generator().manual_seed(0)

    def draw(*shape):
        return 0.4 * torch.randn(*shape, generator=generator)

    attention = ("multi_head_attn",), ("multi_head_self_attn", "multi_head_enc_dec_attn")
    norms = ("norm_attn", "norm_ff"), ("norm_self_attn", "norm_enc_dec_attn", "norm_ff")
    state = {"merged_embedder.base_weight": draw(rows, columns), **{name: draw(*shape) for name, shape in extra}}
    for side, stack in enumerate(("encoder_stack.enc_layers", "decoder_stack.dec_layers")):
        for layer in range(LAYERS):
            at = f"{stack}.{layer}"
            for block in attention[side]:
                for projection in ("Q", "K", "V", "final_projection"):
                    state[f"{at}.{block}.{projection}.weight"] = draw(D, D)
                    state[f"{at}.{block}.{projection}.bias"] = draw(D)
            for index, (outputs, inputs) in ((0, (FF, D)), (2, (D, FF))):
                state[f"{at}.ff.{index}.weight"], state[f"{at}.ff.{index}.bias"] = draw(outputs, inputs), draw(outputs)
            for norm in norms[side]:
                state[f"{at}.{norm}.weight"], state[f"{at}.{norm}.bias"] = 1 + draw(D), draw(D)
    return state


def write(folder, content, state):
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(content))
    torch.save(state, folder / "pytorch_model.bin")
    return folder


class Oracle:
    """The release's architecture, one example at a time, with a loop for every head."""

    def __init__(self, content, state, table, tokens):
        self.content, self.table, self.tokens = content, table, tokens
        self.state = {name: tensor.double().numpy() for name, tensor in state.items()}

    def linear(self, name, x):
        return x @ self.state[f"{name}.weight"].T + self.state[f"{name}.bias"]

    def norm(self, name, x):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-6)
        return scaled * self.state[f"{name}.weight"] + self.state[f"{name}.bias"]

    def turn(self, x):
        """Rotates the pair (i, i + width / 2) at position p by p * 10000 ** (-2 i / width)."""
        width, out = x.shape[1], np.empty_like(x)
        for p in range(len(x)):
            for i in range(width // 2):
                angle = p * 10000.0 ** (-2 * i / width)
                one, two = x[p, i], x[p, i + width // 2]
                out[p, i] = one * np.cos(angle) - two * np.sin(angle)
                out[p, i + width // 2] = two * np.cos(angle) + one * np.sin(angle)
        return out

    def attend(self, name, x, memory, rotary, causal=False):
        width, heads = D // HEADS, []
        queries, keys, values = (self.linear(f"{name}.{p}", y) for p, y in (("Q", x), ("K", memory), ("V", memory)))
        for head in range(HEADS):
            own = slice(head * width, (head + 1) * width)
            q, k = queries[:, own], keys[:, own]
            scores = (self.turn(q) @ self.turn(k).T if rotary else q @ k.T) / np.sqrt(width)
            if causal:
                scores = np.where(np.tri(len(x)) > 0, scores, -np.inf)
            weights = np.exp(scores - scores.max(1, keepdims=True))
            heads.append(weights / weights.sum(1, keepdims=True) @ values[:, own])
        return self.linear(f"{name}.final_projection", np.concatenate(heads, 1))

    def feed(self, at, x):
        return self.norm(f"{at}.norm_ff", x + self.linear(f"{at}.ff.2", np.maximum(self.linear(f"{at}.ff.0", x), 0)))

    def embed(self, words, positions):
        factor = np.sqrt(D) if self.content["merged_embedder"]["embed_scaling"] else 1
        x = factor * self.table[[self.tokens.index(word) for word in words]]
        if positions == "sinusoid":
            for p in range(len(x)):
                for i in range(D):
                    x[p, i] += (np.cos if i % 2 else np.sin)(p / 10000.0 ** (2 * (i // 2) / D))
        return x

    def logits(self, formula, answer, paths=None):
        content = self.content
        positions = None if content["tree_pos_enc"] else content["enc_pe"]
        x = self.embed([*formula, "<eos>"], positions)
        for place, path in enumerate(paths or []):
            x[place, : len(path)] += [int(step) for step in path]
        for layer in range(LAYERS):
            at = f"encoder_stack.enc_layers.{layer}"
            x = self.norm(f"{at}.norm_attn", x + self.attend(f"{at}.multi_head_attn", x, x, positions == "rope"))
            x = self.feed(at, x)
        rotary = content["dec_pe"] == "rope"
        y = self.embed(["<start>", *answer], content["dec_pe"])
        for layer in range(LAYERS):
            at = f"decoder_stack.dec_layers.{layer}"
            own = self.attend(f"{at}.multi_head_self_attn", y, y, rotary, causal=True)
            y = self.norm(f"{at}.norm_self_attn", y + own)
            y = self.norm(f"{at}.norm_enc_dec_attn", y + self.attend(f"{at}.multi_head_enc_dec_attn", y, x, rotary))
            y = self.feed(at, y)
        if content["merged_embedder"]["feature_normalization"] == "l2":
            y = unit(y)
        return y @ self.table.T


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def assert_same_logits(model, task, oracle, questions, answers, paths):
    """Every column but those of <start> and <pad>, at every position, also of a padded batch."""
    base = list(task.base_tokens)
    ids = {theirs: base.index(OURS.get(theirs, theirs)) for theirs in oracle.tokens if theirs not in SYMBOLS}
    ids |= {name: len(base) + place for place, name in enumerate(SYMBOLS)}
    length = max(map(len, questions)) + 1
    inputs = [[*(ids[word] for word in question), ids["<eos>"]] for question in questions]
    mask = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in inputs])
    inputs = torch.tensor([row + [ids["<pad>"]] * (length - len(row)) for row in inputs])
    steps = min(map(len, answers))
    target = torch.tensor([[ids["<start>"], *(ids[word] for word in answer[:steps])] for answer in answers])
    with torch.no_grad():
        ours = model.double()(inputs, mask, decoder_input_ids=target, return_id_logits=True).logits.numpy()
    columns = [name for name in oracle.tokens if name not in ("<start>", "<pad>")]
    for row, question, answer, path in zip(ours, questions, answers, paths, strict=True):
        theirs = oracle.logits(question, answer[:steps], path)
        for name in columns:
            np.testing.assert_allclose(row[:, ids[name]], theirs[:, oracle.tokens.index(name)], atol=1e-9)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"dec_pe": "sinusoid"},
        {"tree_pos_enc": False, "enc_pe": "rope"},
        {"tree_pos_enc": False, "dec_pe": "sinusoid"},
        {"final_normalization": "disabled", "feature_normalization": "disabled"},
        {"embed_scaling": None},
    ],
    ids=["as-published", "sinusoidal-decoder", "rotary-encoder", "sinusoidal-both", "not-normalised", "not-scaled"],
)
def test_a_fixed_vocabulary_gives_their_logits(tmp_path, changes):
    content, tokens = config(**changes), [*SPECIAL, *SYMBOLS, *REST]
    state = state_dict(len(tokens))
    table = state["merged_embedder.base_weight"].double().numpy()
    if content["merged_embedder"]["final_normalization"] == "l2":
        table = unit(table)
    model, task = read_release(write(tmp_path / "release", content, state))
    assert task == LTL and model.config.symbol_embedding == "learned" and model.config.num_symbols == 3
    paths = [PATHS[formula] if content["tree_pos_enc"] else None for formula in FORMULAS]
    assert_same_logits(model, task, Oracle(content, state, table, tokens), FORMULAS, ANSWERS, paths)


def test_shuffled_symbols_give_their_logits(tmp_path):
    content, tokens = config(dynamic_aps=True, shuffle_aps=5), [*SPECIAL, *REST, *SYMBOLS]
    state = state_dict(len(SPECIAL + REST), extra=[("merged_embedder.ap_weight", (5, D))])
    parts = [state[f"merged_embedder.{name}_weight"].double().numpy() for name in ("base", "ap")]
    model, task = read_release(write(tmp_path / "release", content, state))
    assert model.config.symbol_embedding == "renamed" and model.config.num_symbols == 5
    oracle = Oracle(content, state, unit(np.concatenate([parts[0], parts[1][: len(SYMBOLS)]])), tokens)
    assert_same_logits(model, task, oracle, FORMULAS, ANSWERS, [PATHS[formula] for formula in FORMULAS])


@pytest.mark.parametrize(("method", "ours"), [("randn", "normal"), ("nbor", "neighbors"), ("diagbor", "hypercube")])
@pytest.mark.parametrize("parts", ["l2", "disabled"])
def test_random_symbols_give_their_logits_with_the_vectors_that_were_drawn(tmp_path, method, ours, parts):
    random, tokens = 5, [*SPECIAL, *REST, *SYMBOLS]
    changes = {"ap_embed": method, "d_ap": random, "base_normalization": parts, "ap_normalization": parts}
    content = config(dynamic_aps=True, **changes)
    state = state_dict(len(SPECIAL + REST) + 1, D - random)
    model, task = read_release(write(tmp_path / "release", content, state))
    assert (model.config.symbol_embedding, model.config.random_method) == ("random", ours)
    drawn = model.model.embedding.assign(torch.tensor([[0, 1, 2]])).vectors.double().numpy()
    learned = state["merged_embedder.base_weight"].double().numpy()
    if parts == "l2":
        learned, drawn = unit(learned), unit(drawn)
    table = np.zeros((len(tokens), D))
    table[: len(SPECIAL + REST), : D - random] = learned[:-1]
    table[len(SPECIAL + REST) :] = np.concatenate([np.repeat(learned[-1:], 3, axis=0), drawn], axis=1)
    oracle = Oracle(content, state, unit(table), tokens)
    assert_same_logits(model, task, oracle, FORMULAS, ANSWERS, [PATHS[formula] for formula in FORMULAS])


@pytest.mark.parametrize(
    ("task", "changes", "tokens", "question", "path"),
    [
        (LTL, {}, [*SPECIAL, *SYMBOLS, *REST], "&UabXc", PATHS["&UabXc"]),
        (
            PROP, {"trace_ops": [], "ltl_ops": ["!", "&", "|", "=", "^"]}, [*SPECIAL, *SYMBOLS, *"01!&|=^"], "&^ab!c",
            ["", "10", "1010", "0110", "01", "1001"],
        ),
        (
            COPY, {"consts": [], "trace_ops": [], "ltl_ops": [], "tree_pos_enc": False, "enc_pe": "rope"},
            [*SPECIAL, *SYMBOLS], "abca", None,
        ),
    ],
    ids=["ltl", "prop", "copy"],
)  # fmt: skip
def test_the_releases_of_all_three_tasks_answer_with_the_tokenizer_that_is_written(
    tmp_path, task, changes, tokens, question, path
):
    """Greedily, as the release would: what is written has the largest logit of theirs at every step."""
    content, state = config(**changes), state_dict(len(tokens))
    release = write(tmp_path / "release", content, state)
    assert main([str(release), "--output", str(tmp_path / "ours")]) == 0
    model = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "ours")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "ours")
    inputs = tokenizer(question, return_tensors="pt")
    answer = model.generate(**inputs, max_new_tokens=6, num_beams=1, grammar=None)[0, 1:].tolist()
    oracle = Oracle(content, state, unit(state["merged_embedder.base_weight"].double().numpy()), tokens)
    base, names = list(task.base_tokens), []
    ids = {OURS.get(name, {"=": "<->"}.get(name, name)): name for name in tokens}
    for _ in answer:
        logits = oracle.logits(question, names, path)[-1]
        logits[[tokens.index("<start>"), tokens.index("<pad>")]] = -np.inf
        names.append(tokens[int(logits.argmax())])
    # The tokenizer calls the first symbol of a text a, the second b and so on, and here they come in that order.
    assert [ids[base[one]] if one < len(base) else SYMBOLS[one - len(base)] for one in answer] == names


def test_the_folder_the_file_and_safetensors_are_the_same_model(tmp_path):
    from safetensors.torch import save_file

    folder = write(tmp_path / "release", config(), state_dict(16))
    first = read_release(folder)[0].state_dict()
    assert is_release(folder) and is_release(folder / "pytorch_model.bin")
    other = tmp_path / "other"
    write(other, config(), {})
    (other / "pytorch_model.bin").unlink()
    save_file(state_dict(16), other / "model.safetensors")
    for path in (folder / "pytorch_model.bin", other):
        state = read_release(path)[0].state_dict()
        assert all(torch.equal(state[name], tensor) for name, tensor in first.items())


def test_what_is_no_release(tmp_path):
    assert not is_release(tmp_path) and not is_release("OWNER/NAME")
    (tmp_path / "config.json").write_text('{"model_type": "symbol_invariant"}')
    assert not is_release(tmp_path)


class Evil:
    def __reduce__(self):
        return (open, ("stolen", "w"))


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"merged_embedder": None}, "vocabularies of their own, and a projection with bias"),
            ({"merge_tokens": "aps"}, "vocabularies of their own"),
            ({"d_embed_dec": 24}, "d_embed_enc=12, d_embed_dec=24: here both are one d_model"),
            ({"embed_scaling": "learnable"}, "embed_scaling='learnable': here embeddings are multiplied by sqrt(D)"),
            ({"no_pe_cross_keys": True}, "no_pe_cross_keys: here rotary positions turn the keys"),
            ({"enc_pe": "rope"}, "tree_pos_enc with enc_pe='rope'"),
            ({"dec_pe": "alibi"}, "positions 'alibi': unknown; ITE has rope and sinusoid"),
            ({"feature_normalization": "l1"}, "feature_normalization='l1': unknown"),
            ({"num_heads": 12}, "config.json describes no model of ours: d_model=12"),
            ({"aps": ["a", "b"]}, "has 16 rows for tokens, the vocabulary in config.json has another number"),
            ({"consts": ["T", "F"]}, "base tokens <pad> </s> <s> T F ! & | ; { } U X: no task has these"),
            ({"num_layers": 3}, "parameter encoder_stack.enc_layers.2.ff.0.weight is missing"),
            ({"num_layers": 1}, "unknown parameters: decoder_stack.dec_layers.1.ff.0.bias, "),
            ({"d_ff": 11}, "parameter encoder_stack.enc_layers.0.ff.0.weight has shape (10, 12), and by config.json"),
        ],
    )
    def test_an_architecture_that_ours_cannot_express(self, tmp_path, changes, message):
        folder = write(tmp_path / "release", config(**changes), state_dict(16))
        with pytest.raises(ConversionError) as caught:
            read_release(folder)
        assert message in str(caught.value)

    def test_learned_random_parts_and_mixed_normalisation(self, tmp_path):
        for changes, message in (
            ({"ap_embed": "learnable64"}, "ap_embed='learnable64': here random parts are drawn, not learned"),
            ({"base_normalization": "disabled"}, "base_normalization and ap_normalization differ"),
        ):
            content = config(dynamic_aps=True, d_ap=5, **changes)
            folder = write(tmp_path / "release", content, state_dict(len(SPECIAL + REST) + 1, D - 5))
            with pytest.raises(ConversionError, match=message):
                read_release(folder)

    def test_fields_that_are_unknown_or_missing(self, tmp_path):
        content = config()
        del content["vocab"]["aps"], content["d_ff"]
        for changed, message in (
            ({**config(), "moe": 8}, "config.json has unknown moe; take it from a release"),
            (content, "config.json lacks d_ff"),
            ({**content, "d_ff": FF}, "config.json, vocab lacks aps"),
        ):
            folder = write(tmp_path / "release", changed, state_dict(16))
            with pytest.raises(ConversionError, match=message):
                read_release(folder)

    def test_parameters_that_are_left_over_are_named(self, tmp_path):
        state = {
            **state_dict(16),
            "head.weight": torch.zeros(1),
            "merged_embedder.embed_scaler.multiplier": torch.ones(1),
        }
        with pytest.raises(ConversionError, match=r"head\.weight, merged_embedder\.embed_scaler\.multiplier"):
            read_release(write(tmp_path / "release", config(), state))

    def test_a_pickle_that_is_more_than_tensors_is_not_run(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        folder = write(tmp_path / "release", config(), {})
        (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"a": Evil()}))
        with pytest.raises(ConversionError, match=r"pytorch_model\.bin: no file of tensors"):
            read_release(folder)
        torch.save({"a": Evil()}, folder / "pytorch_model.bin")
        with pytest.raises(ConversionError, match=r"pytorch_model\.bin: no file of tensors"):
            read_release(folder)
        assert not (tmp_path / "stolen").exists()

    def test_files_that_are_damaged_or_missing(self, tmp_path):
        folder = write(tmp_path / "release", config(), [1, 2])
        with pytest.raises(ConversionError, match="holds a list, not tensors by name"):
            read_release(folder)
        (folder / "pytorch_model.bin").unlink()
        with pytest.raises(ConversionError, match=r"has no model\.safetensors or pytorch_model\.bin"):
            read_release(folder)
        (folder / "config.json").write_text("{")
        with pytest.raises(ConversionError, match=r"config\.json: not JSON"):
            read_release(folder)

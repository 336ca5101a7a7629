"""Adapters of the package `peft` fit the models, keep the law of renaming, and survive merging, saving and training."""

from functools import partial

import pytest
import torch
from peft import (
    IA3Config,
    LoraConfig,
    PeftModel,
    PrefixTuningConfig,
    PromptEncoderConfig,
    PromptTuningConfig,
    TaskType,
    get_peft_model,
)

from hf_symbinv import SymbolInvariantForConditionalGeneration

from .test_classification import STREAMS, encoder, symbol
from .test_tokens import MASK, filler, labeller
from .tiny import BASE, EOS, pad, rename, tiny_decoder, tiny_model

# peft 0.21 asks transformers by a name that is deprecated there.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")

AND, NEXT = 5, 12
SOURCES = [[AND, BASE, NEXT, BASE + 1, EOS], [NEXT, BASE + 2, EOS]]
TARGETS = [[BASE + 1, 8, BASE, EOS], [BASE + 2, 8, 4, EOS]]
RENAMING = {0: 7, 1: 0, 2: 1}
TASK = TaskType.SEQ_2_SEQ_LM
CONFIGS = {
    "LoRA": lambda: LoraConfig(task_type=TASK, r=2, target_modules="all-linear", init_lora_weights=False),
    "rsLoRA": lambda: LoraConfig(
        task_type=TASK, r=2, target_modules=["q_proj", "v_proj", "fc1"], use_rslora=True, init_lora_weights=False
    ),
    "DoRA": lambda: LoraConfig(
        task_type=TASK, r=2, target_modules="all-linear", use_dora=True, init_lora_weights=False
    ),
    "IA3": lambda: IA3Config(
        task_type=TASK, target_modules=["k_proj", "v_proj", "fc2"], feedforward_modules=["fc2"], init_ia3_weights=False
    ),
}


def batch():
    labels = pad(TARGETS, value=-100)["input_ids"]
    return {**pad(SOURCES), "labels": labels}


def adapted(name):
    torch.manual_seed(0)
    return get_peft_model(tiny_model(dtype=torch.float32), CONFIGS[name]()).eval()


@pytest.mark.parametrize("name", CONFIGS)
def test_an_adapted_model_is_another_and_follows_a_renaming_bit_for_bit(name):
    model, plain = adapted(name), tiny_model(dtype=torch.float32)
    inputs = batch()
    renamed = {key: value if key == "attention_mask" else rename(value, RENAMING) for key, value in inputs.items()}
    with torch.no_grad():
        loss = model(**inputs).loss
        assert torch.equal(model(**renamed).loss, loss) and not torch.equal(plain(**inputs).loss, loss)
    for beams in (1, 3):
        answers = [
            model.generate(
                input_ids=given["input_ids"], attention_mask=given["attention_mask"], num_beams=beams, max_new_tokens=9
            )
            for given in (inputs, renamed)
        ]
        assert torch.equal(rename(answers[0], RENAMING), answers[1])


# peft before 0.21 looks for the configuration of a base model that was never saved.
@pytest.mark.filterwarnings("ignore:Could not find a config file in  -:UserWarning")
@pytest.mark.parametrize("name", CONFIGS)
def test_an_adapter_comes_back_from_its_folder_and_merges(name, tmp_path):
    model, inputs = adapted(name), batch()
    model.save_pretrained(tmp_path)
    with torch.no_grad():
        loss = model(**inputs).loss
        loaded = PeftModel.from_pretrained(tiny_model(dtype=torch.float32), tmp_path).eval()
        assert torch.equal(loaded(**inputs).loss, loss)
        merged = loaded.merge_and_unload()
        assert isinstance(merged, SymbolInvariantForConditionalGeneration)
        torch.testing.assert_close(merged(**inputs).loss, loss)
        merged.save_pretrained(tmp_path / "merged")
        again = SymbolInvariantForConditionalGeneration.from_pretrained(tmp_path / "merged")
        torch.testing.assert_close(again(**inputs).loss, loss)


def decoder():
    torch.manual_seed(0)
    return tiny_decoder(symbol_embedding="learned")


TEXT, WORDS = torch.tensor([[AND, BASE, BASE + 3, EOS]]), torch.tensor([[MASK, symbol(3, 1), 4]])
OTHERS = {
    "decoder": ("CAUSAL_LM", decoder, TEXT, TEXT),
    "classes": ("SEQ_CLS", partial(encoder, **STREAMS, num_labels=3, dtype=torch.float32), WORDS, torch.tensor([2])),
    "classes of tokens": ("TOKEN_CLS", partial(labeller, **STREAMS, dtype=torch.float32), WORDS, [[1, -100, 2]]),
    "masks": (None, partial(filler, **STREAMS, dtype=torch.float32), WORDS, [[symbol(3, 1), -100, -100]]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_other_models_take_lora_and_bring_its_adapters_back(name, tmp_path):
    task, make, inputs, labels = OTHERS[name]
    targets = {"target_modules": ["q_proj", "v_proj"], "init_lora_weights": False}
    adapted = get_peft_model(make(), LoraConfig(task_type=task, **targets)).eval()
    adapted(input_ids=inputs, labels=torch.as_tensor(labels)).loss.backward()
    trained = [name for name, parameter in adapted.named_parameters() if parameter.grad is not None]
    assert any("lora_B" in name for name in trained)
    assert any("classifier" in name for name in trained) == (task in ("SEQ_CLS", "TOKEN_CLS"))
    adapted.save_pretrained(tmp_path, save_embedding_layers=False)  # older versions of peft look for a base on the Hub
    with torch.no_grad():
        again = PeftModel.from_pretrained(make(), tmp_path).eval()
        assert torch.equal(again(input_ids=inputs).logits, adapted(input_ids=inputs).logits)
        assert not torch.equal(again(input_ids=inputs).logits, make()(input_ids=inputs).logits)
    if task == "CAUSAL_LM":
        assert adapted.generate(input_ids=inputs, min_new_tokens=2, max_new_tokens=2).shape == (1, 6)


@pytest.mark.parametrize("kind", [PromptTuningConfig, PromptEncoderConfig, PrefixTuningConfig])
def test_prompt_and_prefix_tuning_are_refused_by_name(kind):
    config = kind(task_type=TASK, num_virtual_tokens=4, token_dim=18, num_attention_heads=3, num_layers=2)
    with pytest.raises(ValueError, match=r"prompt, prefix and P-tuning .* use LoRA, DoRA or IA3"):
        get_peft_model(tiny_model(dtype=torch.float32), config)


def test_embeddings_are_refused_by_name_wherever_they_are_given():
    model, ids = tiny_model(dtype=torch.float32), torch.tensor([SOURCES[0]])
    states = torch.zeros(1, 5, 18)
    for call in (model, model.model, model.generate):
        with pytest.raises(ValueError, match=r"inputs_embeds of shape \(1, 5, 18\): .* pass input_ids"):
            call(inputs_embeds=states)
        with pytest.raises(ValueError, match=r"decoder_inputs_embeds of shape .* pass decoder_input_ids"):
            call(input_ids=ids, decoder_inputs_embeds=states)

"""Identity-reparametrised attention: theory in numbers against its definitions, and the tables at the smallest size."""

import itertools
import json
import math
import re

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from papers.__main__ import DONE, UNFINISHED
from papers.__main__ import main as papers
from papers.identity import theory as theory
from papers.identity.baselines import BaselineConfig, TemplateBaseline
from papers.identity.experiments import (
    BASELINES,
    EXPERIMENTS,
    PARAMETRISATIONS,
    attempts,
    scale_logits,
    template_model,
)
from papers.identity.templates import TemplatesConfig, encoded, template_task

TASKS = ("same-different", "aba-abb", "majority-4", "print-variable")


class TestKernels:
    def test_attention_is_equation_3_with_gaussians_of_the_stated_covariance(self):
        """Loops over the definition; both are means over random numbers."""
        ids, beta, gamma, draws = torch.tensor([[1, 2, 1, 0], [1, 3, 3, 0]]), 1.5, 0.7, 40_000
        hot = np.eye(5)[ids.numpy()]
        products = [[a @ b.T + gamma**2 * np.eye(4) for b in hot] for a in hot]
        covariance = np.block(products)
        samples = np.random.default_rng(0).multivariate_normal(np.zeros(8), covariance, size=draws)
        weights = np.exp(beta * samples).reshape(draws, 2, 4)
        weights /= weights.sum(-1, keepdims=True)
        expected = [[np.mean([p[i] @ products[i][j] @ p[j] for p in weights[:20_000]]) for j in (0, 1)] for i in (0, 1)]
        kernel = theory.attention_kernel(
            ids, 5, beta=beta, gamma=gamma, heads=20_000, generator=torch.Generator().manual_seed(0)
        )
        assert np.allclose(kernel.numpy(), expected, atol=0.01)

    def test_random_features_are_the_gaussian_integral(self):
        """By Gauss-Hermite quadrature over the two independent normals that u and v are made of."""
        kernel, b1, b2 = torch.tensor([[1.3, 0.4], [0.4, 0.6]], dtype=torch.float64), 1.7, 0.5
        nodes, weights = np.polynomial.hermite_e.hermegauss(60)
        root = np.linalg.cholesky(kernel.numpy())
        expected = np.zeros((2, 2))
        for (a, p), (b, q) in itertools.product(zip(nodes, weights, strict=True), repeat=2):
            features = np.cos(b1 * (root @ [a, b]) + b2)
            expected += p * q / (2 * math.pi) * np.outer(features, features)
        assert np.allclose(theory.cosine_features_kernel(kernel, b1, b2).numpy()[0, 1], expected[0, 1])
        # On the diagonal u and v are one.
        assert np.allclose(theory.cosine_features_kernel(kernel, b1, b2).diagonal().numpy(), expected.diagonal())

    @pytest.mark.parametrize("name", TASKS)
    def test_the_matrix_of_templates_is_singular_for_an_mlp_and_not_for_attention(self, name):
        ids, vocab_size = theory.template_pairs(template_task(name))
        generator = torch.Generator().manual_seed(0)
        attention = theory.attention_kernel(ids, vocab_size, beta=3.0, gamma=1.0, heads=1000, generator=generator)
        conditions = [
            theory.log_condition(theory.template_matrix(theory.cosine_features_kernel(kernel, 2.0, 0.5)))
            for kernel in (attention, theory.matching_kernel(ids))
        ]
        assert conditions[0] > -5 and conditions[1] == pytest.approx(-15.65, abs=0.1)

    def test_pairs_of_templates_share_literals_and_no_symbols(self):
        task = template_task("print-variable")
        ids, _ = theory.template_pairs(task)
        literals = range(len(task.base_tokens))
        first, second = ({token for string in half for token in string.tolist()} for half in ids.split(2))
        assert first & second <= set(literals)
        assert [string[0] == string[-3] for string in ids.tolist()] == [True, False] * 2  # print(α), print(β)

    def test_regression_without_ridge_repeats_its_labels_and_with_much_of_it_says_little(self):
        points = torch.randn(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        features = torch.cat((points, points[:4]))  # tested on strings it was trained on
        kernel = torch.exp(-torch.cdist(features, features))
        labels = torch.tensor([1.0, -1.0, 0.5, 2.0, 0.0, -3.0])
        assert torch.allclose(theory.ridge_regression(kernel, labels, 1e-12), labels[:4].double())
        assert theory.ridge_regression(kernel, labels, 1e6).abs().max() < 1e-4


class TestCopying:
    @pytest.mark.parametrize("identity", [False, True])
    def test_the_start_is_what_a_small_step_does(self, identity):
        torch.manual_seed(0)
        model = theory.CopyingAttention(30, 12, identity=identity).double()
        train, test = torch.arange(20), torch.arange(20, 30)
        start = theory.start_of_copying(model, train, test)
        before = [cross_entropy(model(tokens), tokens).item() for tokens in (train, test)]
        theory.descend(model, train, steps=1, step=1e-5)
        after = [cross_entropy(model(tokens), tokens).item() for tokens in (train, test)]
        falls = [loss - later for loss, later in zip(before, after, strict=True)]
        assert falls[0] == pytest.approx(1e-5, rel=1e-3)
        assert falls[1] == pytest.approx(1e-5 * start, rel=1e-2)

    def test_wider_models_learn_less_of_copying_unseen_symbols_unless_there_is_b(self):
        """Theorems 5.1 and 5.2."""
        starts = {}
        for width, identity in itertools.product((16, 256), (False, True)):
            torch.manual_seed(0)
            model = theory.CopyingAttention(110, width, identity=identity)
            starts[width, identity] = theory.start_of_copying(model, torch.arange(100), torch.arange(100, 110))
        assert starts[256, False] < 0.3 < starts[16, False]
        assert starts[256, True] > 0.5


class TestModels:
    def test_scaled_logits_do_not_grow_with_the_width(self):
        config = TemplatesConfig(name="custom", task="copy", rows=200, evaluation_symbols=5)
        spreads = {}
        for width in (16, 256):
            torch.manual_seed(0)
            model = template_model(config, PARAMETRISATIONS["vanilla"], {"n_embd": width, "n_layer": 1, "n_head": 2})
            scale_logits(model)
            with torch.no_grad():
                spreads[width] = model(input_ids=torch.arange(200).view(100, 2)).logits.std().item()
        assert spreads[16] == pytest.approx(spreads[256], rel=0.2)

    @pytest.mark.parametrize("name", PARAMETRISATIONS)
    @pytest.mark.parametrize(("task", "row"), [
        ("aba-abb", {"text": "s25 s24 s25", "label": 1.0}), ("copy", {"text": "s25", "label": "s25"}),
    ])  # fmt: skip
    def test_a_model_has_the_scalars_of_its_name_and_knows_all_symbols(self, name, task, row):
        config = TemplatesConfig(name="custom", task=task, rows=16, evaluation_symbols=5)
        model = template_model(config, PARAMETRISATIONS[name], {"n_embd": 16, "n_layer": 2, "n_head": 2})
        scalars = {key.rpartition("_")[2] for key, _ in model.named_parameters() if "identity" in key}
        assert scalars == {"vanilla": set(), "aI": {"qk"}, "bI": {"vo"}, "aI+bI": {"qk", "vo"}}[name]
        assert model.transformer.wte.weight.std().item() == pytest.approx(1, abs=0.1)
        example = encoded(template_task(task), [row])[0]
        ids = torch.tensor([example["input_ids"]])
        assert int(ids.max()) < model.config.pad_token_id
        assert torch.isfinite(model(input_ids=ids, labels=torch.tensor([example["labels"]])).loss)

    @pytest.mark.parametrize("kind", BASELINES.values())
    def test_a_network_without_attention_learns_its_rows_and_reads_every_position(self, kind):
        torch.manual_seed(0)
        model = TemplateBaseline(BaselineConfig(kind, vocab_size=12, length=4, width=16))
        ids, labels = torch.randint(12, (40, 4)), torch.randn(40)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(300):
            optimizer.zero_grad()
            model(input_ids=ids, labels=labels).loss.backward()
            optimizer.step()
        assert model(input_ids=ids, labels=labels).loss < 0.01
        for place in range(4):
            other = ids.clone()
            other[:, place] = (ids[:, place] + 1) % 12
            assert not torch.allclose(model(input_ids=other).logits, model(input_ids=ids).logits, atol=0.01)

    def test_every_row_has_as_many_attempts(self):
        tried = {label: attempts(label) for label in (*PARAMETRISATIONS, *BASELINES)}
        assert {len(set(found)) for found in tried.values()} == {4}
        assert all(attempt.multiplier == 1 for attempt in (*tried["vanilla"], *tried["MLP"]))


class TestTables:
    def test_the_diversity_that_tables_state_is_that_of_their_tasks(self):
        for experiment in EXPERIMENTS:
            if experiment.name in ("identity-templates", "identity-symbols"):
                wildcards = int(re.search(r"is n / (\d)", experiment.unit)[1])
                for row in experiment.rows:
                    assert template_task(row.values["task"]).diversity(1024) == 1024 / wildcards


def reproduced(table, folder, capsys) -> dict:
    """The table as the command prints it, by the labels of its rows."""
    assert papers([table, "--output", str(folder), "--json"]) == DONE
    rows = json.loads(capsys.readouterr().out)["rows"]
    return {tuple(row["labels"]): row["numbers"] for row in rows}


@pytest.mark.slow
class TestSmoke:
    def test_templates(self, only, tmp_path, capsys):
        only("identity-templates", ("αβα / αββ", "aI"), ("αβα / αββ", "MLP"))
        rows = reproduced("identity-templates", tmp_path, capsys)
        assert all(0 < numbers["n = 16"]["low"] < numbers["n = 16"]["value"] < 5 for numbers in rows.values())
        assert all(numbers["n = 16"]["count"] == 50 for numbers in rows.values())
        log = tmp_path / "smoke" / "tables" / "identity-templates-search.md"
        tried = [line for line in log.read_text(encoding="utf-8").splitlines() if line.startswith("| αβα")]
        assert len(tried) == 4 * len(rows) == 8
        for start in range(0, len(tried), 4):
            errors = [float(line.split("|")[6]) for line in tried[start : start + 4]]
            chosen = [line.endswith("| chosen |") for line in tried[start : start + 4]]
            assert sum(chosen) == 1 and errors[chosen.index(True)] == min(errors)

    def test_templates_with_symbols_for_labels(self, only, tmp_path, capsys):
        only(
            "identity-symbols",
            ('α = "γ"; β = "δ"; print(α) / print(β)', "bI"),
            ("If α gives β δ γ, how many γ does β have?", "vanilla"),
        )
        rows = reproduced("identity-symbols", tmp_path, capsys)
        assert len(rows) == 2
        assert all(numbers["n = 64"]["count"] == 50 for numbers in rows.values())

    def test_copying(self, only, tmp_path, capsys):
        trained = ("transformer, bI", "transformer, logits / √d")
        theory = ("attention of the theorems", "attention of the theorems, bI")
        only("identity-copy", *((name, "32") for name in (*trained, *theory)))
        rows = reproduced("identity-copy", tmp_path, capsys)
        assert len(rows) == 4 and all(numbers["error"]["count"] > 1 for numbers in rows.values())
        assert {labels[0] for labels, numbers in rows.items() if numbers["start"]} == set(theory)

    def test_kernels(self, only, tmp_path, capsys):
        only("identity-kernel", *(("αα / αβ", kernel) for kernel in ("attention and MLP layer", "MLP layer alone")))
        rows = reproduced("identity-kernel", tmp_path, capsys)
        assert len(rows) == 2
        for (_, kernel), numbers in rows.items():
            singular = numbers["log₁₀ of smallest over largest singular value"]["value"] < -15
            assert singular == (kernel == "MLP layer alone")

    def test_gpt2_on_prose_and_code(self, only, tmp_path, capsys, monkeypatch):
        for name in ("prose", "code"):
            path = tmp_path / f"{name}.txt"
            path.write_text("\n".join(f"line {number} of {number % 7} {name}s" for number in range(4000)))
            monkeypatch.setenv(f"HF_SYMBINV_{name.upper()}", str(path))
        only("identity-gpt2", ("prose", "GPT-2"), ("code", "GPT-2, aI + bI, tenfold learning rate"))
        rows = reproduced("identity-gpt2", tmp_path, capsys)
        assert len(rows) == 2 and all(1 < numbers["perplexity"]["value"] < 400 for numbers in rows.values())


def test_rows_without_a_corpus_are_missing_and_say_why(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("HF_SYMBINV_PROSE", raising=False)
    monkeypatch.setenv("HF_SYMBINV_CODE", str(tmp_path / "nowhere"))
    assert papers(["identity-gpt2", "--output", str(tmp_path)]) == UNFINISHED
    printed = capsys.readouterr().out
    assert "tenfold learning rate (HF_SYMBINV_PROSE is not set; let it name the prose to read: a text file" in printed
    assert "(HF_SYMBINV_CODE: " in printed and "nowhere: no such file or folder" in printed

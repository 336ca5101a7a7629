"""The lexinvariant experiments: models that renaming does not change, votes on keys, and tables from the command."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import set_seed

from hf_symbinv import SymbolInvariantForCausalLM
from papers.__main__ import DONE
from papers.__main__ import main as papers
from papers.harness.experiments import Job, MissingDataError
from papers.harness.numbers import Number
from papers.harness.scales import GPU, SCALES
from papers.lexinvariant.characters import ALPHABETS, encode, symbol_ids
from papers.lexinvariant.experiments import (
    EXPERIMENTS,
    MARKOV_PLACES,
    MODELS,
    measure_markov,
    measure_text,
    perplexities,
)
from papers.lexinvariant.measures import CURVE, Gap, Perplexity, Places
from papers.lexinvariant.models import (
    KINDS,
    Texts,
    cipher_letters,
    collate,
    configuration,
    losses_by_place,
    renamed_in_part,
    solved,
    texts_of,
)
from papers.lexinvariant.plots import moving_average
from papers.lexinvariant.probe import (
    deciphered,
    key_matrix,
    own_states,
    precisions,
    random_key,
    trained_probe,
    whole_key,
    window_starts,
)
from papers.lexinvariant.puzzles import Puzzle

SMOKE = {experiment.name: experiment.sizes("smoke") for experiment in EXPERIMENTS}
SIZES = SMOKE["lexinv-markov"]["languages"]["markov"]


def make_model(kind, num_symbols=6, **fields):
    set_seed(0)
    sizes = {**SIZES, "model": {**SIZES["model"], **fields}}
    return SymbolInvariantForCausalLM(configuration(kind, num_symbols, sizes)).eval()


@pytest.fixture
def job(tmp_path) -> Job:
    return Job(tmp_path, tmp_path, {}, SMOKE["lexinv-cipher"], 0, lambda: None, lambda line: None)


class TestTables:
    @pytest.mark.parametrize("scale", [*SCALES, GPU])
    def test_every_row_has_a_model_and_a_sentence_at_every_scale(self, scale):
        for experiment in EXPERIMENTS:
            has_text = experiment.name in ("lexinv-text", "lexinv-cipher", "lexinv-symbols")
            assert experiment.scales() == ("smoke", "cpu", *(["gpu"] if has_text else []), "paper")
            if scale not in experiment.scales():
                continue
            sizes = experiment.sizes(scale)
            assert sizes["about"].endswith(".") and experiment.rows_of(scale)
            for row in experiment.rows_of(scale):
                if row.values["model"] in KINDS:
                    language = sizes["languages"][row.values.get("corpus", "markov")]
                    assert configuration(row.values["model"], 6, language).kind == "decoder-only"

    def test_the_model_of_the_papers_size_has_the_papers_parameters(self):
        language = EXPERIMENTS[2].sizes("paper")["languages"]["code"]
        with torch.device("meta"):
            model = SymbolInvariantForCausalLM(configuration("gaussian", 128, language))
        assert round(model.num_parameters() / 1e6) == 151


class TestLexinvariance:
    @pytest.mark.parametrize("kind", ["gaussian", "identity"])
    def test_renaming_text_and_draw_alongside_leaves_the_loss_bit_for_bit(self, kind):
        model, generator = make_model(kind), torch.Generator().manual_seed(0)
        texts = torch.randint(6, (5, 20), generator=generator)
        key = torch.randperm(6, generator=generator)
        vectors, same = model.draw(5, generator), torch.arange(6).expand(5, -1)
        losses = []
        with torch.no_grad():
            for words, order in ((texts, same), (key[texts], key.expand(5, -1))):
                ids = torch.from_numpy(symbol_ids(words.numpy()))
                found = model(ids, labels=ids, slot_vectors=vectors, slot_referents=order)
                losses.append(found.loss)
        assert torch.equal(*losses)

    def test_over_draws_the_losses_of_a_text_and_its_renaming_have_one_distribution(self):
        texts = np.random.default_rng(0).integers(6, size=(1, 12))
        key = np.array([3, 0, 5, 1, 2, 4])

        def found(kind, words, seed):
            many = np.repeat(words, 3000, axis=0)
            return losses_by_place(make_model(kind), kind, many, batch_size=500, seed=seed).mean(1)

        plain, renamed = found("gaussian", texts, 0), found("gaussian", key[texts], 1)
        error = math.sqrt((plain.var() + renamed.var()) / 3000)
        assert abs(plain.mean() - renamed.mean()) < 4 * error
        quantiles = np.linspace(0.05, 0.95, 7)
        assert np.abs((plain[:, None] < np.quantile(renamed, quantiles)).mean(0) - quantiles).max() < 0.05
        fixed = [
            losses_by_place(make_model("learned"), "learned", words, batch_size=1, seed=0)
            for words in (texts, key[texts])
        ]
        assert abs(fixed[0] - fixed[1]).max() > 0.01

    @pytest.mark.parametrize("kind", ["learned", "regularised"])
    def test_losses_by_place_are_the_models_loss_taken_apart(self, kind):
        model, texts = make_model(kind), np.random.default_rng(1).integers(6, size=(7, 10))
        ids = torch.from_numpy(symbol_ids(texts))
        losses = losses_by_place(model, kind, texts, batch_size=3, seed=0)
        assert losses.shape == (7, 10)
        assert losses.mean() == pytest.approx(model(ids, labels=ids).loss.item(), rel=1e-5)

    def test_a_fifth_of_the_tokens_is_renamed_by_a_permutation_of_each_text(self):
        torch.manual_seed(0)
        texts = np.random.default_rng(0).integers(50, size=(100, 400))
        found = renamed_in_part(texts, 50)
        assert 0.18 < (found != texts).mean() < 0.21  # 0.196: a permutation leaves one of 50
        for text, renamed in zip(texts, found, strict=True):
            pairs = {(old, new) for old, new in zip(text, renamed, strict=True) if old != new}
            olds, news = zip(*pairs, strict=True)
            assert len(set(olds)) == len(set(news)) == len(pairs)  # one new name each, and no two the same
        assert len({found[place, texts[place] == 7].max() for place in range(100)}) > 20
        ids = collate(list(texts), renamed_of=50)
        assert (ids["input_ids"] == ids["labels"]).all() and ids["input_ids"].shape == (100, 401)

    def test_the_mean_of_draws_is_better_than_a_draw(self):
        model, texts = make_model("gaussian"), np.random.default_rng(1).integers(6, size=(50, 10))
        one, eight = (
            losses_by_place(model, "gaussian", texts, batch_size=25, seed=0, num_draws=n).mean() for n in (1, 8)
        )
        assert eight < one


class TestStreams:
    @pytest.mark.parametrize("kind", ["canonical", "streams"])
    def test_a_renamed_text_has_the_same_losses_bit_for_bit(self, kind):
        texts = np.random.default_rng(0).integers(6, size=(5, 20))
        key = np.array([3, 0, 5, 1, 2, 4])
        plain, renamed = (losses_by_place(make_model(kind), kind, x, batch_size=5, seed=0) for x in (texts, key[texts]))
        assert np.array_equal(plain, renamed) and plain.std() > 0

    @pytest.mark.parametrize("kind", ["canonical", "streams"])
    def test_a_new_symbol_is_any_of_those_that_have_not_occurred(self, kind):
        texts = np.array([[first, second] for first in range(6) for second in range(6)])
        model = make_model(kind)
        chances = np.exp(-losses_by_place(model, kind, texts, batch_size=36, seed=0)).reshape(6, 6, 2)
        with torch.no_grad():  # 3 is the first symbol: a new one after <s>, then the one that has occurred, and 4 new
            after = model(torch.tensor([[0, 3]])).logits[0].double().softmax(-1).numpy()
        assert chances[:, :, 0] == pytest.approx(np.full((6, 6), after[0, 3] / 6), rel=1e-4)
        expected = np.where(np.eye(6), after[1, 3], after[1, 4] / 5)
        assert chances[:, :, 1] == pytest.approx(expected, rel=1e-4)

    def test_a_probe_reads_each_symbols_own_stream(self):
        model, texts = make_model("streams"), np.random.default_rng(0).integers(6, size=(3, 9))
        ids = torch.from_numpy(symbol_ids(texts))
        output = model(ids, output_hidden_states=True)
        own = own_states(output, ids)
        for row, place in np.ndindex(3, 9):
            stream = output.slot_referents[row].tolist().index(texts[row, place])
            assert torch.equal(own[row, place + 1], output.hidden_states[-1][row, stream, place + 1])
        assert torch.equal(own[:, 0], output.hidden_states[-1][:, 0, 0])


class TestMeasures:
    def test_perplexities_are_of_groups_that_the_texts_have(self):
        losses = np.log(np.arange(1.0, 9.0))[None].repeat(3, axis=0)
        found = perplexities(losses, MARKOV_PLACES)
        assert [measure.heading for measure in found] == ["1 to 4", "5 to 8"]
        number = Number.perplexity(found[Perplexity(Places(0, 4))]["losses"])
        assert (number.value, number.count) == (pytest.approx(24 ** (1 / 4)), 3)

    def test_moving_averages_are_means_of_what_follows(self):
        assert moving_average([1.0, 2.0, 6.0, 4.0], 2) == pytest.approx([1.5, 4.0, 5.0])

    def test_windows_go_from_the_first_place_to_the_last(self):
        assert window_starts(64, 16) == [0, 16, 32, 48]
        assert window_starts(512, 100) == [0, 137, 275, 412]

    def test_the_best_predictor_has_no_gap_to_itself(self, job):
        found = measure_markov(replace(job, values={"model": "exact"}))
        assert set(found[Gap(Places(32, 64))]["values"]) == {0.0}
        truth = measure_markov(replace(job, values={"model": "truth"}))
        assert sum(truth[Gap(Places(0, 4))]["values"]) < 0 and len(truth[CURVE]["losses"]) == 64
        numbers = [Number.perplexity(part[Perplexity(Places(32, 64))]["losses"]) for part in (truth, found)]
        assert numbers[0].value == pytest.approx(numbers[1].value, rel=0.05) and numbers[0].count == 20
        assert numbers[0].low < numbers[0].value < numbers[0].high

    def test_counting_has_a_row_beside_the_models_of_text(self, job):
        values = {"corpus": "code", "model": "counting"}
        found = measure_text(replace(job, values=values, sizes=SMOKE["lexinv-text"]))
        measures = (Perplexity(Places(0, 16)), Perplexity(Places(32, 64)))
        early, late = (Number.perplexity(found[measure]["losses"]).value for measure in measures)
        assert 15 < late < early < 96


class TestKeys:
    def test_votes_are_of_the_majority_and_only_for_what_was_seen(self):
        key = np.array([2, 0, 1, 3])  # a is written as c, b as a, c as b
        letters = np.array([0, 1, 2])
        enciphered = np.array([[2, 2, 2, 0], [3, 3, 3, 3], [2, 2, 2, 2]])
        named = np.array([[0, 0, 1, 2], [0, 0, 0, 0], [0, 1, 0, 1]])
        # c is a; that a is c is wrong; nothing is seen of b; the second text has nothing enciphered
        assert precisions(named, enciphered, key, letters) == [0.5, 1.0]
        assert whole_key(named, enciphered, key, letters) == 1

    def test_of_equally_many_votes_the_first_letter_wins(self):
        key = np.array([0, 1])
        assert precisions(np.array([[1, 0]]), np.array([[1, 1]]), key, key) == [0.0]

    def test_a_matrix_has_the_mean_over_texts_of_the_softmax_of_their_mean_logits(self):
        probabilities = np.array([[[0.9, 0.1], [0.5, 0.5]], [[0.2, 0.8], [0.6, 0.4]]])
        matrix = key_matrix(probabilities, np.array([[0, 0], [0, 1]]), np.arange(2), np.arange(2))
        assert matrix == [
            [round((0.75 + 0.2) / 2, 4), round((0.25 + 0.8) / 2, 4)],
            [0.6, 0.4],
        ]  # odds 9 and 1 have mean 3

    def test_who_knows_the_key_gets_all_of_it_and_its_matrix(self):
        letters = np.array([1, 3, 4, 5])
        key = random_key(7, letters, seed=2)
        assert sorted(key) == list(range(7)) and key[[0, 2, 6]].tolist() == [0, 2, 6] and (key != range(7)).any()
        plain = np.random.default_rng(0).integers(7, size=(20, 30))
        assert precisions(plain, key[plain], key, letters) == [1.0] * 20
        assert whole_key(plain, key[plain], key, letters) == 4
        matrix = np.array(key_matrix(np.eye(7)[plain], key[plain], key, letters))
        for row, symbol in zip(matrix, letters, strict=True):
            assert row.tolist() == (key[letters] == symbol).astype(float).tolist()

    def test_ciphers_exchange_small_letters_or_all_symbols_that_are_no_characters(self):
        texts = Texts(np.zeros((1, 2)), np.zeros((1, 2)), 96, ALPHABETS["printable"])
        assert "".join(ALPHABETS["printable"][place] for place in cipher_letters(texts)) == ALPHABETS["letters"][1:]
        assert cipher_letters(replace(texts, characters=None, num_symbols=6)).tolist() == list(range(6))

    def test_a_probe_learns_to_name_what_the_model_has_just_read(self, job):
        texts = texts_of(job, "markov")
        fast = {**job.sizes["probe"]["trainer"], "max_steps": 150, "learning_rate": 1e-2}
        job = replace(job, sizes={**job.sizes, "probe": {"width": 16, "trainer": fast}})
        probe = trained_probe(job, "markov", "learned", make_model("learned"), texts)
        found = deciphered(probe, "learned", texts.test, batch_size=10, seed=0)
        assert found.shape == (20, 64, 6) and np.allclose(found.sum(-1), 1, atol=1e-5)
        assert (found.argmax(-1) == texts.test).mean() > 0.9


class TestPuzzles:
    def test_answers_that_a_model_would_give_count_as_solved(self):
        model, characters = make_model("learned", 96), ALPHABETS["printable"]
        puzzles = []
        for prompt in ("ab", "xy", "Q."):
            ids = torch.from_numpy(encode([prompt], characters))
            for _ in range(3):
                logits = model(ids).logits[:, -1]
                logits[:, model.config.eos_token_id] = -math.inf
                ids = torch.cat((ids, logits.argmax(-1, keepdim=True)), dim=1)
            said = ids[0, -3:].tolist()
            assert min(said) >= 3  # the model says characters
            puzzles.append(Puzzle(prompt, (characters[said[0] - 3], characters[said[2] - 3])))
        found = solved(model, puzzles, characters, batch_size=2, seed=0)
        assert found == {"correct": 6, "count": 6}
        wrong = [
            puzzle._replace(answer=("~" if puzzle.answer[0] != "~" else "!", puzzle.answer[1])) for puzzle in puzzles
        ]
        assert solved(model, wrong, characters, batch_size=2, seed=0) == {"correct": 3, "count": 6}


class TestCorpora:
    @pytest.fixture
    def prose(self, tmp_path, monkeypatch) -> Path:
        path = tmp_path / "prose.txt"
        path.write_text("It was the best of times, it was the worst of times. " * 200)
        monkeypatch.setenv("HF_SYMBINV_PROSE", str(path))
        return path

    def test_prose_is_what_the_variable_names(self, job, prose):
        texts = texts_of(job, "prose")
        assert texts.train.shape == (128, 64) and len(texts.test) == 16 and texts.num_symbols == 96
        assert "".join(texts.characters[place] for place in texts.test[0]) in prose.read_text()

    def test_prose_that_nobody_named_is_missing(self, job, monkeypatch):
        monkeypatch.delenv("HF_SYMBINV_PROSE", raising=False)
        with pytest.raises(
            MissingDataError, match="HF_SYMBINV_PROSE is not set; let it name the prose to read: a text"
        ):
            texts_of(job, "prose")

    def test_prose_that_is_not_there_or_too_short_is_missing(self, job, monkeypatch, tmp_path):
        monkeypatch.setenv("HF_SYMBINV_PROSE", "no/such/file")
        with pytest.raises(MissingDataError, match="HF_SYMBINV_PROSE: no/such/file: no such file or folder"):
            texts_of(job, "prose")
        (tmp_path / "short.txt").write_text("It was.")
        monkeypatch.setenv("HF_SYMBINV_PROSE", str(tmp_path / "short.txt"))
        with pytest.raises(MissingDataError, match=r"short\.txt: 10 documents with 7 characters leave no window of 64"):
            texts_of(job, "prose")

    def test_a_folder_of_results_keeps_its_corpus(self, job, prose, monkeypatch):
        texts_of(job, "prose")
        other = prose.with_name("other.txt")
        other.write_text(prose.read_text())
        monkeypatch.setenv("HF_SYMBINV_PROSE", str(other))
        with pytest.raises(MissingDataError, match=r"holds a data set made in another way.*or name the corpus that is"):
            texts_of(job, "prose")


@pytest.mark.slow
@pytest.mark.xdist_group("lexinvariant")  # the tests of the class share a folder
class TestSmoke:
    """All tables at the smallest scale, through the command: they share models."""

    def run(self, folder, capsys, *names):
        code = papers([*names, "--scale", "smoke", "--output", str(folder)])
        return code, capsys.readouterr().out

    def test_all_tables_are_made_with_their_pictures(self, folder, capsys, monkeypatch):
        prose = folder / "prose.txt"
        prose.write_text("It was the best of times, it was the worst of times. " * 400)
        monkeypatch.setenv("HF_SYMBINV_PROSE", str(prose))
        code, printed = self.run(folder, capsys, *(experiment.name for experiment in EXPERIMENTS))
        assert code == DONE
        lines = [line for line in printed.splitlines() if line.startswith("|")]
        assert len(lines) == sum(2 + len(experiment.rows) for experiment in EXPERIMENTS)
        assert "| code | lexinvariant | " in printed and " 86.65 |" in printed and " 99.6 |" in printed
        made = {path.name for path in (folder / "smoke/tables").glob("*.png")}
        assert made == {f"lexinv-{name}.png" for name in ("markov", "text", "cipher")}
        assert {path.name for path in (folder / "smoke/experiments/lexinvariant-data/models").iterdir()} == {
            *(f"{name}-{kind}-seed0" for name in ("markov", "code", "prose") for kind in MODELS),
            *(f"{name}-norm-first-seed0" for name in ("code", "prose")),
            "markov-streams-seed0",
            *(f"markov-small-{kind}-seed0" for kind in ("learned", "canonical", "renamed", "gaussian", "streams")),
        }
        before = {path: path.stat().st_mtime_ns for path in folder.glob("smoke/experiments/**/result.json")}
        assert self.run(folder, capsys, *(experiment.name for experiment in EXPERIMENTS)) == (DONE, printed)
        assert {path: path.stat().st_mtime_ns for path in before} == before

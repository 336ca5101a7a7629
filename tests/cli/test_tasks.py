"""The commands speak to every task, and say what does not belong to it."""

import json

import pyarrow
import pyarrow.parquet
import pytest

TINY_TASK = '''
from hf_symbinv.tasks import SymbolTask


class Swap(SymbolTask):
    """Two symbols; the answer has them in the other order."""

    name = "swap"
    base_tokens = ("<s>", "<pad>", "</s>", "then")

    def draw(self, symbols, smallest, largest, seed, count):
        return []

    def solve(self, question):
        return question[::-1]

    def judge(self, question, answer):
        words, wanted = list(self.symbols(answer)), list(self.symbols(question))[::-1]
        return ("correct", "") if words == wanted else ("incorrect", f"should be {' '.join(wanted)}")


SWAP = Swap()
'''
SIZES = {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "num_attention_heads": 2, "d_ff": 12}
SHORT = ("--beams", "1", "--max-new-tokens", "6", "--device", "cpu")


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """`make(task, **fields)`: the folder of a model that never learned anything."""
    import torch

    from hf_symbinv import SymbolInvariantForConditionalGeneration

    def save(task, **fields):
        folder = tmp_path_factory.mktemp("checkpoint") / task.name
        torch.manual_seed(0)
        SymbolInvariantForConditionalGeneration(task.config(**SIZES, **fields)).save_pretrained(folder)
        task.tokenizer().save_pretrained(folder)
        return folder

    return save


@pytest.fixture(scope="module")
def copier(make):
    from hf_symbinv import COPY

    return make(COPY, symbol_embedding="learned", num_symbols=3)


@pytest.fixture(scope="module")
def swap(tmp_path_factory):
    path = tmp_path_factory.mktemp("tasks") / "swap_task.py"
    path.write_text(TINY_TASK)
    return path


@pytest.fixture(scope="module")
def strings(tmp_path_factory):
    texts = ["abc", "ab", "da", "aa"]
    return tables(tmp_path_factory.mktemp("data") / "copy", {"string": texts, "copy": texts})


def tables(folder, columns, splits=("test",)):
    """A folder of data with these columns in each split."""
    (folder / "data").mkdir(parents=True)
    for split in splits:
        pyarrow.parquet.write_table(pyarrow.table(columns), folder / "data" / f"{split}-00000-of-00001.parquet")
    return folder


class TestVerify:
    def test_an_assignment_is_read_in_either_notation_and_may_not_suffice(self, symbinv):
        for assignment in ("a=1, b=0", "a1b0"):
            result = symbinv("verify", "--task", "prop", "a & (b <-> !a)", assignment)
            assert result == (0, f"a & (b <-> !a)\n  assignment  {assignment}\n  verdict     correct\n", "")
        result = symbinv("verify", "--task", "prop", "--json", "a & (b <-> !a)", "a=1")
        content = json.loads(result.out)
        assert (result.code, content["verdict"]) == (1, "incorrect") and content["message"]
        assert list(content) == ["formula", "assignment", "verdict", "seconds", "message"]

    def test_copies(self, symbinv):
        result = symbinv("verify", "--task", "copy", "p30 a p30", "p30 a b")
        assert result.code == 1 and "\n  verdict  incorrect: symbol 3 is b and should be p30\n" in result.out

    def test_an_exception_of_the_judge_is_shown_once_and_the_others_are_counted(self, symbinv, tmp_path, caplog):
        path = tmp_path / "clumsy_task.py"
        path.write_text(TINY_TASK.replace("words, wanted =", "first, second = answer\n        words, wanted ="))
        pairs = b"ab\tba\nabc\tcba\nabcd\tdcba\n"
        result = symbinv("verify", "--task", path, stdin=pairs)
        assert result.code == 1 and result.out.count("verdict  error: ValueError: too many values to unpack") == 2
        assert "  verdict  correct" in result.out
        assert caplog.text.count("Traceback") == 1 and "first, second = answer" in caplog.text
        assert result.err.endswith(
            "symbinv verify: the judge raised an exception for 2 answers, with the verdict error; see the traceback of "
            "the first, and mend the task\n"
        )


class TestSolve:
    def test_a_symbol_without_a_row_is_told_so(self, symbinv, copier):
        result = symbinv("solve", "--model", copier, *SHORT, "abx")
        assert result.code == 1
        assert result.out == (
            "abx\n  copy     not found: the model missed it, or there is none\n  tried    nothing\n"
            "  verdict  invalid: this checkpoint knows the symbols a, b, c only and has no row for x; use these names, "
            "or a checkpoint with streams\n"
        )

    def test_random_embeddings_are_those_of_the_seed(self, symbinv, make):
        from hf_symbinv import COPY

        folder = make(COPY, symbol_embedding="random", random_dim=4, num_symbols=3)
        texts = ["abcabc", "ba", "cabbage", "fed"]
        first, again, *others = (
            symbinv("solve", "--model", folder, *SHORT, "--embedding-seed", seed, *texts).out
            for seed in (0, 0, 1, 2, 3)
        )
        assert first == again and set(others) != {first}

    def test_a_task_of_one_s_own(self, symbinv, make, swap):
        from hf_symbinv.tasks import load_task

        folder = make(load_task(swap))
        (line,) = symbinv("solve", "--json", "--task", swap, "--model", folder, *SHORT, "a then b").out.splitlines()
        assert list(json.loads(line))[:3] == ["question", "answer", "verdict"]
        assert symbinv("verify", "--task", swap, "a then b", "b then a").code == 0
        result = symbinv("verify", "--task", swap, "a then b", "a then b")
        assert result.code == 1 and "  answer   a then b\n  verdict  incorrect: should be b a" in result.out


class TestEvaluate:
    def test_the_table_names_the_task_and_has_its_metric(self, symbinv, copier, strings):
        result = symbinv("evaluate", copier, "--data", strings, *SHORT)
        head, columns, total, *_ = result.out.splitlines()
        assert result.code == 0 and ", split test, task copy; " in head and columns.endswith("edit distance")
        assert total.split()[0:2] == ["all", "4"]

    def test_what_it_writes_can_be_drawn(self, symbinv, copier, strings, tmp_path):
        report = tmp_path / "report.json"
        assert symbinv("evaluate", copier, "--data", strings, *SHORT, "--output", report).code == 0
        result = symbinv("plot", "heatmap", report)
        head, means, columns, *rows = result.out.splitlines()
        assert head == f"{copier} on {strings}: mean edit distance by number of symbols and string length"
        assert means.endswith(" of 4") and columns.split() == ["symbols", "2", "3", "all"]
        assert [row.split()[0] for row in rows] == ["1", "2", "3"]

    def test_renamings_are_into_the_names_that_are_asked_for(self, symbinv, copier, strings):
        renamings = ["--alpha-covariance", "4", "--renamings", "5", "--json"]
        arguments = ["evaluate", copier, "--data", strings, *SHORT, *renamings]
        content = json.loads(symbinv(*arguments, "--alphabet", "3").out)["alpha_covariance"]
        assert (content["predictions"], content["examples"]) == (5 + 5 + 5 + 3, 4)
        result = symbinv(*arguments, "--alphabet", "2")
        assert result.code == 2 and "--alphabet 2: a question has 3 symbols; use at least 3" in result.err

    def test_a_judge_that_raises_makes_the_command_fail(self, symbinv, make, tmp_path, caplog):
        from hf_symbinv.tasks import load_task

        path = tmp_path / "raising_task.py"
        path.write_text(TINY_TASK.replace("words, wanted =", "raise LookupError(answer)\n        words, wanted ="))
        columns = {"question": ["a then b", "b then a"], "answer": ["b then a", "a then b"]}
        data = tables(tmp_path / "data", columns)
        result = symbinv("evaluate", make(load_task(path)), "--task", path, "--data", data, *SHORT)
        assert result.code == 1 and caplog.text.count("Traceback") == 1 and "LookupError" in caplog.text
        assert result.out.splitlines()[2].split()[:2] == ["all", "2"]
        assert "symbinv evaluate: the judge raised an exception for 2 answers" in result.err

    @pytest.mark.parametrize(
        ("raised", "told"),
        [
            ("KeyError('seat')", "KeyError: 'seat'"),
            ("ValueError('two\\nlines')", "ValueError: two lines"),
            ("type('Mute', (Exception,), {'__str__': lambda self: 1 / 0})()", "Mute: <exception str() failed>"),
        ],
    )
    def test_another_method_that_raises_is_named_with_its_line(self, raised, told, symbinv, make, tmp_path):
        from hf_symbinv.tasks import load_task

        path = tmp_path / f"seatless_{len(raised)}_task.py"  # a module is imported once
        method = f"    def alpha_class(self, question):\n        raise {raised}"
        path.write_text(TINY_TASK.replace("SWAP = Swap()", f"{method}\n\n\nSWAP = Swap()"))
        data = tables(tmp_path / "data", {"question": ["a then b"], "answer": ["b then a"]}, ("train", "test"))
        model, line = make(load_task(path)), path.read_text().splitlines().index(f"        raise {raised}") + 1
        result = symbinv("evaluate", model, "--task", path, "--data", data, "--novel", *SHORT)
        assert result.code == 2
        assert result.err.startswith(f"symbinv evaluate: {path}, line {line}, in alpha_class: raised ")
        assert result.err.endswith(f"{told}; mend the task\n")


class TestTrain:
    @pytest.mark.slow
    def test_a_run_stops_in_time_and_goes_on(self, symbinv, tmp_path):
        small = ["trainer.max_steps=2", "trainer.eval_strategy=no", "test_rows=4", "data.rows=40"]
        fast = ["trainer.per_device_train_batch_size=4", "trainer.use_cpu=true", "--output", tmp_path / "run"]
        stopped = symbinv("train", "copy-smoke", *small, *fast, "--max-minutes", "0.00001")
        assert (stopped.code, stopped.out) == (3, "")
        assert stopped.err.endswith("symbinv train: time is up after step 1 of 2; repeat the command to go on\n")
        finished = symbinv("train", "copy-smoke", *small, *fast)
        results = json.loads(finished.out)
        assert finished.code == 0 and results["test_count"] == 4 and results["test_edit_distance"] >= 0

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
    folder = tmp_path_factory.mktemp("data") / "copy"
    (folder / "data").mkdir(parents=True)
    texts = ["abc", "ab", "da", "aa"]
    table = pyarrow.table({"string": texts, "copy": texts})
    pyarrow.parquet.write_table(table, folder / "data" / "test-00000-of-00001.parquet")
    return folder


class TestVerify:
    @pytest.mark.parametrize("assignment", ["a=1, b=0", "a1b0", "b=0,a=1"])
    def test_an_assignment_is_checked_in_either_notation(self, assignment, symbinv):
        result = symbinv("verify", "--task", "prop", "a & (b <-> !a)", assignment)
        assert result == (0, f"a & (b <-> !a)\n  assignment  {assignment}\n  verdict     correct\n", "")

    def test_an_assignment_that_does_not_suffice_is_incorrect(self, symbinv):
        result = symbinv("verify", "--task", "prop", "--json", "a & (b <-> !a)", "a=1")
        content = json.loads(result.out)
        assert (result.code, content["verdict"]) == (1, "incorrect") and content["message"]
        assert list(content) == ["formula", "assignment", "verdict", "seconds", "message"]

    @pytest.mark.parametrize("assignment", ["a=1, a=0", "a1a0", "a=2", "a; {b}", "a"])
    def test_what_is_no_assignment_is_invalid_and_says_why(self, assignment, symbinv):
        content = json.loads(symbinv("verify", "--task", "prop", "--json", "a", assignment).out)
        assert content["verdict"] == "invalid" and content["message"]

    def test_an_assignment_that_assigns_twice_is_told_so(self, symbinv):
        result = symbinv("verify", "--task", "prop", "a", "a=1, a=0")
        assert result.code == 1 and "twice" in result.out

    @pytest.mark.parametrize("formula", ["a U b", "G a", "X(a & b)"])
    def test_operators_of_the_other_task_are_refused(self, formula, symbinv):
        result = symbinv("verify", "--task", "prop", formula, "a=1")
        assert result.code == 2 and "propositional" in result.err and "Traceback" not in result.err

    def test_an_assignment_is_no_witness_and_a_witness_no_assignment(self, symbinv):
        assert symbinv("verify", "a", "a=1").out.count("verdict  invalid: ") == 1
        assert symbinv("verify", "--task", "prop", "a", "a; cycle{1}").out.count("verdict     invalid: ") == 1

    def test_copies(self, symbinv):
        result = symbinv("verify", "--task", "copy", "p30 a p30", "p30 a b")
        assert result.code == 1 and "\n  verdict  incorrect: symbol 3 is b and should be p30\n" in result.out

    def test_a_task_of_one_s_own(self, symbinv, swap):
        assert symbinv("verify", "--task", swap, "a then b", "b then a").code == 0
        result = symbinv("verify", "--task", swap, "a then b", "a then b")
        assert result.code == 1 and "  answer   a then b\n  verdict  incorrect: should be b a" in result.out

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

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (
                ["--task", "chess", "a", "a"],
                "task='chess': unknown; use one of ltl, ltl-operators, prop, copy, tseitin",
            ),
            (["--task", "no.py", "a", "a"], "task='no.py': no such file"),
            (["--task", "copy", "a"], "1 arguments: give one string and one copy, each in quotes"),
            (
                ["--task", "copy", "--notation", "lbt", "a", "a"],
                "--notation lbt: task copy does not have it; use one of",
            ),
        ],
    )
    def test_bad_usage_is_refused_with_a_sentence(self, arguments, message, symbinv):
        result = symbinv("verify", *arguments)
        assert result.code == 2 and result.out == "" and message in result.err and "Traceback" not in result.err


class TestSolve:
    def test_the_model_says_which_task_it_is(self, symbinv, copier):
        (line,) = symbinv("solve", "--json", "--model", copier, *SHORT, "a b").out.splitlines()
        assert list(json.loads(line))[:3] == ["string", "copy", "verdict"]

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

    def test_assignments(self, symbinv, make):
        from hf_symbinv import PROP

        result = symbinv("solve", "--json", "--model", make(PROP), *SHORT, "a & (b <-> !c)", "a U b", "a -> b")
        found = [json.loads(line) for line in result.out.splitlines()]
        assert result.code == 2 and [list(content)[1] for content in found] == ["assignment", "error", "assignment"]
        assert "propositional" in found[1]["error"]

    def test_a_task_of_one_s_own(self, symbinv, make, swap):
        from hf_symbinv.tasks import load_task

        folder = make(load_task(swap))
        (line,) = symbinv("solve", "--json", "--task", swap, "--model", folder, *SHORT, "a then b").out.splitlines()
        assert list(json.loads(line))[:3] == ["question", "answer", "verdict"]
        assert "  swap\n" in symbinv("info", "--task", swap, folder).out

    def test_without_a_checkpoint_of_the_task_it_says_what_to_do(self, symbinv):
        result = symbinv("solve", "--task", "copy", "abc")
        assert result.code == 2 and result.out == ""
        assert result.err == (
            "symbinv solve: task copy: no checkpoint for it comes with the package; name a folder or a model on the "
            "Hub, or train one with `symbinv train`\n"
        )

    def test_a_checkpoint_of_another_task_is_refused(self, symbinv, copier):
        result = symbinv("solve", "--task", "ltl", "--model", copier, "a")
        assert result.code == 2
        assert f"{copier}: its base tokens are not those of task ltl, <s> <pad> </s> 0 1 " in result.err


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
        again = json.loads(symbinv(*arguments, "--alphabet", "3", "--every-renaming").out)["alpha_covariance"]
        assert again == {**content, "every_renaming": True, "renamed": False}
        result = symbinv(*arguments, "--alphabet", "2")
        assert result.code == 2 and "--alphabet 2: a question has 3 symbols; use at least 3" in result.err

    def test_data_of_another_task_are_refused(self, symbinv, strings):
        result = symbinv("evaluate", "--data", strings)
        assert result.code == 2
        assert result.err == (
            f"symbinv evaluate: {strings}: has columns string, copy; task ltl needs formula and witness too: name data "
            "of this task, or the task of these data\n"
        )

    def test_a_judge_that_raises_makes_the_command_fail(self, symbinv, make, tmp_path, caplog):
        from hf_symbinv.tasks import load_task

        path = tmp_path / "raising_task.py"
        path.write_text(TINY_TASK.replace("words, wanted =", "raise LookupError(answer)\n        words, wanted ="))
        data = tmp_path / "data"
        (data / "data").mkdir(parents=True)
        table = pyarrow.table({"question": ["a then b", "b then a"], "answer": ["b then a", "a then b"]})
        pyarrow.parquet.write_table(table, data / "data" / "test-00000-of-00001.parquet")
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
        (tmp_path / "data" / "data").mkdir(parents=True)
        table = pyarrow.table({"question": ["a then b"], "answer": ["b then a"]})
        for split in ("train", "test"):
            pyarrow.parquet.write_table(table, tmp_path / "data" / "data" / f"{split}-00000-of-00001.parquet")
        model, line = make(load_task(path)), path.read_text().splitlines().index(f"        raise {raised}") + 1
        result = symbinv("evaluate", model, "--task", path, "--data", tmp_path / "data", "--novel", *SHORT)
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

    def test_no_time_at_all_is_refused(self, symbinv):
        result = symbinv("train", "copy-smoke", "--output", "run", "--max-minutes", "0")
        assert result.code == 2 and "'0': must be a positive number of minutes" in result.err

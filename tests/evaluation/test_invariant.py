"""Any model, wrapped: renamed texts have renamed results, exactly, whatever the model, the names and the votes."""

import hashlib
import random
import re

import datasets
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import pipeline

from hf_symbinv import RenamingError, invariant
from hf_symbinv.evaluation.invariant import MeanLogits, SymbolRule, elect

from .small_models import KEEP, MODELS, RULE, gpt2, saved_encoder, shaken, small_pipeline, subword_tokenizer, tokenizer

GREEDY = {"max_new_tokens": 6, "do_sample": False}
TEXT = "let foo = bar + foo in total"


def draw(text):
    """Numbers that depend on every sign of a text."""
    return random.Random(hashlib.sha256(text.encode()).hexdigest())


def by_hash(texts):
    """Reads names by hash: text, label, score, vector and spans all depend on them."""
    results = []
    for text in texts:
        chance = draw(text)
        words = [(found.start(), found.end()) for found in re.finditer(r"\w+", text)]
        start, end = chance.choice(words)
        results.append({
            "generated_text": " ".join([*(text[slice(*chance.choice(words))] for _ in "123"), chance.choice("bcdxy")]),
            "label": chance.choice(["YES", "NO"]),
            "score": chance.random(),
            "vector": [chance.random() for _ in range(3)],
            "span": {"word": text[start:end], "start": start, "end": end},
            "offsets": [chance.choice(words)],
        })  # fmt: skip
    return results


def len_of(texts):
    return list(map(len, texts))


def renamed(text, names):
    """The oracle: word by word, at once."""
    return re.sub(r"[A-Za-z_]\w*", lambda found: names.get(found[0], found[0]), text)


def names_of(text):
    return [word for word in dict.fromkeys(re.findall(r"[a-z_]\w*", text)) if word not in KEEP]


def renamings(text, count, pool):
    """Random renamings of a text into a pool, which may hold its own names in other places."""
    chance, names = random.Random(text), names_of(text)
    return [dict(zip(names, chance.sample(pool, len(names)), strict=True)) for _ in range(count)]


POOL = [*"abcdefghijklmnopqrstuvwxyz", "foo", "bar", "total", "b1", "longer_name"]


class TestAModelThatReadsNamesByHash:
    @pytest.mark.parametrize("votes", [1, 5])
    def test_80_renamings_of_a_text_have_one_result_but_for_names(self, votes):
        ask = invariant(by_hash, RULE, votes=votes, keep=KEEP)
        written = ask(TEXT)
        bare = [result["label"] for result in by_hash([renamed(TEXT, names) for names in renamings(TEXT, 80, POOL)])]
        assert len(set(bare)) == 2  # without the wrapper
        own = names_of(TEXT)
        for names in renamings(TEXT, 80, POOL):
            text = renamed(TEXT, names)
            found = ask(text)
            assert (found["label"], found["score"], found["vector"]) == (
                written["label"], written["score"], written["vector"]
            )  # fmt: skip
            assert places(TEXT, written) == places(text, found)
            for old, new in zip(written["generated_text"].split(), found["generated_text"].split(), strict=True):
                if old in own or old in KEEP:
                    assert new == names.get(old, old)
                else:  # a name that the model made up stands for no symbol of the text
                    assert new not in names.values()

    def test_votes_change_the_result(self):
        """So that the test above says something of five."""

        def vectors(texts):
            return [result["vector"] for result in by_hash(texts)]

        one, five = (invariant(vectors, RULE, votes=votes, keep=KEEP) for votes in (1, 5))
        ballots = vectors([ballot.new for ballot in five.ballots(five.canonical(TEXT).new)])
        assert one(TEXT) == ballots[0] != five(TEXT)
        assert five(TEXT) == pytest.approx([sum(column) / 5 for column in zip(*ballots, strict=True)])
        assert all(five(renamed(TEXT, names)) == five(TEXT) for names in renamings(TEXT, 80, POOL))

    def test_texts_of_a_list_do_not_depend_on_each_other_and_twins_are_asked_once(self):
        asked = []

        def model(texts):
            asked.append(texts)
            return by_hash(texts)

        ask = invariant(model, RULE, keep=KEEP)
        texts = ["let x = y", TEXT, "let y = x", "return x"]
        assert ask(texts) == [ask(text) for text in texts]
        assert asked[0] == ["let b = c", "let b = c + b in d", "return b"]


def places(text, result):
    """The words that spans are on, as their numbers in the text."""
    words = [(found.start(), found.end()) for found in re.finditer(r"\w+", text)]
    span = result["span"]
    assert text[span["start"] : span["end"]] == span["word"]
    return [words.index(place) for place in [(span["start"], span["end"]), *map(tuple, result["offsets"])]]


class TestPipelines:
    @pytest.mark.parametrize("votes", [1, 3])
    @pytest.mark.parametrize("task", ["text-classification", "token-classification", "feature-extraction"])
    def test_renamings_have_one_result(self, task, votes):
        ask = invariant(small_pipeline(task), RULE, votes=votes, keep=KEEP)
        written = ask(TEXT)
        for names in renamings(TEXT, 10, [*"abcxyz", "foo", "bar", "name"]):
            text = renamed(TEXT, names)
            found = ask(text)
            if task == "token-classification":
                assert [(tag["entity"], tag["score"]) for tag in found] == [(t["entity"], t["score"]) for t in written]
                assert all(text[tag["start"] : tag["end"]] == tag["word"] for tag in found)
                assert [tag["word"] for tag in found] == [names.get(t["word"], t["word"]) for t in written]
            else:
                assert found == written

    @pytest.mark.parametrize("votes", [1, 3])
    @pytest.mark.parametrize("full", [True, False])
    def test_generated_texts_are_renamed(self, votes, full):
        ask = invariant(small_pipeline("text-generation"), RULE, votes=votes, keep=KEEP)
        options = {**GREEDY, "return_full_text": full}
        written = ask(TEXT, **options)[0]["generated_text"]
        assert written.startswith(TEXT) == full
        own = names_of(TEXT)
        for names in renamings(TEXT, 10, ["alpha", "beta_1", "gamma", "delta"]):  # the model writes none of these
            expected = {**{name: name for name in POOL if name not in own}, **names}
            found, text = ask(renamed(TEXT, names), **options)[0]["generated_text"], renamed(TEXT, names)
            if full:  # the pipeline writes no blank between the question and what follows
                assert found == text + renamed(written.removeprefix(TEXT), expected)
            else:
                assert found == renamed(written, expected)

    @pytest.mark.parametrize("task", ["text-generation", "text-classification", "feature-extraction"])
    def test_results_have_the_form_that_the_pipeline_gives_them(self, task):
        bare = small_pipeline(task)
        options = GREEDY if task == "text-generation" else {}
        for votes in (1, 3):
            ask = invariant(bare, RULE, votes=votes, keep=KEEP)
            # In canonical names already, so that one vote changes nothing.
            for inputs in ("let b = c", ["let b = c"], ["let b = c", "return b"], []):
                one, other = bare(inputs, **options) if inputs else [], ask(inputs, **options)
                assert (one == other) if votes == 1 else (form(one) == form(other))

    def test_all_scores_are_means_in_order_and_one_score_is_of_the_label_with_most_votes(self):
        bare = small_pipeline("text-classification")
        ask = invariant(bare, RULE, votes=5, keep=KEEP)
        ballots = [bare(ballot.new, top_k=None) for ballot in ask.ballots(ask.canonical(TEXT).new)]
        scores = {label: [item["score"] for one in ballots for item in one if item["label"] == label] for label in
                  ("LABEL_0", "LABEL_1", "LABEL_2")}  # fmt: skip
        found = ask(TEXT, top_k=None)
        assert {item["label"]: item["score"] for item in found} == pytest.approx(
            {label: sum(own) / 5 for label, own in scores.items()}
        )
        assert [item["score"] for item in found] == sorted((item["score"] for item in found), reverse=True)

    def test_the_mean_of_logits_is_that_of_the_papers_equation(self):
        """By a loop over steps and ballots, with columns exchanged one by one."""
        model, words = gpt2(), tokenizer()
        ask = invariant(small_pipeline("text-generation"), RULE, votes=4, keep=KEEP)
        polls = ask.ballots(ask.canonical(TEXT).new)
        written = ""
        for _ in range(6):
            total = torch.zeros(len(words))
            for ballot in polls:
                names = {old: new for (_, old), new in ballot.names.items()}
                back = closed(names)
                there = {new: old for old, new in back.items()}
                ids = words(renamed(polls[0].new + written, there), return_tensors="pt")["input_ids"]
                with torch.no_grad():
                    logits = model(ids).logits[0, -1]
                for column in range(len(words)):
                    token = words.convert_ids_to_tokens(column)
                    total[words.convert_tokens_to_ids(back.get(token, token))] += logits[column]
            written += f" {words.convert_ids_to_tokens(int(total.argmax()))}"
        found = ask(polls[0].new, **GREEDY, return_full_text=False)[0]["generated_text"]
        assert found.split() == written.replace("</s>", "").split()

    def test_a_tokenizer_without_padding_says_what_to_set(self):
        bare = small_pipeline("text-generation")
        bare.tokenizer.pad_token = None
        ask = invariant(bare, RULE, votes=2, keep=KEEP)
        with pytest.raises(RenamingError, match=r"set pipeline.tokenizer.pad_token = pipeline.tokenizer.eos_token"):
            ask(TEXT, **GREEDY)
        bare.tokenizer.pad_token = bare.tokenizer.eos_token
        assert ask(TEXT, **GREEDY)


def closed(names):
    """New name -> old name, as a permutation of all of them: chains are closed."""
    back = {new: old for old, new in names.items()}
    for name in names:
        end = name
        while end in names and name not in back:
            end = names[end]
        back.setdefault(name, end)
    return back


def form(result):
    if isinstance(result, list):
        return [form(item) for item in result]
    return {key: form(value) for key, value in result.items()} if isinstance(result, dict) else type(result)


WORD = st.sampled_from([*"abcdefgxyz", "foo", "b1", "_", "let", "in", "(", ")", "+", "b-c", '"b c"', "9", "B", "\n"])


class TestTheLaw:
    @settings(max_examples=150, deadline=None)
    @given(st.lists(WORD, max_size=12), st.integers(1, 3), st.randoms(use_true_random=False))
    def test_renamings_of_any_text_are_the_same_to_the_model(self, words, votes, chance):
        """Also where names of the pool stand in the text, as symbols or as parts that stay, such as keywords."""
        seen = []

        def model(texts):
            seen.append(texts)
            return texts  # says what it was asked

        ask = invariant(model, RULE, votes=votes, keep=[*KEEP, "g", "d"])
        text = " ".join(words)
        own = [name for kind, name in ask.rule.symbols_of(text)]
        pool = [name for name in POOL if name not in ("g", "d", "in")]
        names = dict(zip(own, chance.sample(pool, len(own)), strict=True))
        other = re.sub(r"[A-Za-z_]\w*", lambda found: names.get(found[0], found[0]), text)
        # A model that repeats the question repeats it in the names of each.
        assert (ask(text), ask(other)) == (text, other)
        assert seen[0] == seen[1]
        assert not {name for _, name in ask.rule.symbols_of(seen[0][0])} & {"g", "d", *re.findall(r"\w+", "b-c")} - {
            "b", "c", "g", "d"
        }  # fmt: skip

    def test_a_name_of_the_pool_that_stays_in_the_text_is_skipped_whatever_the_symbols_are_called(self):
        ask = invariant(lambda texts: texts, r"%\w+", names=["%b", "%c", "%d", "%e"])
        assert ask.canonical("add %x %y in b").new == "add %c %d in b"
        assert ask.canonical("add %b %c in b").new == "add %c %d in b"


class TestCapture:
    def answer(self, text, answer, **options):
        return invariant(lambda texts: [answer] * len(texts), RULE, **options)(text)

    def test_a_name_that_the_model_made_up_stays(self):
        assert self.answer("x + y", "b + c + tmp") == "x + y + tmp"

    def test_a_made_up_name_that_the_text_has_for_a_symbol_gets_a_spare_one(self):
        """`x` of the model is none of the text: the text has shown it b and c alone."""
        assert self.answer("x + y", "b + x + x + d") == "x + c + c + d"

    def test_a_name_of_the_pool_that_stands_for_no_symbol_stays_or_gets_a_spare_one(self):
        assert self.answer("x + y", "b + d") == "x + d"
        assert self.answer("d + y", "b + d") == "d + c"

    def test_names_are_whole_words(self):
        assert self.answer("x + y", "b1 bc b c1 b.c") == "b1 bc x c1 x.y"

    def test_what_a_model_writes_right_behind_the_question_is_no_part_of_its_last_name(self):
        for text, written in (("y + f", "y + fc"), ("f + y", "f + yd")):  # `f` of the model is a name of the text
            result = invariant(lambda texts: [{"generated_text": f"{texts[0]}f"}], RULE)(text)
            assert result["generated_text"] == written.removesuffix("d") + "c" * written.endswith("d")

    def test_labels_are_no_names(self):
        result = {"label": "b", "text": "b", "entity": "c"}
        assert self.answer("x y", result) == {"label": "b", "text": "x", "entity": "c"}
        assert self.answer("x yes", "yes", keep=["yes"]) == "yes"

    def test_a_spare_name_is_missing(self):
        def answer(names, rule=r"\b[bcxy]\b"):
            return invariant(lambda texts: ["x c"] * len(texts), rule, names=names)("b x")

        with pytest.raises(RenamingError, match=r"the answer: needs more names .* give names=\{'symbol': \[...\]\}"):
            answer(["b", "c"], rule=r"\b[bcx]\b")
        assert answer({"symbol": ["b", "c", "y"]}) == "y x"
        assert answer(["b", "c"]) == "y x"  # the rule matches y, which the model need not know


class TestSymbolsOfAllKinds:
    def test_kinds_have_pools_of_their_own(self):
        ask = invariant(lambda texts: texts, {"register": r"%\w+", "block": r"@\w+"}, names={"block": ["@one", "@two"]})
        assert ask.canonical("@f: %x = %y; goto @f").new == "@one: %b = %c; goto @one"
        assert ask("@f: %x = %y; goto @f") == "@f: %x = %y; goto @f"

    def test_a_kind_without_names_that_match_asks_for_them(self):
        with pytest.raises(RenamingError, match=r"of kind 'number', .* give names=\{'number': \[...\]\}"):
            invariant(by_hash, {"number": r"\d+"})
        ask = invariant(by_hash, {"number": r"\d+"}, names={"number": ["1", "2"]})
        assert ask.canonical("7 + 9 + 7").new == "1 + 2 + 1"

    def test_a_function_finds_symbols_that_lie_in_others_and_overlap(self):
        """The longest one that begins first counts."""
        found = {"f(x)": [(2, 3), (0, 4)], "abcd": [(0, 3), (2, 4)]}
        assert SymbolRule(lambda text: found[text]).read("f(x)") == [("symbol", "f(x)")]
        assert SymbolRule(lambda text: found[text]).read("abcd") == [("symbol", "abc"), "d"]

    def test_a_function_tells_kinds(self):
        def upper_and_lower(text):
            return [(m.start(), m.end(), "upper" if m[0].isupper() else "lower") for m in re.finditer(r"\w+", text)]

        ask = invariant(by_hash, upper_and_lower, names={"upper": ["B", "C"], "lower": ["b", "c"]})
        assert ask.canonical("XX + y + Z + y").new == "B + b + C + b"
        with pytest.raises(RenamingError, match=r"kind 'upper'.* give names={'upper'"):
            invariant(by_hash, upper_and_lower, names={"low": ["b"], "lower": ["b"]})("X")

    def test_quoted_names(self):
        ask = invariant(lambda texts: texts, r'"[^"]*"')
        assert ask.canonical('say "my name" to "b" and "my name", b').new == 'say "c" to "d" and "c", b'
        assert ask('say "my name"') == 'say "my name"'


class TestTheTokenizer:
    def test_a_name_that_it_splits_or_does_not_know_is_refused(self):
        bare = small_pipeline("feature-extraction")
        with pytest.raises(RenamingError, match=r"'strange' is \['<unk>', 'strange'\] to the model's tokenizer; give"):
            invariant(bare, RULE, names=["b", "strange"])
        assert invariant(bare, RULE, names=["b", "foo"]) and invariant(bare, RULE)
        with pytest.raises(RenamingError, match=r"has no token for any of \('q1',\), which could.*one token each"):
            invariant(bare, "q1")

    @pytest.mark.parametrize("rule", [RULE, "[A-Z][a-z]+"])
    def test_one_that_gives_symbols_ids_and_no_names_keeps_names_whole(self, rule, tmp_path):
        ask = invariant(pipeline("text-classification", model=str(saved_encoder(tmp_path, rule))), rule, keep=KEEP)
        assert ask("let Foo = bar") == ask.model("let Foo = bar") and len(ask.names["symbol"]) > 9
        assert invariant(ask.model, rule, names=["Foo" if rule != RULE else "strange_1"], keep=KEEP)
        with pytest.raises(RenamingError, match=r"names: 'X1' is \['<unk>', 'X1'\] to the model's tokenizer"):
            invariant(ask.model, r"\w+", names=["X1"])

    @pytest.mark.parametrize("votes", [1, 3])
    @pytest.mark.parametrize("task", ["text-generation", "token-classification"])
    def test_one_of_bytes_whose_names_have_a_token_alone_and_one_behind_a_blank(self, task, votes):
        words = subword_tokenizer()
        model = MODELS[task]()
        model.resize_token_embeddings(len(words))
        ask = invariant(pipeline(task, model=shaken(model), tokenizer=words), RULE, votes=votes, keep=KEEP)
        options = GREEDY if task == "text-generation" else {}
        text, names = "let x = (foo + x) in foo", {"x": "alpha", "foo": "beta_1"}
        other = renamed(text, names)
        one, two = ask(text, **options), ask(other, **options)
        if task == "text-generation":
            (one,), (two,) = one, two
            assert one["generated_text"].startswith(text) and two["generated_text"].startswith(other)
            follows = one["generated_text"].removeprefix(text)
            assert two["generated_text"] == other + renamed(follows, names)
        else:
            assert [tag["score"] for tag in one] == [tag["score"] for tag in two]
            assert [renamed(tag["word"].strip("Ġ"), names) for tag in one] == [tag["word"].strip("Ġ") for tag in two]
            assert "Ġalpha" in [tag["word"] for tag in two]
        if votes > 1:
            rows = [{old: new for (_, old), new in one.names.items()} for one in ask.ballots(ask.canonical(text).new)]
            assert MeanLogits(words, rows).known.table.shape[1] == 2


NO_NAMES = {"names": ["b", "b"]}, {"names": ["b", "7"]}, {"names": ["b", "let"], "keep": KEEP}
# Arguments of `invariant` that are refused at once; and some that follow the remedy, or lack nothing.
REFUSED = [
    *(({"symbols": rule}, r"matches everything, signs too; match names alone, as \[a-z_\]")
      for rule in (".+", r"\S", r"\S+", r".", r"[\w\W]")),
    *(({"symbols": rule}, "matches no names that could stand for symbols of kind 'symbol'")
      for rule in (r"(?!)", r"\d{9}", r"node_\d+")),
    *(({"symbols": rule}, r"^symbols=.*; give a regular expression of names")
      for rule in ("(", "a*", 7, None, ["a", "b"])),
    ({"symbols": ["a"]}, r"^symbols=\['a'\]: is a list; give"),
    *((given, rf"names: {wrong}.*; give different names that symbols=") for given, wrong in
      zip(NO_NAMES, ("'b' stands twice", "'7' is no symbol", "'let' is no symbol"), strict=True)),
    ({"names": "bc"}, r"names='bc': must be a list of names, such as \['b', 'c'\]"),
    ({"keep": "if"}, r"keep='if': must be a list of words, such as \['if', 'return'\]"),
    *(({"model": model}, r"takes no texts; give pipeline\(task, model=...\), or a function")
      for model in ("alice/bugs", None, torch.nn.Linear(2, 2))),
    *(({"votes": votes}, "must be a whole number of at least 1, such as 5") for votes in (0, -1, 2.5, "3")),
]  # fmt: skip
TAKEN = [
    {"symbols": r"node_\d+", "names": {"symbol": ["node_1", "node_2"]}}, {"names": ["b", "seven"], "keep": KEEP},
    {"keep": ["if", "return"]}, {"votes": 5},
]  # fmt: skip


class TestBadInput:
    @pytest.mark.parametrize(("given", "message"), REFUSED)
    def test_what_cannot_be_is_refused_at_once(self, given, message):
        with pytest.raises(RenamingError, match=message):
            invariant(**{"model": by_hash, "symbols": RULE, **given})

    @pytest.mark.parametrize("given", TAKEN)
    def test_what_follows_a_remedy_is_taken(self, given):
        assert invariant(**{"model": by_hash, "symbols": RULE, **given})("node_7 = 1")

    @pytest.mark.parametrize("place", [(1,), (2, 2), (0, 99), (-1, 2)])
    def test_a_function_that_gives_what_is_no_place(self, place):
        with pytest.raises(RenamingError, match=r"is no place in 'x y'; return \(start, end\) or .* end <= 3"):
            invariant(by_hash, lambda text: [place])("x y")

    def test_a_text_with_more_symbols_than_the_pool(self):
        ask = invariant(by_hash, RULE, names=["b", "c"])
        with pytest.raises(
            RenamingError, match=r"'x y z' with 3 symbols: needs more names than the 2 of kind 'symbol'"
        ):
            ask("x y z")
        assert invariant(len_of, RULE, names={"symbol": ["b", "c", "d"]})("x y z") == 5

    def test_a_model_that_returns_another_number_of_results(self):
        for results, number in ((["a"], 1), ("ab", "no list of"), (None, "no list of"), ({1: 2, 3: 4}, "no list of")):
            with pytest.raises(RenamingError, match=f"returned {number} results for 2 texts; make it return a list"):
                invariant(lambda texts, results=results: results, RULE)(["x", "x + y"])

    def test_a_rule_that_reads_new_names_otherwise(self):
        with pytest.raises(RenamingError, match=r"finds other symbols in .* write a rule of whole words"):
            invariant(by_hash, r"[a-z]\d?", names=["b", "c"])("x12")
        assert invariant(by_hash, r"[a-z]\d*\b", names=["b", "c"])("x12 + y")

    def test_what_is_no_text(self):
        chat = [{"role": "user", "content": "x"}]
        for chats in (chat, [chat]):
            with pytest.raises(RenamingError, match="a list of texts; for chats, wrap a function that makes one of"):
                invariant(by_hash, RULE)(chats)
        with pytest.raises(RenamingError, match="7: is no text; give a text, or a list of texts"):
            invariant(by_hash, RULE)(["x", 7])

    def test_a_data_set_is_asked_by_its_column(self):
        data = datasets.Dataset.from_dict({"code": ["x", "y"]})
        ask = invariant(by_hash, RULE)
        with pytest.raises(RenamingError, match="is no text; give the column"):
            ask(data)
        assert len(ask(data["code"])) == 2


class TestElections:
    def test_the_majority_has_it_and_the_earliest_ballot_where_votes_are_equal(self):
        assert elect(["a", "b", "b"]) == "b"
        assert elect(["b", "a", "a", "b"]) == "b"

    def test_vectors_and_tensors_are_means(self):
        assert elect([[[1.0, 2.0]], [[3.0, 4.0]]]) == [[2.0, 3.0]]
        assert torch.equal(elect([torch.tensor([1.0]), torch.tensor([4.0])]), torch.tensor([2.5]))

    def test_whole_numbers_are_votes(self):
        ballots = [{"n": 1, "score": 0.5}, {"n": 2, "score": 0.5}, {"n": 2, "score": 1.0}]
        assert elect(ballots) == {"n": 2, "score": 0.75}

    def test_a_span_is_in_the_result_if_more_than_half_have_it(self):
        one, two = ({"entity": "X", "start": start, "end": start + 1, "score": 1.0} for start in (0, 2))
        assert elect([[one, two], [one], [{**one, "entity": "Y"}]]) == [one]

"""An unknown name is an error that names the nearest valid one, in every call."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import vestig
from tables import each
from vestig import calls
from vestig.calls.declaration import Request, rows_of
from vestig.calls.filter import FIELDS
from vestig.errors import NotFoundError
from vestig.hints import check_names, did_you_mean
from vestig.other_words import nearest
from vestig.surfaces.mcp.tools import TOOLS
from vestig.testing import HashingEmbedder
from vestig.word_tables import call_words

TOOL_NAMES = [row.name for tool in TOOLS.values() for row in tool.parameters]
Call = Callable[[vestig.Vestig, Any], object]
CALLS: list[tuple[str, str, str, Call]] = [
    ("the filter", "auhtors", "authors", lambda s, wrong: s.recall("a", where=wrong)),
    ("the filter", "min_simlarity", "min_similarity", lambda s, wrong: s.search("a", where=wrong)),
    ("the filter", "tag", "tags", lambda s, wrong: s.list(wrong)),
    ("the filter", "tag", "tags", lambda s, wrong: s.count(wrong)),
    ("the filter", "tag", "tags", lambda s, wrong: s.forget(where=wrong)),
    ("provenance", "agnet", "agent", lambda s, wrong: s.commit("A text", provenance=wrong)),
]


@each(("what", "wrong", "right", "call"), CALLS, ids=lambda one: str(one)[:20])
def test_an_unknown_name(what: str, wrong: str, right: str, call: Call) -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        message = rf"^{what} has no field {wrong}; did you mean {right}\? It takes: "
        with pytest.raises(vestig.ValidationError, match=message):
            call(store, {wrong: 1})


def test_an_unknown_name_in_a_batch_is_an_entry() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        (error,) = store.commit_many([{"content": "A text of some length", "auhtor": "Ada"}])
        assert "did you mean author" in getattr(error, "message", "")


def test_names_that_are_not_alike() -> None:
    assert nearest("zzz", []) == nearest("zzz", ["limit"]) == ""
    assert did_you_mean("zzz", ["limit"], otherwise="or else") == "or else"
    with pytest.raises(vestig.ValidationError, match=r"^it has no field zzz; it takes: limit$"):
        check_names({"limit": 1, "zzz": 2}, ["limit"], "it")


SAID = "t_ref (when it was said) or t_valid (from when it holds)"
GUESSES: list[tuple[str, str, str]] = [
    *(("recall", word, "limit") for word in ("k", "n", "top_k", "topK", "max_results", "limits")),
    *(("recall", word, "query") for word in ("q", "question", "prompt", "text")),
    ("recall", "author", "where.authors"),
    ("recall", "session", "session_ids"),
    ("recall", "statuses", "where.statuses"),
    ("recall", "filter", "where"),
    ("recall", "threshold", 'config={"recall.min_score": …}'),
    ("list", "top_n", "limit"),
    ("list", "sortBy", "order_by"),
    *(("commit", word, "content") for word in ("text", "body", "fact")),
    *(("commit", word, SAID) for word in ("date", "createdAt", "timestamp")),
    *(("commit", word, "scope") for word in ("user", "user_id", "userId", "customer_id")),
    *(("recall", word, "scope") for word in ("user", "user_id", "userid")),
    *(("commit", word, "author") for word in ("speaker", "sender", "auther")),
    # a word of which nothing is near, and none that only looks alike
    *(("commit", word, "") for word in ("infer", "force", "colour")),
    *(
        ("commit", word, "metadata (kept with it; nothing ranks by it)")
        for word in ("importance", "priority", "weight")
    ),
    *(("commit", word, "t_invalid") for word in ("until", "end", "valid_until")),
    *(("update", word, "t_valid") for word in ("start", "since", "as_of")),
    ("deprecate", "until", "where.until"),
    ("commit", "agent_id", 'provenance={"agent": …}'),
    *(("recall", word, "") for word in ("importance", "type", "agent")),
    ("recall", "order", "store.list(order_by=…)"),
    *(("recall", word, "since") for word in ("from", "after", "start_date")),
    ("recall", "to", "until"),
    ("commit", "sesion_id", "session_id"),
    ("update", "text", "content"),
    ("retrieve", "history", "messages"),
    ("recall", "top_k", "limit"),
    ("recall", "colour", ""),
]


@each(("method", "wrong", "right"), GUESSES)
def test_an_argument_that_a_call_does_not_have(method: str, wrong: str, right: str) -> None:
    store = vestig.open(":memory:", embedder=HashingEmbedder())
    with store, pytest.raises(TypeError) as caught:
        getattr(store, method)(**{wrong: "x"})
    field = right.removeprefix("where.")
    named = right if field == right else f'where={{"{field}": …}}'
    # a list of many names buries the one that was meant
    says = (
        rf"did you mean {re.escape(named)}\?( It takes: \w+, |$)" if right else r"it takes: \w+, "
    )
    assert re.match(rf"{method} has no argument {wrong}; {says}", str(caught.value))
    assert not right or len(str(caught.value)) < 300


def test_arguments_of_open_and_of_what_hangs_on_a_store() -> None:
    with pytest.raises(TypeError, match=r"^open has no argument directory; did you mean path\?"):
        vestig.open(directory="x")  # type: ignore[call-arg]
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        with pytest.raises(TypeError, match=r"^stats has no argument deep; it takes"):
            store.admin.stats(deep=True)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"^\w+ needs \w+; write store\."):
            store.commit()  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"^no name of Vestig$"):
            store.commit_many(_raising())


def _raising() -> Iterator[str]:
    yield "The spare key lies under the pot."
    raise TypeError("no name of Vestig")


def test_a_name_of_any_length_is_cut_in_the_message() -> None:
    with pytest.raises(vestig.ValidationError) as caught:
        check_names(["x" * 300_000], ["limit"], "recall")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("name", "shown"), [("", "''"), (" \t", r"' \t'"), ("a\u202eb", r"'a\u202eb'")]
)
def test_a_name_that_nobody_can_read_is_quoted(name: str, shown: str) -> None:
    with pytest.raises(vestig.ValidationError) as caught:
        check_names([name], ["limit"], "recall")
    assert str(caught.value).startswith(f"recall has no field {shown}; ")


@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("where.shape", lambda s: s.count({"shape": "round"})),
        ("provenance.shape", lambda s: s.commit("A text", provenance={"shape": "round"})),
        ("claim.shape", lambda s: s.commit("A text", claim={"shape": "round"})),
        ("entities[0].shape", lambda s: s.commit("A text", entities=[{"shape": "round"}])),
        ("messages[0].athor", lambda s: s.retrieve([{"content": "A text", "athor": "Ada"}])),
    ],
)
def test_the_field_of_an_error_is_the_whole_place(field: str, call: Call) -> None:
    with (
        vestig.open(":memory:", embedder=HashingEmbedder()) as store,
        pytest.raises(vestig.ValidationError) as caught,
    ):
        call(store)  # type: ignore[call-arg]
    assert caught.value.field == field


def test_every_other_word_stands_for_a_name_that_some_call_has() -> None:
    for module in calls.__all__:
        assert getattr(calls, module)
    names = (name for call in Request.__subclasses__() for name in rows_of(call))
    known = {*FIELDS, *TOOL_NAMES, "timestamp", *names}
    assert set(call_words()["arguments"]) <= known


def test_a_path_is_named_to_its_end_and_an_id_is_cut() -> None:
    path = f"/tmp/{'deep/' * 40}gone.jsonl"
    assert path in str(NotFoundError("file", path))
    assert len(str(NotFoundError("Memory", "m" * 400))) < 120


def test_an_error_in_python_names_arguments_and_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "thesis.tex").write_text("x", encoding="utf-8")
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        store.commit("The spare key lies under the pot")
        store.export("all.jsonl")
        for call, named in (
            (lambda: store.import_("all.jsonl"), "merge=True"),
            (lambda: store.import_("empty"), "recursive=True"),
            (lambda: store.forget("price"), r'use where={"keys": \[key\]} for all'),
            (
                lambda: vestig.open("others").commit("The pot is blue"),
                r"vestig\.open\(path, init=True",
            ),
            (lambda: vestig.open("none", read_only=True), "yet: the first write makes it"),
        ):
            with pytest.raises(vestig.VestigError, match=named):
                call()


def test_more_arguments_by_place_than_a_call_takes_so() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        with pytest.raises(TypeError, match="put takes key, value by place; by name: scope, "):
            store.items.put(("users", "ada"), "k", 1)  # type: ignore[call-arg,arg-type]
        with pytest.raises(TypeError, match="check takes arguments by name: tool, path, "):
            store.rules.check("git push")  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"^close takes no arguments$"):
            store.close("mem_0a1b2c3d")  # type: ignore[call-arg]


def test_a_result_is_no_dictionary_and_a_store_is_none() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        outcome: Any = store.commit("The spare key lies under the pot", key="key.place")
        untyped: Any = store
        result: Any = store.recall("key")
        for call, named in (
            (lambda: outcome["id"], r"a CommitOutcome takes no \['id'\]; use \.memory_id"),
            (lambda: result["results"], r"use \.results"),
            (lambda: untyped["key.place"], r"use store\.get"),
            (lambda: untyped.__setitem__("key.place", "x"), r"use store\.commit\(text, key=…\)"),
            (lambda: untyped.__delitem__("key.place"), r'use store\.forget\(where={"keys": …}\)'),
            (lambda: untyped.items.__delitem__("key.place"), r"use store\.items\.delete"),
            (lambda: untyped.graph.__delitem__("key.place"), r"takes no \[key\]$"),
            (lambda: outcome[0], r"a CommitOutcome takes no \[0\]; use \.to_dict\(\)$"),
        ):
            with pytest.raises(TypeError, match=named):
                call()
        with pytest.raises(TypeError):
            result[None]
        assert not hasattr(outcome, "__array__")
        assert pickle.loads(pickle.dumps(outcome)) == outcome


def test_python_adds_no_likeness_of_its_own() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        for call in (lambda: store.set, lambda: store.list().nxt, lambda: vestig.Clint):  # type: ignore[attr-defined]
            with pytest.raises(AttributeError) as caught:
                call()
            assert caught.value.name is not None
            assert caught.value.obj is None


@each(
    ("line", "said"),
    [
        ("s.export()", "export needs target; write store.export(target)"),
        ("s.scoped()", "scoped needs scope; write store.scoped(scope)"),
        ("s.events()", "events needs id; write store.events(id); store.diff(start) for the whole"),
        ("s.cognify()", "set llm.provider and llm.model in config="),
        (
            "s.items('k')",
            "store.items is a group of calls; use store.items.list(), or {memory.key: ",
        ),
        ("s.admin()", "use store.admin.stats()"),
        ("s.recall('ns', query='x')", "recall got query twice, by place and by name; scope is"),
        (
            "s.keys('pump*')",
            "no key begins so, and no sign stands for others; use store.keys('pump')",
        ),
        ("s.confirm('x')", "confirm needs by; write store.confirm(id, by=…)"),
        ("s.rules.add('x')", "add needs when; write store.rules.add(text, when)"),
        ("vestig.restore()", "restore needs backup; write vestig.restore(backup)"),
        ("s.recall('x', budget=200)", "budget: expected context=True beside it, got 200"),
        ("s.recall('x')['content']", "use [hit.content for hit in result]"),
        ("s.forget()", "got no filter; name at least one"),
        ("s.export('x', where={'tags': ['a']}, all_namespaces=True)", "got both"),
        ("s.export('/nowhere/at/all')", "cannot be written there: No such file or directory"),
        ("s.forget(key='a')", 'did you mean where={"keys": …}?'),
    ],
)
def test_what_is_said_of_a_call_that_lacks_something(line: str, said: str) -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as store:
        with pytest.raises((TypeError, vestig.VestigError)) as caught:
            eval(line, {"s": store, "vestig": vestig})
        assert said in str(caught.value)


@each(
    ("call", "said"),
    [
        (
            "s.supersede(memory, memory)",
            "old: expected an id as text (mem_…), got a Memory; use update(id, text) for a new text"
            " in its place, or the id of the Memory for one that is stored",
        ),
        ("s.forget(memory)", "ids: expected a list of memory ids, got a Memory; use the id of"),
        ("s.forget([hit])", "ids[0]: expected an id as text (mem_…), got a RecallHit"),
        ("s.pin(outcome)", "use the memory_id of the CommitOutcome"),
        ("s.pin(7)", "id: expected an id as text (mem_…), got an int"),
    ],
)
def test_an_object_in_the_place_of_its_id_is_told_its_attribute(call: str, said: str) -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as store:
        outcome = store.commit("The spare key lies under the pot")
        names = {"s": store, "outcome": outcome, "hit": store.recall("key", all=True)[0]}
        with pytest.raises((TypeError, vestig.VestigError)) as caught:
            eval(call, names | {"memory": store.list()[0]})
        assert said in str(caught.value)
        assert "under the pot" not in str(caught.value)

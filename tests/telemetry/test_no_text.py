"""No text of a caller reaches logs, traces or metrics, at any level."""

from __future__ import annotations

import json
import logging
import re
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import vestig
from command_lines import run_line
from vestig.items.put import extend
from vestig.surfaces import wire
from vestig.testing import FailingEmbedder, HashingEmbedder, ScriptedModel

MARK = "zqmark"
PACKAGE = Path(vestig.__file__).parent
# what a call is named in the source where its name is no parameter
NAMED = re.compile(r'\.operation\("([a-z_]+)"')
COUNTED = re.compile(r'vestig_operations_total{operation="([a-z_]+)"')
SECRET = f"sk-{MARK}-secret"


class Marks:
    """Texts with a mark, each different."""

    def __init__(self) -> None:
        self._numbers = count()

    def word(self, kind: str) -> str:
        return f"{kind}{MARK}{next(self._numbers)}"

    def fields(self) -> dict[str, Any]:
        """Every field of a commit that takes text."""
        named = ("author", "scope", "session_id", "title", "actor", "source")
        return {
            **{name: self.word(name) for name in named},
            "tags": [self.word("tag")],
            "metadata": {self.word("key"): self.word("value")},
            "entities": [{"name": self.word("Entity"), "evidence": self.word("evidence")}],
            "keywords": [self.word("keyword")],
            "hypothetical_queries": [f"What is {self.word('question')} about?"],
            "trigger": "problem-solution",
            "provenance": {
                "agent": self.word("agent"), "artifact_ref": self.word("reference"),
            },
        }  # fmt: skip

    def text(self) -> str:
        return f"Ada {MARK.title()} met {self.word('Ravi')} in {self.word('Oslo')} on 3 May 2026"


class World:
    """Calls every operation, soundly and wrongly. `problems`: of every call that failed."""

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        self.folder = folder
        self.config = config
        self.marks = Marks()
        self.problems: list[dict[str, Any]] = []
        self.metrics: list[dict[str, float]] = []
        self.store = vestig.open(
            folder / "store",
            embedder=HashingEmbedder(64),
            config={"anchors.folder": str(folder), **config},
            namespace=MARK,
        )
        fields = self.marks.fields
        self.ids = [
            str(self.store.commit(self.marks.text(), **fields()).memory_id) for _ in range(3)
        ]

    def run(self) -> None:
        """All of it."""
        self.write()
        self.read()
        self.change()
        self.documents()
        self.items()
        self.rules()
        self.anchors()
        self.branches()
        self.link()
        self.move()
        self.keep_house()
        self.read_by_a_model()
        self.fail()

    def failing(self, call: Callable[..., Any], *args: Any, **options: Any) -> None:
        with pytest.raises((vestig.VestigError, TypeError)) as caught:
            call(*args, **options)
        self.problems.append(wire.problem(caught.value))

    def write(self) -> None:
        def hook(_: Any) -> None:
            raise RuntimeError(self.marks.word("hook"))

        text = self.marks.text
        self.store.commit(text(), on_commit=hook)
        self.store.commit_many([{"content": text(), **self.marks.fields()}, {"content": 5}])
        self.failing(self.store.commit, f"{text()} \0", strict=True)
        self.failing(self.store.commit, text(), metadata={"key": object()})
        self.failing(self.store.commit, [text()])

    def read(self) -> None:
        store, word = self.store, self.marks.word
        query = f"Who met Ada {MARK.title()}?"
        where = {"tags": [word("tag")], "authors": [word("author")]}
        store.recall(query, where=where)
        store.recall_many([query, query], where=where)
        found = store.recall(query, context=True, touch=True, expect=[self.ids[0]])
        assert len(found) > 0
        store.retrieve([{"content": query, "author": word("author")}], where=where)
        store.retrieve([{"content": self.marks.text()}, {"content": query}], debug=True)
        self.failing(store.retrieve, [{"content": 5}])
        self.failing(store.recall, query, config={"recall.limit": "many"})
        store.graph.search(query, trace=True)
        talk = [{"content": f"I met {word('Ravi')}.", "author": word("author")}]
        talk.append({"content": query, "message_id": word("message")})
        retrieved = store.retrieve(talk, debug=True)
        assert len(retrieved.facts) > 0
        store.retrieve(talk, where=where)
        self.failing(store.retrieve, talk, max_facts=0)
        store.list(where=where)
        store.count(where=where)
        store.show(self.ids[0])
        store.events(self.ids[0])
        store.record_access(self.ids[0])
        store.commit(self.marks.text(), key=word("key"))
        self.failing(store.get, "no.such.key")
        self.failing(store.commit, self.marks.text(), key=f"{word('key')}\n")
        store.diff("2026-01-01", where=where)
        self.failing(store.diff, "some time")

    def change(self) -> None:
        store, word = self.store, self.marks.word
        first, second, third = self.ids
        store.update(first, tags=[word("tag")])
        store.update(first, content=self.marks.text())
        store.pin(second, reason=word("reason"))
        store.unpin(second)
        store.archive(second)
        store.unarchive(second)
        store.confirm(second, by=word("actor"))
        store.supersede(second, third, reason=word("reason"))
        store.supersession_chain(second)
        store.history(second)
        store.keys(word("prefix"), scope=word("scope"))
        store.deprecate(third, reason=word("reason"))
        self.failing(store.pin, third)

    def documents(self) -> None:
        store, word = self.store, self.marks.word
        text = f"# {word('Title')}\n\n{self.marks.text()}\n"
        made = store.add_document(text, source=word("source"), title=word("title"))
        store.documents(scope=word("scope"))
        store.forget_document(made.source_id, actor=word("actor"))
        self.failing(store.add_document, " ", title=word("title"))
        self.failing(store.forget_document, "no.such.document")

    def items(self) -> None:
        items, word = self.store.items, self.marks.word
        key, scope = word("key"), word("scope")
        end = datetime.now(UTC) + timedelta(days=1)
        items.put(key, {word("name"): word("value")}, scope=scope, text=word("text"), expires=end)
        found = items.get(key, scope=scope)
        assert found is not None
        extend(self.store._session, [found])
        items.list(scope)
        items.scopes(scope)
        self.failing(items.put, "theme", word("value"), expected=7)
        items.delete(key, scope=scope, actor=word("actor"))

    def rules(self) -> None:
        rules, word = self.store.rules, self.marks.word
        kept = rules.add(
            self.marks.text(), f'command ~ "{word("run")}"', unless=f"text ~ {word('but')}"
        )
        rules.check(command=f"{word('run')} {word('now')}", path=word("path"), text=word("said"))
        rules.test(command=word("run"))
        rules.list()
        rules.show(kept.id)
        rules.edit(kept.id, text=self.marks.text(), when=f"tool = {word('Tool')}")
        rules.suggest()
        self.failing(rules.add, self.marks.text(), f"colour = {word('red')}")
        self.failing(rules.show, "no.such.rule")
        rules.remove(rules.list()[0].id, reason=word("reason"))

    def anchors(self) -> None:
        anchors, word = self.store.anchors, self.marks.word
        path = self.folder / word("name")
        path.write_text(f"{word('line')}\n")
        text = self.marks.text()
        kept = self.store.commit(
            text, anchor=[str(path), f"https://{word('host')} {word('hash')}"], on_near_dup="insert"
        ).memory_id
        assert kept is not None
        self.store.recall(text)
        self.failing(self.store.commit, self.marks.text(), anchor="missing.py")
        self.failing(self.store.commit, self.marks.text(), anchor="trace.jsonl:99999")
        anchors.show(kept)
        self.failing(anchors.refresh, kept)
        path.write_text(word("other"))
        anchors.stale(deprecate=True)

    def branches(self) -> None:
        branches, name = self.store.branches, self.marks.word("branch")
        for words in (("init", "-q", "-b", "main"), ("checkout", "-q", "-b", name)):
            subprocess.run(["git", *words], cwd=self.folder, check=True)
        scope = f"{branches.list().project}@{name}"
        self.store.commit(self.marks.text(), scope=scope, on_near_dup="insert")
        branches.list()
        branches.show(name)
        self.failing(branches.show, "other")
        branches.merge()
        branches.merge(name)
        self.failing(branches.drop, "other")

    def link(self) -> None:
        graph, word = self.store.graph, self.marks.word
        a, b = (one.entity.id for one in graph.entities()[:2])
        edge = graph.link(a, b, relation=word("knows"), evidence=word("evidence")).edge
        graph.edge(edge.id)
        graph.edges(a)
        graph.unlink(edge.id)
        graph.entity(a)
        graph.neighbourhood([a], depth=1)
        graph.expand_via_entities([self.ids[0]])
        graph.expand_via_related([self.ids[0]])
        graph.rebuild_edges()
        graph.entity_backfill()
        graph.merge_entities(a, b)
        graph.expire_entity(b)
        graph.purge_entities(dry_run=True)

    def move(self) -> None:
        lines = self.folder / f"{MARK}.jsonl"
        lines.write_text(json.dumps({"content": self.marks.text()}) + "\n{" + MARK + "\n")
        self.store.import_(lines)
        exported = self.folder / f"{MARK}.export"
        self.store.export(exported)
        self.failing(self.store.import_, exported)
        cut = exported.read_text().splitlines(keepends=True)[:-1]
        exported.write_text("".join(cut))
        self.failing(self.store.import_, exported, merge=True)

    def keep_house(self) -> None:
        admin, word = self.store.admin, self.marks.word
        admin.enrich()
        admin.gc()
        admin.compact()
        admin.rebuild()
        admin.doctor()
        admin.stats()
        admin.prune()
        admin.secrets(fix=True)
        admin.backup(self.folder / f"{MARK}.backup")
        self.store.forget([self.ids[0]], actor=word("actor"))
        admin.forget_finish()
        self.metrics.append(dict(admin.metrics()))
        self.store.close()
        self.failing(self.store.count)

    def read_by_a_model(self) -> None:
        model = ScriptedModel(lambda _: self.marks.word("answer"))
        with vestig.open(
            self.folder / "m", embedder=HashingEmbedder(64), llm=model, config=self.config
        ) as other:
            other.commit(self.marks.text(), session_id=self.marks.word("session"), sequence=0)
            other.cognify()
            self.metrics.append(dict(other.admin.metrics()))

    def fail(self) -> None:
        """With an embedder that cannot be reached, deferred or not."""
        for name, policy in (("a", "error"), ("b", "defer")):
            config = {**self.config, "embedding.on_failure": policy}
            embedder = FailingEmbedder("error", dimensions=64)
            with vestig.open(self.folder / name, embedder=embedder, config=config) as other:
                if policy == "error":
                    self.failing(other.commit, self.marks.text(), **self.marks.fields())
                else:
                    other.commit(self.marks.text(), **self.marks.fields())
                    other.admin.enrich()
                self.metrics.append(dict(other.admin.metrics()))
        remote = {
            "embedding.provider": "openai",
            "embedding.model": MARK,
            "embedding.dimension": 8,
            "embedding.base_url": f"http://127.0.0.1:9/{MARK}",
            "embedding.api_key_env": "VESTIG_TEST_SECRET",
        }
        with vestig.open(self.folder / "c", config={**self.config, **remote}) as other:
            self.failing(other.commit, self.marks.text())
            self.metrics.append(dict(other.admin.metrics()))


def test_no_mark_is_in_any_record_line_or_metric(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VESTIG_TEST_SECRET", SECRET)
    caplog.set_level(logging.DEBUG)
    trace = tmp_path / "trace.jsonl"
    world = World(tmp_path, {"telemetry.trace_file": str(trace)})
    world.run()
    records = [record.getMessage() + repr(vars(record)) for record in caplog.records]
    lines = trace.read_text().splitlines()
    assert len(records) > 40
    assert len(lines) > 40
    for said in (*records, *lines, *map(json.dumps, world.metrics)):
        assert MARK not in said.casefold(), said
        assert tmp_path.name not in said, said
    seen = set(COUNTED.findall(" ".join(name for one in world.metrics for name in one)))
    source = "".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    assert set(NAMED.findall(source)) <= seen


def test_no_problem_shows_what_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VESTIG_TEST_SECRET", SECRET)
    world = World(tmp_path, {})
    world.run()
    assert len(world.problems) >= 8
    for problem in world.problems:
        text = json.dumps(problem)
        assert SECRET not in text
        assert re.search(rf"{MARK}\d", text) is None, text


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_mark_is_in_the_log_of_a_command(
    form: str,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VESTIG_TELEMETRY__LOG_LEVEL", "DEBUG")
    monkeypatch.setenv("VESTIG_TELEMETRY__LOG_FORMAT", form)
    store, marks = tmp_path / "above" / "s", Marks()
    (tmp_path / "above").mkdir()
    for words in (
        ["add", marks.text(), "--author", marks.word("author"), "--tags", marks.word("tag")],
        ["recall", f"Who met {marks.word('Ravi')}?", "--tags", marks.word("tag")],
        ["list", "--authors", marks.word("author")],
        ["stats"],
    ):
        answer = run_line(capfd, store, words)
        assert answer.code == 0
        # a warning of a result is told to who asked, beside the log
        log = [one for one in answer.err.splitlines() if not one.startswith("warning: ")]
        assert "operation" in answer.err
        assert MARK not in "".join(log).casefold()

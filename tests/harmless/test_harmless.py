"""What is harmless comes back as it was given, on every road in and out; and what is not is changed
only where the outcome says so.

The roads: commits, turns, documents, files of records, transcripts of editors, items and the
adapters on them, HTTP; and out by `show`, listings, exports and adapters.
"""

from __future__ import annotations

import asyncio
import csv
import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from harmless_texts import SERVICES, Given, all_of, identified, notes

import vestig
from scripted import Opener
from served import serving
from vestig.language.text_forms import normal_form
from vestig.repository.project import remote_name
from vestig.surfaces.hooks.sessions import read_transcripts
from vestig.testing import FrozenClock
from vestig.types import CommitOutcome, CommitOutcomeKind

_SEED: Final = 20260318
_INPUTS_MIN: Final = 1_000
_CHANGED: Final = ("masked", "echoes", "superseded", "hygiene_reasons", "warnings", "degraded")


@pytest.fixture(scope="module")
def given() -> list[Given]:
    return all_of(_SEED)


def test_the_suite_is_as_large_as_it_says(given: list[Given]) -> None:
    assert len(given) >= _INPUTS_MIN
    assert len({service for service, _, _ in SERVICES}) >= 60
    assert len({one.kind for one in given}) >= 200


def every_memory(store: vestig.Vestig) -> list[Any]:
    found: list[Any] = []
    while page := store.list(limit=1_000, offset=len(found)):
        found += page
    return found


def assert_all(store: vestig.Vestig, texts: Iterable[str]) -> None:
    """Each text is the content of a memory, as often as it was given, and nothing else is."""
    missing = Counter(text.strip() for text in texts)
    missing.subtract(one.content for one in every_memory(store))
    assert not {text: count for text, count in missing.items() if count}


def assert_untouched(texts: Sequence[str], outcomes: Sequence[Any]) -> list[str]:
    """Each text is a memory of its own, and nothing was done to it; returns their ids."""
    for text, outcome in zip(texts, outcomes, strict=True):
        assert isinstance(outcome, CommitOutcome), (text, outcome)
        done = {name: found for name in _CHANGED if (found := getattr(outcome, name))}
        assert (outcome.outcome, done) == (CommitOutcomeKind.INSERTED_NEW, {}), text
    return [str(outcome.memory_id) for outcome in outcomes]


# --- memories ---------------------------------------------------------------------------------


def test_notes_come_back(opener: Opener, tmp_path: Path, given: list[Given]) -> None:
    store = opener()
    texts = [one.text for one in given]
    ids = assert_untouched(texts, store.commit_many(texts))
    wanted = {id: text.strip() for id, text in zip(ids, texts, strict=True)}
    assert {one.id: one.content for one in every_memory(store)} == wanted
    assert store.show(ids[7]).memory.content == wanted[ids[7]]
    store.export(tmp_path / "out.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").open(encoding="utf-8")]
    rows = {line["id"]: line["content"] for line in lines if line.get("content")}
    assert rows == wanted


def test_an_export_comes_back(opener: Opener, tmp_path: Path, given: list[Given]) -> None:
    store, other = opener("one"), opener("other")
    texts = [one.text for one in given[::4]]
    ids = assert_untouched(texts, store.commit_many(texts))
    store.export(tmp_path / "out.jsonl")
    report = other.import_(tmp_path / "out.jsonl")
    assert (report.memories, report.warnings, report.errors) == (len(texts), (), ())
    assert {one.id: one.content for one in every_memory(other)} == {
        id: text.strip() for id, text in zip(ids, texts, strict=True)
    }


def test_notes_whose_vectors_are_equal_stay_apart(opener: Opener) -> None:
    """Each is as near to the others as vectors can be; one word, number or sign differs."""
    store = opener(vectors={})
    texts = list(dict.fromkeys(one.text for one in (*notes(_SEED), *list(identified(1))[:120:3])))
    assert len(texts) >= 150
    assert_untouched(texts, store.commit_many(texts))
    assert_all(store, texts)


def test_names_and_metadata_come_back(opener: Opener, given: list[Given]) -> None:
    store = opener()
    texts = [one.text.strip() for one in given[::3]]
    items = [
        {
            "content": f"Note {at} of the kiln.", "title": text[:100], "author": text[:60].strip(),
            "source": text[:60].strip(), "scope": text[:60].strip(),
            "tags": [text[:60].replace(",", " ").strip()],
            "metadata": {"ref": text, text: [text, {"id": text}]},
            # of a key in another form than its normal one the outcome tells
            "key": normal_form(f"kiln.{at}.{' '.join(text.split())[:100]}"),
        }
        for at, text in enumerate(texts)
    ]  # fmt: skip
    ids = assert_untouched(texts, store.commit_many(items))
    stored = {one.id: one for one in every_memory(store)}
    for id, item in zip(ids, items, strict=True):
        memory = stored[id]
        for name in ("title", "author"):
            assert getattr(memory, name) == item[name]
        # letters of a scope are composed, as those of a key
        assert memory.scope == unicodedata.normalize("NFC", item["scope"])
        assert list(memory.tags) == item["tags"]
        assert memory.metadata | item["metadata"] == memory.metadata
        assert store.get(item["key"], scope=item["scope"]).id == id


def test_values_of_a_key_end_by_its_next_one_alone(opener: Opener, clock: FrozenClock) -> None:
    store = opener()
    values = ("blue", "18:30", "no", "Porto", "5", "vegan", "v2", "窯", "B-", "true", "ok", "🔥")
    now, later = {}, {}
    for at, value in enumerate(values):
        (first,) = assert_untouched([value], [store.commit(value, key=f"kiln.{at}")])
        now[f"kiln.{at}"], later[f"kiln.{at}"] = value, f"not {value}"
        coming = store.commit(f"not {value}", key=f"kiln.{at}", t_valid="2026-04-01")
        # what it will replace is named, and holds until that day
        assert coming.superseded == (first,)
    assert {key: store.get(key).content for key in now} == now
    clock.move(days=20)
    assert {key: store.get(key).content for key in now} == later


_QUOTING: Final = (
    "[{short}] {day}: {text} That was wrong, it is 31.",
    "[{short}] {text} (wrong since Monday)",
    "Memory {id} says: {text}\nIt is 31.",
    "> [{short}] {day}: {text}\nIt is 31.",
    '"{text}" is wrong, see {id}.',
    "- [{short}] {text}\n- it is 31",
    "Content: {text}\nIt is 31.",
    "ID: {id}\nIt is 31.",
    "Instead of: {text}",
    "{text} – no, 31.",
    "[{short}] {day}: {upper}",
    "    [{short}] {day}: {text}",
)


def test_what_quotes_a_memory_to_correct_it_is_kept(opener: Opener) -> None:
    store = opener()
    facts = [f"The kiln number {n} fires at {n * 10} degrees on Fridays." for n in range(3, 23)]
    for text in facts:
        memory = store.get(str(store.commit(text).memory_id))
        day = memory.t_valid.date().isoformat()
        said = [
            form.format(short=memory.id[4:12], id=memory.id, day=day, text=text, upper=text.upper())
            for form in _QUOTING
        ]
        ids = assert_untouched(said, store.commit_many(said))
        assert [store.get(id).content for id in ids] == [one.strip() for one in said]


# --- files ------------------------------------------------------------------------------------

_LINE: Final = {"timestamp": "2026-03-02T10:00:00Z"}


def claude_code(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Return the lines of a session of Claude Code in which a user says these texts."""
    return [
        {**_LINE, "type": "user", "uuid": f"u{at}", "sessionId": "s1",
         "message": {"role": "user", "content": text}}
        for at, text in enumerate(texts)
    ]  # fmt: skip


def codex(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Return the lines of a session of Codex in which a user says these texts."""
    said = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        for text in texts
    ]
    head = {**_LINE, "type": "session_meta", "payload": {"id": "s1", "cwd": "/srv/kiln"}}
    return [head, *({**_LINE, "type": "response_item", "payload": one} for one in said)]


@pytest.mark.parametrize("lines", [claude_code, codex])
def test_the_reader_of_hooks_keeps_what_was_said(
    tmp_path: Path, given: list[Given], lines: Any
) -> None:
    config = tmp_path / "vestig.yaml"
    config.write_text(
        "embedding: {provider: hashing, dimension: 64}\n"
        f"store: {{path: {json.dumps(str(tmp_path / 'store'))}}}\n"
    )
    texts = [one.text for one in given[::2]]
    transcript = tmp_path / "s1.jsonl"
    transcript.write_text("".join(f"{json.dumps(line)}\n" for line in lines(texts)))
    asked = {"options": {"config": str(config)}, "transcript": str(transcript)}
    asked |= {"event": "SessionEnd", "session": "s1", "folder": str(tmp_path)}
    read_transcripts({**asked, "scope": "project:kiln", "grown": False})
    with vestig.open(config=config) as store:
        assert_all(store, texts)
        assert {one.scope for one in every_memory(store)} == {"project:kiln"}


def test_rows_of_files_come_back(opener: Opener, tmp_path: Path, given: list[Given]) -> None:
    texts = [one.text for one in given[1::4]]
    rows = [{"content": text, "metadata": {"ref": text}} for text in texts]
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with (tmp_path / "in.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "text"), *enumerate(texts)])
    for name in ("in.jsonl", "in.csv"):
        store = opener(f"store of {name}")
        report = store.import_(tmp_path / name)
        assert (report.imported, report.left_out, report.errors) == (len(texts), {}, ())
        assert_all(store, texts)


def test_documents_come_back(opener: Opener, tmp_path: Path, given: list[Given]) -> None:
    """A passage is its text below its title; what begins as front matter does is its fields."""
    store = opener()
    texts = [one.text.strip() for one in given[2::5] if not one.text.startswith("---\ntitle")]
    wanted = []
    for at, text in enumerate(texts):
        (tmp_path / f"n{at:04d}.md").write_text(text, "utf-8", newline="")
        wanted.append({text, f"n{at:04d}\n{text}"})
    report = store.import_(tmp_path)
    assert (report.added, report.left_out, report.errors) == (len(texts), {}, ())
    found = {one.content for one in every_memory(store)}
    assert [one for one in wanted if one.isdisjoint(found)] == []
    assert len(found) == len(texts)


def test_a_long_document_is_its_passages(opener: Opener, given: list[Given]) -> None:
    store = opener()
    text = "\n\n".join(one.text.strip() for one in given if "```" not in one.text)
    report = store.add_document(text, source="all", format="text")
    assert (report.passages, report.errors, report.warnings) == (report.added, (), ())
    passages = sorted(every_memory(store), key=lambda one: int(one.metadata["passage"]))
    assert "".join("".join(one.content.split()) for one in passages) == "".join(text.split())


@pytest.mark.parametrize(
    ("name", "from_name"),
    [
        ("2026-03-18 kiln", True),
        ("kiln 20260318", True),
        ("order 120260318", False),
        ("part A20260318B", False),
        ("2026-03-18 to 2026-03-20", False),
        ("firmware 2026.03.18", False),
        ("call 2026-99-18", False),
        ("1984 and other novels", False),
        ("plan for 2099-03-18", False),
    ],
)
def test_a_document_has_the_date_of_its_name_only_where_that_is_one(
    opener: Opener, tmp_path: Path, name: str, from_name: bool
) -> None:
    store = opener()
    (tmp_path / f"{name}.md").write_text("The kiln is hot and red.")
    store.import_(tmp_path / f"{name}.md")
    (memory,) = store.list()
    assert (memory.metadata["time_from"] == "file_name") == from_name
    assert memory.title == name


_HOSTS: Final = ("github.com", "gitlab.com", "bitbucket.org", "git.kiln.example", "10.0.0.7")
_PATHS: Final = (
    "north/kiln", "south/kiln", "north/loom", "north/crew/kiln", "south/crew/kiln", "north/kiln.js",
    "north/kiln-js", "~north/kiln", "north.kiln/loom", "kiln", "north/kiln/loom", "scm/north/kiln",
)  # fmt: skip
_FORMS: Final = (
    "https://{host}/{path}.git",
    "https://{host}/{path}/",
    "git@{host}:{path}.git",
    "ssh://git@{host}/{path}",
    "git://{host}:9418/{path}.git",
)


def test_a_repository_is_one_project_and_another_one_is_another() -> None:
    names = {
        (host, path): {remote_name(form.format(host=host, path=path)) for form in _FORMS}
        for host in _HOSTS
        for path in _PATHS
    }
    assert all(len(found) == 1 for found in names.values())
    assert len(set().union(*names.values()) - {None}) == len(_HOSTS) * len(_PATHS)
    ports = {remote_name(f"ssh://git@{_HOSTS[3]}:{port}/north/kiln") for port in (22, 2222, 7999)}
    users = {remote_name(f"{user}@{_HOSTS[3]}:kiln.git") for user in ("git", "ilse", "yusuf")}
    assert (len(ports), len(users)) == (3, 3)
    nameless = ("/srv/north/kiln.git", "../kiln", "file:///srv/kiln", "C:\\looms\\kiln")
    assert {remote_name(url) for url in nameless} == {None}


# --- items, adapters, HTTP --------------------------------------------------------------------


def values_of(texts: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"text": text, "id": text, "call_id": text, text: [text, 1.5, None, {"ref": text}]}
        for text in texts
    ]


def test_items_come_back(opener: Opener, given: list[Given]) -> None:
    store = opener()
    texts = [one.text for one in given]
    values = values_of(texts)
    for start in range(0, len(values), 1_000):
        puts = [
            {"key": f"{start + at} {text}"[:200].replace("\n", " "), "scope": "s", "value": value}
            for at, (text, value) in enumerate(
                zip(texts[start : start + 1_000], values[start : start + 1_000], strict=True)
            )
        ]
        done = store.items.put_many(puts)
        assert [one for one in done if one.masked or one.warnings] == []
        for put in puts:
            item = store.items.get(put["key"], scope="s")
            assert item is not None
            assert item.value == put["value"]


def test_the_memory_tool_gives_files_back(opener: Opener, given: list[Given]) -> None:
    pytest.importorskip("anthropic")
    from vestig.integrations.anthropic_memory import MemoryTool

    tool = MemoryTool(opener(":memory:"))
    for at, one in enumerate(given[3::40]):
        path = f"/memories/kiln {at}.md"
        tool.call({"command": "create", "path": path, "file_text": one.text})
        shown = str(tool.call({"command": "view", "path": path})).split("\n", 1)[1]
        lines = [line.partition("\t")[2] for line in shown.split("\n")]
        assert lines == one.text.split("\n")


def test_langgraph_gives_values_back(opener: Opener, given: list[Given]) -> None:
    pytest.importorskip("langgraph")
    from vestig.integrations.langgraph import VestigStore

    store = VestigStore(opener())
    for at, value in enumerate(values_of([one.text for one in given[3::8]])):
        key = " ".join(value["id"].split())[:150]
        store.put(("users", key), f"{at} {key}", value)
        found = store.get(("users", key), f"{at} {key}")
        assert found is not None
        assert (found.value, found.namespace) == (value, ("users", key))


def test_a_session_of_agents_gives_entries_back(opener: Opener, given: list[Given]) -> None:
    pytest.importorskip("agents")
    from vestig.integrations.openai_agents import VestigSession

    session = VestigSession("s1", opener())
    entries = [
        {"role": "user", "content": [{"type": "input_text", "text": value["id"]}], **value}
        for value in values_of([one.text for one in given[3::8]])
    ]
    asyncio.run(session.add_items(entries))
    assert asyncio.run(session.get_items()) == entries


def test_http_gives_texts_and_values_back(given: list[Given]) -> None:
    texts = [one.text for one in given[5::8]]
    with serving(None) as site:
        items = [{"content": text, "metadata": {"ref": text}} for text in texts]
        done = site.post("commit", {"items": items})
        assert done.status == 207
        for text, told in zip(texts, done.document["outcomes"], strict=True):
            assert told["outcome"] == "INSERTED_NEW", text
            assert not any(told[name] for name in _CHANGED), text
        for text, told in list(zip(texts, done.document["outcomes"], strict=True))[::8]:
            shown = site.get(f"show/{told['memory_id']}").document
            assert (shown["content"], shown["metadata"]["ref"]) == (text.strip(), text)
        puts = [
            {"key": f"k{at}", "value": value, "text": None}
            for at, value in enumerate(values_of(texts))
        ]
        assert site.post("item/put-many", {"items": puts}).status == 200
        for put in puts[::8]:
            assert site.get(f"item/get?key={put['key']}").document["value"] == put["value"]

"""Files that no format knows, and files of another format than was named: the error says what to
do."""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from test_chatgpt import TIDES
from test_claude import GARDEN
from test_notes import GRAPH, MEM0
from test_session_logs import CODEX, LOG

from chats import as_file, as_lines, store_of
from tables import each
from vestig.calls.files import FORMAT_SIGNS
from vestig.errors import ValidationError

SECRET = "The larch hull is nine metres long"
# (name, content, the command in the error; None: the text has to be stored by itself)
UNKNOWN: dict[str, tuple[str, Any, str | None]] = {
    "slack": ("general.json", [{"type": "message", "user": "U1", "text": SECRET, "ts": "17.2"}],
              "{content: .text}"),
    "discord": ("chat.json", {"guild": {"id": "1"}, "list": [
        {"uid": "1", "body": SECRET, "time": "2026-01-02T03:04:05Z", "sender": "Ann"}]},
        "{content: .body, timestamp: .time, author: .sender}"),
    "telegram": ("result.json", {"name": "Ann", "type": "personal_chat", "id": 5, "chats": [
        {"from": "Ann", "text": SECRET, "date": "2026-01-02T03:04:05"}]}, None),
    "keep": ("note.json", {"title": "Hull", "textContent": SECRET, "isPinned": False},
             "{content: .textContent}"),
    "notion": ("rows.jsonl", [b'{"Name": "Hull", "Note": "%b"}' % SECRET.encode()],
               "{content: .Note}"),
    "zep": ("facts.json", {"facts": [{"uuid": "1", "fact": SECRET, "rating": 1}]},
            "{content: .fact}"),
    "letta": ("blocks.json", [{"label": "human", "value": SECRET, "limit": 2000}],
              "{content: .value}"),
    "own": ("own.jsonl", [b'{"text": "%b", "tags": ["hull"], "user": "Ann", "date": "2026-10-01"}'
                          % SECRET.encode()],
            "del(.text, .date, .user) + {content: .text, timestamp: .date, author: .user}"),
    "own, no time": ("facts.jsonl", [b'{"text": "%b", "tags": ["hull"]}' % SECRET.encode()],
                     "{content: .text, tags: .tags}"),
    "bookmarks": ("marks.json", {"roots": {"bar": {"children": []}}, "version": 1}, "content"),
    "package": ("package.json", {"name": "hull", "version": "1.0.0", "scripts": {}}, None),
    "geo": ("map.geojson", {"type": "FeatureCollection", "features": [
        {"type": "Feature", "geometry": {}}]}, None),
    "numbers": ("numbers.json", [1, 2, 3], None),
    "no keys": ("empty.json", [{}], "line 1 has no keys"),
    "table": ("rows.dat", f"id,body,when\n1,{SECRET},2026\n", 'format="csv"'),
    "semicolons": ("rows.log", f"nr;note\n1;{SECRET}\n", 'format="csv"'),
    "markdown": ("hull.mdx", f"# Hull\n\n{SECRET}.\n", "--format document"),
    "text": ("my notes", f"{SECRET}.\n", "vestig import --format document 'my notes'"),
    "lines": ("lines", f"{SECRET}.\n{SECRET}, still.\n", "each line as a memory"),
    "calendar": ("hull.ics", "BEGIN:VCALENDAR\nSUMMARY:Hull\n", "Calendars are not read"),
    "addresses": ("hull.VCF", "BEGIN:VCARD\nFN:Ann\n", "Address books are not read"),
    "no sentence": ("units.json", {"building": "Larch", "units": [{"no": 5, "tenant": {
        "first": "Ann", "last": "Berg"}}]}, "None of its fields holds sentences"),
    "page": ("page.xml", f"<html><body>{SECRET}</body></html>", "--format document page.xml"),
    "yaml": ("hull.yaml", f"hull:\n  text: {SECRET}\n", "--format document"),
    "pdf": ("hull", b"%PDF-1.7\n%\xe2\xe3\n", "it is a binary file"),
    "picture": ("hull.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "Pictures, sound, programs"),
    "database": ("hull.db", b"SQLite format 3\0\x10\0", "it is a binary file"),
    "empty": ("empty.jsonl", "", "it is empty"),
    "cut": ("cut.json", json.dumps([{"a": SECRET}])[:-9], None),
    "utf-16": ("notes.jsonl", SECRET.encode("utf-16"), "save it as UTF-8"),
}  # fmt: skip


def data_of(content: Any) -> bytes:
    if isinstance(content, bytes):
        return content
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, list) and content and isinstance(content[0], bytes):
        return b"\n".join(content) + b"\n"
    return json.dumps(content).encode()


@each("name", UNKNOWN)
def test_the_error_says_what_was_seen_and_what_to_do(name: str, tmp_path: Path) -> None:
    file, content, command = UNKNOWN[name]
    path = tmp_path / file
    path.write_bytes(data_of(content))
    with pytest.raises(ValidationError) as caught:
        store_of(path)
    error = str(caught.value)
    assert "larch" not in error
    if name != "utf-16":
        assert f"no format knows {file}" in error
        assert "docs/import.md" in error
        assert f"Accepted are {', '.join(FORMAT_SIGNS)};" in error
    if command is not None:
        assert command in error, error


@each("name", [name for name, row in UNKNOWN.items() if row[2] is not None and ": ." in row[2]])
def test_the_command_of_the_error_brings_the_text_in(name: str, tmp_path: Path) -> None:
    file, content, _ = UNKNOWN[name]
    path = tmp_path / file
    path.write_bytes(data_of(content))
    with pytest.raises(ValidationError) as caught:
        store_of(path)
    (command,) = re.findall(r"`(jq [^`]*)`", str(caught.value))
    jq, rest = command.split(" | vestig import ")
    _, _, program, named = shlex.split(jq)
    assert named == str(path)
    way, _, made = program.rpartition(" | ")
    taken, _, made = made.rpartition(" + ")
    taken_keys = re.findall(r"\.(\w+)", taken)
    fields = dict(one.split(": .") for one in made.strip("{}").split(", "))
    values = [json.loads(line) for line in path.read_bytes().splitlines()]
    for step in re.findall(r"\.?(\w*)(\[\])", way):
        values = [one for value in values for one in (value[step[0]] if step[0] else value)]
    others = [
        {key: kept for key, kept in one.items() if taken and key not in taken_keys}
        for one in values
    ]
    if taken.startswith("{metadata: "):
        others = [{"metadata": one} for one in others]
    lines = [
        other | {field: value[key] for field, key in fields.items()}
        for other, value in zip(others, values, strict=True)
    ]
    form = re.fullmatch(r"--format (\w+) -", rest)
    assert form is not None
    store, report = store_of(as_lines(*lines), format=form.group(1))
    assert (report.failed, [one.content for one in store.list()]) == (0, [SECRET])
    (stored,) = store.list()
    kept = stored.to_dict()["metadata"]
    named = {*values[0]} - {*fields.values()}
    assert named <= {*kept}
    assert kept.get("tags") == values[0].get("tags")


# Records of other programs, and (text, role, author, day) of the memories that the command brings.
Row = tuple[str, str | None, str | None, str | None]
NESTED: dict[str, tuple[Any, list[Row]]] = {
    "langchain": (
        [{"type": "human", "data": {"content": SECRET, "type": "human"}},
         {"type": "ai", "data": {"content": "I have noted that.", "type": "ai"}}],
        [(SECRET, "user", None, None), ("I have noted that.", "assistant", None, None)],
    ),
    "zep": (
        {"sessions": [{"session_id": "s", "user_id": "ann", "messages": [
            {"uuid": "1", "role": "Ann", "role_type": "user", "content": SECRET,
             "created_at": "2026-02-11T09:00:00Z"}]}],
         "facts": [{"fact": "It is of larch", "valid_at": "2026-02-11T00:00:00Z"}]},
        [(SECRET, "user", None, "2026-02-11")],
    ),
    "slack": (
        [{"type": "message", "user": "U1", "text": SECRET, "ts": "1751358600.000200"},
         {"type": "message", "user": "U2", "text": "<@U2> has joined", "ts": "1751446800.000000"},
         {"type": "message", "bot_id": "B", "text": "Bring the tar", "ts": "1751446801.000000"}],
        [(SECRET, None, "U1", "2025-07-01"), ("<@U2> has joined", None, "U2", "2025-07-02"),
         ("Bring the tar", None, None, "2025-07-02")],
    ),
    "milliseconds": (
        {"chat": {"messages": [{"sender": {"name": "Ann"}, "body": {"text": SECRET},
                                "timestamp": 1751358600123}]}},
        [(SECRET, None, "Ann", "2025-07-01")],
    ),
    "a date that is null": (
        [{"id": "1", "text": SECRET, "created_at": "2026-02-11T09:00:00Z"},
         {"id": "2", "text": "Bring the tar", "created_at": "2026-02-12T09:00:00Z"},
         {"id": "3", "text": "The rope is grey", "created_at": None}],
        [(SECRET, None, None, "2026-02-11"), ("Bring the tar", None, None, "2026-02-12"),
         ("The rope is grey", None, None, None)],
    ),
    "a number of seconds that is null": (
        [{"said": SECRET, "ts": 1751358600}, {"said": "Bring the tar", "ts": 1751446800},
         {"said": "The rope is grey", "ts": None}],
        [(SECRET, None, None, "2025-07-01"), ("Bring the tar", None, None, "2025-07-02"),
         ("The rope is grey", None, None, None)],
    ),
    "relations": (
        {"edges": [
            {"name": "WORKS_AT", "fact": SECRET, "created_at": "2025-07-01T10:00:00Z",
             "valid_at": "2022-01-10T00:00:00Z", "invalid_at": None},
            {"name": "OWNS", "fact": "Ann owns a red boat", "created_at": "2025-07-02T10:00:00Z",
             "valid_at": None, "invalid_at": None}]},
        [(SECRET, None, None, "2022-01-10"), ("Ann owns a red boat", None, None, "2025-07-02")],
    ),
    "a thing with a name": (
        [{"name": "Hull", "note": SECRET, "born": "2020-01-01"}], [(SECRET, None, None, None)],
    ),
    "an id that is long": (
        [{"user_id": "the-very-long-id-of-ann-berg-of-bergen", "said": SECRET}],
        [(SECRET, None, None, None)],
    ),
}  # fmt: skip


@pytest.mark.skipif(shutil.which("jq") is None, reason="the command is one of jq")
@each("name", NESTED)
def test_what_stands_deeper_is_taken_by_its_values(name: str, tmp_path: Path) -> None:
    held, wanted = NESTED[name]
    path = tmp_path / "a file.json"
    path.write_text(json.dumps(held))
    with pytest.raises(ValidationError) as caught:
        store_of(path)
    (command,) = re.findall(r"`(jq [^`]*)`", str(caught.value))
    jq, rest = command.split(" | vestig import --format ")
    made = subprocess.run(shlex.split(jq), capture_output=True, check=True).stdout
    store, report = store_of(io.BytesIO(made), format=rest.split()[0])
    assert report.failed == 0, report.errors
    found = {
        (one.content, one.role and one.role.value, one.author,
         None if one.t_valid > one.t_created - timedelta(days=1) else f"{one.t_valid:%Y-%m-%d}")
        for one in store.list()
    }  # fmt: skip
    assert found == {*wanted}


@pytest.mark.skipif(shutil.which("jq") is None, reason="the command is one of jq")
def test_facts_that_have_ended_end_and_what_is_not_taken_is_named(tmp_path: Path) -> None:
    worked = (("Helio", "2022-01-10", "2025-05-31"), ("Bosch", "2025-06-01", None))
    edges = [
        {"name": "WORKS_AT", "fact": f"Ann works at {where}", "created_at": "2025-07-01",
         "valid_at": begin, "invalid_at": end}
        for where, begin, end in worked
    ]  # fmt: skip
    path = tmp_path / "graph.json"
    path.write_text(json.dumps({"edges": edges, "episodes": [{"content": SECRET[:20]}]}))
    with pytest.raises(ValidationError) as caught:
        store_of(path)
    assert "Not in it: .episodes[].content." in str(caught.value)
    (command,) = re.findall(r"`(jq [^`]*)`", str(caught.value))
    jq, rest = command.split(" | vestig import --format ")
    made = subprocess.run(shlex.split(jq), capture_output=True, check=True).stdout
    store, _ = store_of(io.BytesIO(made), format=rest.split()[0])
    ends = {one.content: one.t_invalid and f"{one.t_invalid:%Y-%m-%d}" for one in store.list()}
    assert ends == {"Ann works at Helio": "2025-05-31", "Ann works at Bosch": None}


def test_a_folder_with_folders_inside_names_what_reads_them(tmp_path: Path) -> None:
    (tmp_path / "plan.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a.md").write_text("# Hull\n\nIt is of larch.\n")
    for given in (tmp_path, [str(tmp_path)]):
        with pytest.raises(ValidationError) as caught:
            store_of(given)
        assert "1 file in folders inside: recursive=True reads them" in str(caught.value)
        assert "--format document" not in str(caught.value)
    assert store_of(tmp_path, recursive=True)[1].imported == 1


OTHERS: dict[str, Any] = {
    "chatgpt": lambda: as_file([TIDES]),
    "claude": lambda: as_file([GARDEN]),
    "claude-code": lambda: as_lines(*LOG),
    "codex": lambda: as_lines(*CODEX),
    "mem0": lambda: as_file({"results": MEM0}),
    "mcp-memory": lambda: as_lines(*GRAPH),
    "openai-chat": lambda: as_lines({"role": "user", "content": "Where is the tar?"}),
    "messages": lambda: as_lines({"speaker": "Ann", "text": "Where is the tar?"}),
    "memories": lambda: as_lines({"content": "The tar is in the cellar."}),
}


@each("held", OTHERS)
def test_each_is_recognised_by_itself_and_by_name(held: str) -> None:
    store, report = store_of(OTHERS[held]())
    assert (report.format, report.failed) == (held, 0)
    assert report.imported > 0
    named = store.import_(OTHERS[held](), format=held)
    assert (named.format, named.imported, named.failed) == (held, 0, 0)


@each("held", ["chatgpt", "claude", "claude-code", "codex", "mem0"])
@each("named", ["chatgpt", "claude", "codex", "mem0", "mcp-memory", "messages", "memories"])
def test_a_wrong_format_is_named_with_the_line_and_the_one_that_fits(held: str, named: str) -> None:
    if held == named:
        return
    store, report = store_of(OTHERS[held](), format=named)
    if report.imported == 0 and report.failed == 0:
        # lines of another log are no turns, and are counted
        assert report.left_out
        return
    assert report.failed > 0
    first = report.errors[0].message
    assert first.startswith("line ")
    assert f'format="{held}"' in first
    assert "high water" not in first
    assert store.count() == report.memories


def test_several_files_folders_patterns_and_streams(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for place, name in enumerate(("a.jsonl", "b.jsonl", "deep/c.jsonl", "deep/er/d.jsonl")):
        line = json.dumps({"speaker": "Ann", "text": f"The rope number {place} is grey"})
        (tmp_path / name).write_text(line)
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "a.jsonl")
    expected: list[tuple[Any, dict[str, Any], int]] = [
        (tmp_path, {}, 2),
        (tmp_path, {"recursive": True}, 4),
        (str(tmp_path / "*.jsonl"), {}, 2),
        (str(tmp_path / "**" / "*.jsonl"), {}, 4),
        ([tmp_path / "a.jsonl", str(tmp_path / "deep")], {}, 2),
        ([io.BytesIO((tmp_path / "a.jsonl").read_bytes()), tmp_path / "b.jsonl"], {}, 2),
    ]
    for files, options, count in expected:
        store, report = store_of(files, **options)
        assert (store.count(), report.failed) == (count, 0), (files, report)
    for nothing in ([], tmp_path / "deep" / "none*.jsonl"):
        with pytest.raises((ValidationError, FileNotFoundError)):
            store_of(nothing)
    (tmp_path / "void").mkdir()
    with pytest.raises(ValidationError, match="empty folder"):
        store_of(tmp_path / "void")
    with pytest.raises(FileNotFoundError):
        store_of(tmp_path / "gone.jsonl")


@each(
    ("data", "command"),
    [
        (b'{"text": "The hull is long"}', "import --format memories -"),
        (b"nothing of a known form", "import --format document -"),
        (b"colour,length\nred,9\n", "csv"),
    ],
)
def test_standard_input_is_named_as_a_command_line_names_it(data: bytes, command: str) -> None:
    with pytest.raises(ValidationError) as caught:
        store_of([io.BytesIO(data)])
    assert "'standard input'" not in str(caught.value)
    assert command in str(caught.value)


def test_a_file_that_grows_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(io.RawIOBase):
        taken = 0

        def read(self, size: int = -1) -> bytes:
            self.taken += size
            return b'{"speaker": "Ann", "text": "again"}\n' * (size // 36 + 1)

        def seekable(self) -> bool:
            return False

    monkeypatch.setattr("vestig.exchange.inputs.BYTES_MAX", 64 << 20)
    with pytest.raises(ValidationError, match="a stream that ends before"):
        store_of(Endless())


def test_an_endless_line_and_element_cost_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vestig.exchange.file_records.ELEMENT_BYTES_MAX", 1 << 20)
    long = json.dumps({"speaker": "Ann", "text": "rope " * 500_000})
    good = {"speaker": "Ben", "text": "The rope is grey"}
    _, report = store_of(as_lines(good, long, {"speaker": "Ben", "text": "The tar is black"}))
    assert (report.imported, report.failed) == (2, 1)
    assert "MiB" in report.errors[0].message
    whole = json.dumps([good, json.loads(long), good]).encode()
    _, report = store_of(io.BytesIO(whole))
    assert (report.imported, report.failed) == (1, 1)
    assert "MiB" in report.errors[0].message


def test_what_every_memory_of_an_import_has(tmp_path: Path) -> None:
    lines = as_lines(
        {"content": "The tar is in the cellar.", "tags": ["house"], "author": "Ben"},
        {"content": "The oars lie under the boat."},
    )
    store, _ = store_of(
        lines, tags="moved", author="Ann", entities=["PERSON:Ann Berg"], source="shed"
    )
    found = {one.content[:7]: one for one in store.list()}
    assert found["The tar"].metadata["tags"] == ["house", "moved"]
    assert found["The oar"].metadata["tags"] == ["moved"]
    assert [found[key].author for key in ("The tar", "The oar")] == ["Ben", "Ann"]
    assert {one.metadata["source"] for one in found.values()} == {"shed"}
    (ann,) = store.graph.entities(entity_type="PERSON").entities
    assert (ann.entity.canonical_name, ann.mentions) == ("Ann Berg", 2)
    store.export(tmp_path / "out.jsonl")
    with pytest.raises(ValidationError, match="an export is restored as it is"):
        store_of(tmp_path / "out.jsonl", tags=["moved"])


@each("held", OTHERS)
def test_a_dry_run_counts_and_writes_nothing(held: str) -> None:
    store, report = store_of(OTHERS[held](), dry_run=True)
    assert report.dry_run
    assert (store.count(), store.admin.stats().seq, len(store.graph.entities().entities)) == (
        0,
    ) * 3
    real = store.import_(OTHERS[held]())
    assert (real.lines, real.imported, real.memories, real.left_out) == (
        report.lines,
        report.imported,
        report.memories,
        report.left_out,
    )
    again = store.import_(OTHERS[held](), dry_run=True)
    assert (again.imported, again.skipped) == (0, real.imported)


def test_a_file_that_cannot_be_read_costs_itself(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(OTHERS["memories"]().getvalue())
    (tmp_path / "b.zip").write_bytes(b"PK\x03\x04 and no more")
    (tmp_path / "c.jsonl").write_text("")
    (tmp_path / "d.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00 and no more")
    _, report = store_of(tmp_path)
    assert (report.imported, report.failed) == (1, 3)
    names = ("b.zip", "c.jsonl", "d.jsonl.gz")
    for name in names:
        where = str(tmp_path / name)
        assert sum(error.message.startswith(f"{where}: ") for error in report.errors) == 1

"""Files of `vestig import`."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

import vestig
from tables import each
from vestig.calls.files import ImportFormat as Format
from vestig.errors import ValidationError
from vestig.exchange.commit_fields import ImportFile, ImportItem, ImportOptions
from vestig.exchange.formats.drafts import Link
from vestig.exchange.inputs import PathInput, StreamInput
from vestig.testing import HashingEmbedder
from vestig.types import ItemError


def lines(*records: Any) -> bytes:
    return b"".join(
        (record if isinstance(record, bytes) else json.dumps(record).encode()) + b"\n"
        for record in records
    )


def opened(content: bytes, **options: Any) -> ImportFile:
    if "format" in options:
        options["format"] = Format(options["format"])
    return ImportFile(StreamInput(io.BytesIO(content)), ImportOptions(**options))


def read(content: bytes, **options: Any) -> tuple[ImportFile, list[ImportItem | Link | ItemError]]:
    file = opened(content, **options)
    return file, list(file.items())


def items(content: bytes, **options: Any) -> list[ImportItem]:
    found = read(content, **options)[1]
    assert found
    assert all(isinstance(item, ImportItem) for item in found), found
    return found  # type: ignore[return-value]


# --- format --------------------------------------------------------------------------------


@each(
    ("first", "format"),
    [
        ({"schema": "vestig/export/1", "timestamp": "x"}, Format.EXPORT),
        ({"timestamp": "2026-01-01", "content": "x"}, Format.MESSAGES),
        ({"message_id": "1", "content": "x"}, Format.MESSAGES),
        ({"turn": 0, "text": "x"}, Format.MESSAGES),
        ({"speaker": None, "text": "x"}, Format.MESSAGES),
        ({"content": "x", "tags": ["a"]}, Format.MEMORIES),
    ],
)
def test_auto_by_the_first_object(first: dict[str, Any], format: Format) -> None:
    assert opened(lines(b"", b"not json", first)).format is format


def test_auto_refuses_with_the_keys() -> None:
    with pytest.raises(ValidationError, match="keys subject, body"):
        opened(lines({"subject": "secret", "body": "secret"}))
    with pytest.raises(ValidationError) as caught:
        opened(lines({"subject": "secret"}))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"plain words\n", b"3\n"])
def test_auto_without_any_object(content: bytes) -> None:
    said = "no JSON object" if content.strip() else "it is empty"
    with pytest.raises(ValidationError, match=said):
        opened(content)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        PathInput(tmp_path / "absent.jsonl")


def test_folder_binary_and_damaged_gzip(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="folder"):
        PathInput(tmp_path)
    with pytest.raises(ValidationError, match="binary"):
        opened(b"\x7fELF\x00\x00")
    cut = gzip.compress(lines(*({"turn": n, "text": "x" * 99} for n in range(500))))[:-20]
    with pytest.raises(ValidationError, match="damaged gzip"):
        list(opened(cut).items())


def test_an_export_is_not_committed() -> None:
    content = lines({"schema": "vestig/export/1"}, {"x": 1})
    file = opened(gzip.compress(content))
    with pytest.raises(ValidationError, match="export"):
        list(file.items())
    assert [b"".join(file.export_lines()) for _time in range(2)] == [content] * 2


# --- messages ------------------------------------------------------------------------------


def test_keys_of_messages() -> None:
    (item,) = items(
        lines(
            {
                "content": "Hello there",
                "text": "not this",
                "author": "Ada",
                "speaker": "not this",
                "timestamp": "2026-01-05T10:00:00",
                "date": "not this",
                "session_id": "s1",
                "turn": 7,
                "message_id": 12,
                "conversation": "c1",
                "title": "Greeting",
                "origin_type": "chat_peer",
                "trigger": "problem-solution",
            }
        )
    )
    assert item.parts == ("Hello there",)
    assert item.is_whole
    assert (item.line, item.artifact_ref, item.scope) == (1, "12", "c1")
    assert item.arguments == {
        "source": "import",
        "author": "Ada",
        "t_ref": "2026-01-05T10:00:00",
        "session_id": "s1",
        "sequence": 7,
        "artifact_ref": "12",
        "scope": "c1",
        "title": "Greeting",
        "origin_type": "chat_peer",
        "trigger": "problem-solution",
        "metadata": {"date": "not this", "speaker": "not this", "text": "not this"},
    }
    assert item.commits() == [{"content": "Hello there", **item.arguments}]


@each(
    ("argument", "keys"),
    [
        ("author", ("author", "author_name", "speaker")),
        ("t_ref", ("timestamp", "date", "created_at")),
        ("session_id", ("session_id", "session")),
        ("sequence", ("sequence", "turn")),
        ("artifact_ref", ("message_id", "id")),
        ("scope", ("scope", "channel_id", "conversation")),
    ],
)
def test_first_present_key_wins_and_null_counts_as_absent(
    argument: str, keys: tuple[str, ...]
) -> None:
    values = {key: f"2026-01-0{n + 1}" for n, key in enumerate(keys)}
    for number, key in enumerate(keys):
        given = {k: (v if k in keys[number:] else None) for k, v in values.items()}
        (item,) = items(lines({"text": "x", "role": "user", **given}), format="messages")
        assert item.arguments[argument] == values[key]


def test_text_when_content_is_null() -> None:
    (item,) = items(lines({"content": None, "text": "x", "turn": 0}))
    assert item.parts == ("x",)


def test_zero_is_a_sequence_and_empty_is_a_text() -> None:
    (item,) = items(lines({"content": "", "text": "other", "sequence": 0, "turn": 5}))
    assert item.parts == ("",)
    assert item.arguments["sequence"] == 0


@pytest.mark.parametrize("name", ["user", "Assistant", "SYSTEM", "tool"])
def test_role_from_an_author_named_like_one(name: str) -> None:
    (item,) = items(lines({"speaker": name, "text": "x"}))
    assert item.arguments["role"] == name.lower()
    assert item.arguments["author"] == name


def test_role_given_wins_and_names_are_no_roles() -> None:
    one, two = items(
        lines(
            {"speaker": "user", "role": "assistant", "text": "x"}, {"speaker": "Ada", "text": "x"}
        )
    )
    assert one.arguments["role"] == "assistant"
    assert "role" not in two.arguments


def test_title_is_the_session_of_a_record_without_author() -> None:
    one, blank, two, three = items(
        lines(
            {"turn": None, "session": "Oslo", "text": "x"},
            {"session": "Oslo", "text": "x", "title": " "},
            {"session": "Oslo", "text": "x", "title": "Own"},
            {"session": "Oslo", "text": "x", "author": "Ada"},
        )
    )
    for untitled in (one, blank):
        assert untitled.arguments["title"] == "Oslo"
        assert "session_id" not in untitled.arguments
    assert (two.arguments["title"], two.arguments["session_id"]) == ("Own", "Oslo")
    assert "title" not in three.arguments


def test_order_in_the_file_when_no_sequence() -> None:
    found = items(lines({"speaker": "a", "text": "x"}, b"", {"text": "y"}, {"text": "z"}))
    assert [item.arguments["sequence"] for item in found] == [0, 1, 2]
    assert [item.line for item in found] == [1, 3, 4]


def references(content: bytes, **options: Any) -> list[str]:
    return [item.artifact_ref for item in items(content, **options)]


def test_reference_is_the_line_and_the_hash_of_the_file_so_far_without_an_id() -> None:
    content = lines({"turn": 0, "text": "x"}, {"text": "y", "id": "own"}, {"text": "z"})
    first, _, third = [
        hashlib.sha256(content[:end].rstrip()).hexdigest()[:32]
        for end in (content.index(b"\n"), 0, len(content))
    ]
    expected = [f"file:{first}:1", "own", f"file:{third}:3"]
    assert references(content) == expected
    # packing the file does not make it another one
    assert references(gzip.compress(content)) == expected


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_references_of_a_grown_log_stay(end: bytes) -> None:
    written = [b'{"speaker": "a", "text": "%d"}' % place for place in range(4)]
    short = references(end.join(written[:2]))
    assert references(end.join([*written[:2], b""])) == short
    assert references(end.join(written))[:2] == short
    changed = references(end.join([b'{"speaker": "b", "text": "0"}', *written[1:]]))
    assert set(changed).isdisjoint(short)


@pytest.mark.parametrize("form", ["[%s]", '{"scope": "s", "messages": [%s]}'])
def test_references_of_a_grown_array_stay(form: str) -> None:
    def packed(count: int, gap: str) -> bytes:
        elements = [f'{{"speaker":{gap}"a", "text": "{place}"}}' for place in range(count)]
        return (form % f",{gap}".join(elements)).encode()

    assert references(packed(4, "\n"))[:2] == references(packed(2, " "))
    assert len(set(references(packed(4, " ")))) == 4


def test_other_keys_become_metadata_named_in_one_warning() -> None:
    file, found = read(
        lines(
            {"turn": 0, "text": "x", "mood": "good", "raw": None, "metadata": {"own": 1}},
            {"turn": 1, "text": "y", "mood": "bad", "source": "irc", "tags": ["a", "b"]},
            {"turn": 2, "text": "z", "tags": "a,b"},
        )
    )
    arguments = [item.arguments for item in found if isinstance(item, ImportItem)]
    for one in arguments:
        assert one["metadata"].pop("time_from") == "now"
    assert arguments[0]["metadata"] == {"own": 1, "mood": "good"}
    assert arguments[1]["metadata"] == {"mood": "bad", "original_source": "irc"}
    assert arguments[1]["tags"] == ["a", "b"]
    assert arguments[2]["metadata"] == {"original_tags": "a,b"}
    assert arguments[1]["source"] == "import"
    assert file.warnings() == ["other keys are kept in metadata: mood, raw, source"]


def test_scope_of_the_call_is_for_records_without_one() -> None:
    one, two = items(lines({"turn": 0, "text": "x", "scope": "own"}, {"text": "y"}), scope="given")
    assert (one.scope, two.scope) == ("own", "given")


@each(
    ("record", "fact"),
    [
        ({"turn": 0}, 'no text under "content" or "text"'),
        ({"text": 3, "turn": 0}, "content: expected text"),
        ({"text": "x", "author": {"name": "Ada"}, "turn": 0}, "author: expected text, got 'dict'"),
        ({"text": "x", "session": True}, "session_id: expected text"),
        (b"{broken", "expected a JSON object, got unreadable JSON"),
        (b'"words"', "expected a JSON object, got text"),
        (b"[1]", "expected a JSON object, got an array"),
        (b"[" * 5000, "expected at most 64 levels of nesting, got more"),
    ],
)
def test_a_bad_line_costs_one_line(record: Any, fact: str) -> None:
    good = {"turn": 0, "text": "fine"}
    _, found = read(lines(good, record, good))
    before, error, after = found
    assert isinstance(before, ImportItem)
    assert isinstance(after, ImportItem)
    assert isinstance(error, ItemError)
    assert error.index == 1
    assert error.code == "validation"
    assert error.message.startswith("line 2: ")
    assert fact in error.message


def test_a_line_that_is_not_utf8_is_refused_by_its_number() -> None:
    file, (own, bad, fine) = read(
        b'\xef\xbb\xbf{"turn": 0, "text": "its own \xef\xbf\xbd"}\n'
        b'{"text": "caf\xe9"}\n{"text": "fine"}\n'
    )
    assert isinstance(own, ImportItem)
    assert own.parts == ("its own \ufffd",)
    assert isinstance(bad, ItemError)
    assert bad.message.startswith("line 2: expected UTF-8 text, byte 13 of the line is none")
    assert isinstance(fine, ImportItem)
    assert file.warnings() == []


def test_a_document_that_is_not_utf8_is_refused_by_the_line() -> None:
    one, bad = read(b'[\n{"turn": 0, "text": "one"},\n{"text": "\xff"}\n]')[1]
    assert isinstance(one, ImportItem)
    assert isinstance(bad, ItemError)
    assert bad.message.startswith("line 2: line 3 of the file: expected UTF-8 text")
    assert bad.message.endswith("nothing after it was read")
    bad, fine = read(b'{"turn": 0, "text": "\xe9"}\n{"turn": 1, "text": "fine"}\n')[1]
    assert isinstance(bad, ItemError)
    assert isinstance(fine, ImportItem)


CHAT = [
    {"role": "user", "content": "My tax number is 27/302/11842."},
    {"role": "assistant", "content": "Noted, thank you."},
    {"role": "user", "content": "Please confirm."},
    {"role": "assistant", "content": "Noted, thank you."},
]
LOG = [{"speaker": one["role"], "text": one["content"]} for one in CHAT]


@pytest.mark.parametrize("time", [None, "timestamp", "created_at", "date"])
@pytest.mark.parametrize("turns", [CHAT, LOG], ids=["of a program", "of a log"])
@pytest.mark.parametrize("form", ["array", "lines", "list", "list with an id", "table"])
def test_equal_words_at_two_places_are_two_turns(
    form: str, turns: list[dict[str, str]], time: str | None, tmp_path: Path
) -> None:
    """Of one file, of another conversation in it, and of another file that begins alike."""
    days = [
        [one if time is None else {**one, time: f"2025-04-0{day}T10:0{place}:00Z"}
         for place, one in enumerate(turns)] for day in (1, 2)
    ]  # fmt: skip
    if form in ("array", "lines", "table"):
        for day, made in enumerate(days):
            name = tmp_path / (f"{day}.csv" if form == "table" else f"{day}.json")
            rows = [",".join(made[0]), *('"' + '","'.join(one.values()) + '"' for one in made)]
            name.write_text(
                "\n".join(rows) if form == "table" else json.dumps(made) if form == "array"
                else lines(*made).decode()
            )  # fmt: skip
    else:
        ids: list[dict[str, str]] = [{}, {}] if form == "list" else [{"id": "c0"}, {"id": "c1"}]
        lists = [{**id, "messages": made} for id, made in zip(ids, days, strict=True)]
        (tmp_path / "chats.jsonl").write_bytes(lines(*lists))
    with vestig.open(":memory:", embedder=HashingEmbedder(16)) as store:
        report = store.import_(tmp_path)
        assert (report.imported, report.duplicates, report.skipped) == (8, 0, 0)
        sessions = {(one.session_id, one.sequence) for one in store.list()}
        assert len(sessions) == 8
        assert len({id for id, _ in sessions}) == 2
        assert None not in {id for id, _ in sessions}
        if form == "list with an id":
            assert {id for id, _ in sessions} == {"c0", "c1"}
        assert store.import_(tmp_path).skipped == 8


def test_a_chat_of_a_program_has_its_format_with_times_too() -> None:
    chat = [{**one, "timestamp": "2025-04-01T10:00:00Z"} for one in CHAT]
    for content in (lines(*chat), json.dumps(chat).encode(), lines({"id": "c", "messages": chat})):
        assert read(content)[0].format == "openai-chat"
    # what it has beside that is of a log
    for more in ({"speaker": "Ann"}, {"scope": "s"}, {"turn": 3}, {"tags": ["a"]}):
        assert read(lines({**chat[0], **more}))[0].format == "messages"


LEAVING = "We leave tomorrow, and on 3 May 2026 we are back."
# a record without a time, and the name under which its format has one
UNTIMED: dict[str, tuple[dict[str, str], str]] = {
    "messages": ({"speaker": "Tom", "text": LEAVING}, "timestamp"),
    "openai-chat": ({"role": "user", "content": LEAVING}, "timestamp"),
    "mem0": ({"memory": LEAVING}, "created_at"),
    "memories": ({"content": LEAVING}, "t_ref"),
}


@each("name", UNTIMED)
def test_what_tells_no_time_has_no_day_that_counts_from_it(name: str) -> None:
    record, time = UNTIMED[name]

    def days(one: dict[str, str]) -> list[str]:
        with vestig.open(":memory:", embedder=HashingEmbedder(16)) as store:
            store.import_(io.BytesIO(lines(one)), format=name)
            (memory,) = store.list()
            return [f"{found.start:%Y-%m-%d}" for found in memory.times if found.start]

    assert days({**record, time: "2024-01-05"}) == ["2024-01-06", "2026-05-03"]
    # arguments of a commit are said now
    assert days(record)[name == "memories" :] == ["2026-05-03"]


def test_a_turn_without_a_time_has_that_of_the_turn_before_it() -> None:
    rows = [
        {"speaker": "Nora", "text": "Let us talk.", "session": "s", "timestamp": "2024-01-05"},
        {"speaker": "Tom", "text": "We leave tomorrow.", "session": "s"},
        {"speaker": "Tom", "text": "We leave tomorrow.", "session": "other"},
    ]
    with vestig.open(":memory:", embedder=HashingEmbedder(16)) as store:
        store.import_(io.BytesIO(lines(*rows)))
        days = {one.session_id: one.t_valid for one in store.list() if one.author == "Tom"}
        assert (days["s"].year, days["other"].year > 2024) == (2024, True)
        assert [one.times for one in store.list()] == [()] * 3


def test_json_array_and_object_with_messages() -> None:
    records = [{"speaker": "a", "text": "x"}, 3, {"speaker": "b", "text": "y"}]
    for content in (
        json.dumps(records).encode(),
        json.dumps(records, indent=2).encode(),
        b"\xef\xbb\xbf" + json.dumps({"messages": records}).encode(),
        json.dumps({"messages": records, "channel_id": "c"}, indent=2).encode(),
    ):
        _, (first, bad, last) = read(content)
        assert isinstance(first, ImportItem)
        assert isinstance(bad, ItemError)
        assert isinstance(last, ImportItem)
        assert (first.line, bad.index, last.line) == (1, 1, 3)
        assert first.scope == ("c" if b"channel_id" in content else None)


# --- long texts ----------------------------------------------------------------------------


def test_long_text_is_split_into_parts_of_one_reference() -> None:
    text = ("word " * 30).strip()
    (item,) = items(lines({"turn": 0, "text": text, "id": "m1"}), max_chars=40)
    assert len(item.parts) > 1
    assert "".join(item.parts) == text
    assert all(len(part) <= 40 for part in item.parts)
    assert {commit["artifact_ref"] for commit in item.commits()} == {"m1"}
    assert {commit["sequence"] for commit in item.commits()} == {0}


def test_length_is_measured_after_normalisation_and_split_before_it() -> None:
    spaced = "a" + " " * 100 + "b"
    (whole,) = items(lines({"turn": 0, "text": spaced}), max_chars=40)
    assert whole.parts == (spaced,)
    (split,) = items(lines({"turn": 0, "text": spaced}), max_chars=40, normalise=lambda text: text)
    assert "".join(split.parts) == spaced
    blank = "a" * 39 + " " * 80 + "b" * 39
    (item,) = items(lines({"turn": 0, "text": blank}), max_chars=40)
    assert [part.strip() for part in item.parts] == ["a" * 39, "b" * 39]


def test_a_text_of_exactly_max_chars_is_whole() -> None:
    one, two = items(lines({"turn": 0, "text": "x" * 40}, {"text": "x" * 41}), max_chars=40)
    assert [len(one.parts), len(two.parts)] == [1, 2]


# --- memories ------------------------------------------------------------------------------


def test_memories_are_commit_arguments() -> None:
    content = lines(
        {"content": "A fact", "tags": ["a"], "t_valid": None, "source": "manual"},
        {"content": "x" * 99, "artifact_ref": "own", "scope": "s"},
    )
    digest = hashlib.sha256(content[: content.index(b"\n")]).hexdigest()[:32]
    one, two = items(content, max_chars=40, scope="given")
    assert one.arguments == {
        "tags": ["a"],
        "source": "manual",
        "scope": "given",
        "artifact_ref": f"file:{digest}:1",
    }
    assert not one.is_whole
    assert two.parts == ("x" * 99,)
    assert (two.scope, two.artifact_ref, two.arguments["source"]) == ("s", "own", "import")


def test_memories_without_text() -> None:
    _, found = read(lines({"content": None}, {"content": "fine"}), format="memories")
    assert isinstance(found[0], ItemError)
    assert isinstance(found[1], ImportItem)


# --- reading -------------------------------------------------------------------------------


def test_paths_gzip_and_streams_read_alike(tmp_path: Path) -> None:
    content = lines(*({"turn": n, "text": f"text {n}"} for n in range(50)))
    plain, packed = tmp_path / "a.jsonl", tmp_path / "a.jsonl.gz"
    plain.write_bytes(content)
    packed.write_bytes(gzip.compress(content))

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    text = content.decode()
    wrapped = io.TextIOWrapper(io.BytesIO(content), encoding="ascii")
    sources: list[Any] = [plain, str(packed), Pipe(content), io.StringIO(text), wrapped]
    found = []
    for source in sources:
        given = PathInput(Path(source)) if isinstance(source, (str, Path)) else StreamInput(source)
        found.append(list(ImportFile(given).items()))
        assert 0 < given.position() <= given.size
    assert all(other == found[0] for other in found)
    assert len(found[0]) == 50


def test_items_are_read_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_bytes(lines(*({"turn": n, "text": "text " * 50} for n in range(2000))))
    given = PathInput(path)
    items = ImportFile(given).items()
    next(items)
    assert given.position() < given.size

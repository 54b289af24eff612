"""Bad input: each raises its error, and the store does not change."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import vestig
from calls import committing, selecting
from scripted import Opener
from tables import each

TEXT = "A sound statement about the harbour"
SURROGATE = "A text with a lone \ud800 surrogate"
UNKNOWN = "mem_00000000-0000-4000-8000-000000000000"


class Hostile:
    """Raises wherever it is looked at."""

    def __repr__(self) -> str:
        raise RuntimeError("do not look at me")


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"k": value}
    return value


V = vestig.ValidationError
# (field or fact that the message must name, error, arguments of commit)
COMMITS: list[tuple[str, type[Exception], dict[str, Any]]] = [
    ("content", TypeError, {"content": None}),
    ("content", TypeError, {"content": 7}),
    ("content", TypeError, {"content": b"bytes of a text"}),
    ("content", TypeError, {"content": ["a", "list"]}),
    ("content", V, {"content": SURROGATE}),
    ("source", V, {"source": ""}),
    ("source", V, {"source": "x" * 65}),
    ("source", V, {"source": 5}),
    ("namespace", V, {"namespace": ""}),
    ("namespace", V, {"namespace": "UPPER"}),
    ("namespace", V, {"namespace": "a/b"}),
    ("namespace", V, {"namespace": "n" * 65}),
    ("namespace", V, {"namespace": 3}),
    ("scope", V, {"scope": "s" * 201}),
    ("scope", V, {"scope": ["a"]}),
    ("scope", V, {"scope": "nul \0 inside"}),
    ("tags", V, {"tags": {"a": 1}}),
    ("tags", V, {"tags": ["a", 1]}),
    ("tags", V, {"tags": ["a", ""]}),
    ("tags", V, {"tags": ["\ud800"]}),
    ("metadata", V, {"metadata": ["a"]}),
    ("metadata", V, {"metadata": {1: "a"}}),
    ("metadata", V, {"metadata": {"a": math.nan}}),
    ("metadata", V, {"metadata": {"a": [1, {"b": -math.inf}]}}),
    ("metadata", V, {"metadata": {"a": "x" * 70_000}}),
    ("metadata", V, {"metadata": {"source": "mine"}}),
    ("metadata", V, {"metadata": {"tags": ["mine"]}}),
    ("metadata", V, {"metadata": {"a": object()}}),
    ("metadata", V, {"metadata": {"a": b"bytes"}}),
    ("metadata", V, {"metadata": deep(2_000)}),
    ("metadata", V, {"metadata": {"\ud800": 1}}),
    ("author", V, {"author": 1.5}),
    ("author", V, {"author": "a" * 100_000}),
    ("role", V, {"role": "boss"}),
    ("role", V, {"role": ""}),
    ("session_id", V, {"session_id": 12}),
    ("sequence", V, {"sequence": -1}),
    ("sequence", V, {"sequence": 1.0}),
    ("sequence", V, {"sequence": True}),
    ("sequence", V, {"sequence": 2**70}),
    ("title", V, {"title": []}),
    ("origin_type", V, {"origin_type": "mail"}),
    ("artifact_ref", V, {"artifact_ref": {}}),
    ("t_valid", V, {"t_valid": "soon"}),
    ("t_valid", V, {"t_valid": "2026-02-30"}),
    ("t_valid", V, {"t_valid": "2026-01-01T25:00"}),
    ("t_valid", V, {"t_valid": "0000-01-01"}),
    ("t_valid", V, {"t_valid": "10000-01-01"}),
    ("t_valid", V, {"t_valid": "0001-01-01T00:00:00+14:00"}),
    ("t_valid", V, {"t_valid": 1_700_000_000}),
    ("t_valid", V, {"t_valid": math.nan}),
    ("t_valid", V, {"t_valid": ""}),
    ("t_ref", V, {"t_ref": "2026-01-01T00:00:00+99:00"}),
    ("t_invalid", V, {"t_valid": "2026-01-02", "t_invalid": "2026-01-01"}),
    ("t_invalid", V, {"t_invalid": datetime(1999, 1, 1)}),
    ("temporal_stability", V, {"temporal_stability": "eternal"}),
    ("trigger", V, {"trigger": "whim"}),
    ("keywords", V, {"keywords": [None]}),
    ("retention_policy", V, {"retention_policy": "forever"}),
    ("retention_until", V, {"retention_until": "never"}),
    ("pinned", V, {"pinned": 1}),
    ("pinned", V, {"pinned": "yes"}),
    ("supersedes", V, {"supersedes": ["not an id"]}),
    ("supersedes", V, {"supersedes": ["mem_12"]}),
    ("supersedes", V, {"supersedes": [5]}),
    ("Memory not found", vestig.NotFoundError, {"supersedes": [UNKNOWN]}),
    ("on_near_dup", V, {"on_near_dup": "merge"}),
    ("enrich", V, {"enrich": "later"}),
    ("strict", V, {"strict": 1}),
    ("dry_run", V, {"dry_run": 0}),
    ("on_commit", V, {"on_commit": "print"}),
    ("did you mean agent", V, {"provenance": {"agnet": "ci"}}),
    ("actor", V, {"actor": Hostile()}),
]

# (field, error, keyword arguments of recall)
RECALLS: list[tuple[str, type[Exception], dict[str, Any]]] = [
    ("query", V, {"query": None}),
    ("query", V, {"query": "  \n"}),
    ("query", V, {"query": 5}),
    ("query", V, {"query": "\udcff"}),
    ("limit", V, {"limit": 0}),
    ("limit", V, {"limit": -1}),
    ("limit", V, {"limit": 1.5}),
    ("limit", V, {"limit": True}),
    ("query_vector", V, {"query_vector": "text"}),
    ("query_vector", V, {"query_vector": [1.0]}),
    ("query_vector", V, {"query_vector": [math.nan] * 64}),
    ("query_vector", V, {"query_vector": [math.inf] * 64}),
    ("query_vector", V, {"query_vector": b"123"}),
    ("namespace", V, {"namespace": "no spaces"}),
    ("scope", V, {"scope": 5}),
    ("kinds", V, {"kinds": ["NOTE"]}),
    ("tags", V, {"tags": 5}),
    ("tags_mode", V, {"tags_mode": "some"}),
    ("roles", V, {"roles": ["boss"]}),
    ("origin_types", V, {"origin_types": "mail"}),
    ("metadata", V, {"metadata": "k=v"}),
    ("since", V, {"since": "2026-02-01", "until": "2026-01-01"}),
    ("created_since", V, {"created_since": "x"}),
    ("include_expired", V, {"include_expired": "no"}),
    ("include_archived", V, {"include_archived": 1}),
    ("ids", V, {"ids": ["x"]}),
    ("exclude_ids", V, {"exclude_ids": [None]}),
    ("min_similarity", V, {"min_similarity": 2}),
    ("min_similarity", V, {"min_similarity": math.nan}),
    ("as_of", V, {"as_of": "2026-01-01", "valid_at": "2026-01-01"}),
    ("query_time", V, {"query_time": "noon"}),
    ("touch", V, {"touch": "yes"}),
    ("config", V, {"config": 5}),
    ("ranking.enabled", vestig.ConfigError, {"config": {"ranking": {"enabeld": False}}}),
    ("tau_days", vestig.ConfigError, {"config": {"usage.tau_days": 0}}),
    ("usage.k", vestig.ConfigError, {"config": {"usage.k": -3}}),
    ("profile", vestig.ConfigError, {"profile": "fastest"}),
]


@pytest.fixture
def sound(opener: Opener) -> vestig.Vestig:
    store = opener()
    store.commit(TEXT)
    return store


def check_refused(
    store: vestig.Vestig, call: Callable[[], Any], error: type[Exception], named: str
) -> None:
    before, events = store.admin.stats(), store.list(limit=100).to_dict()["memories"]
    with pytest.raises(error) as raised:
        call()
    message = str(raised.value)
    assert named in message
    assert len(message) < 1_000
    assert "harbour" not in message
    assert store.admin.stats() == before
    assert store.list(limit=100).to_dict()["memories"] == events


@each("case", range(len(COMMITS)))
def test_hostile_commits(sound: vestig.Vestig, case: int) -> None:
    named, error, given = COMMITS[case]
    fields = {"content": "Another sound statement to keep", **given}
    content = fields.pop("content")
    check_refused(sound, lambda: sound.commit(content, **committing(fields)), error, named)
    if "strict" not in given and "dry_run" not in given:
        (result,) = sound.commit_many([{"content": content, **fields}])
        assert named in getattr(result, "message", ""), result


@each("case", range(len(RECALLS)))
def test_hostile_recalls(sound: vestig.Vestig, case: int) -> None:
    named, error, given = RECALLS[case]
    fields = {"query": "a question", **given}
    check_refused(sound, lambda: sound.recall(**selecting(fields)), error, named)


IDS: list[tuple[str, type[Exception], Any]] = [
    ("id", V, None),
    ("id", V, 5),
    ("id", V, ""),
    ("id", V, "mem_"),
    ("id", V, "mem_xyz"),
    ("id", V, "ent_00000000-0000-4000-8000-000000000000"),
    ("id", V, "mem_00000000-0000-4000-8000-0000000000000"),
    ("id", V, "mem_00000000' OR 1=1 --"),
    ("Memory not found", vestig.NotFoundError, UNKNOWN),
]


@each("case", range(len(IDS)))
def test_hostile_ids(sound: vestig.Vestig, case: int) -> None:
    named, error, id = IDS[case]
    for name in ("show", "events", "pin", "unpin", "archive", "unarchive", "deprecate", "update"):
        check_refused(sound, lambda name=name: getattr(sound, name)(id), error, named)
    check_refused(sound, lambda: sound.supersede(id, UNKNOWN), error, named.replace("id", "old"))
    check_refused(sound, lambda: sound.record_access([id]), error, named)


def test_hostile_batches(sound: vestig.Vestig) -> None:
    for bad in ("a text", {"content": "x"}, b"bytes"):
        check_refused(sound, lambda bad=bad: sound.commit_many(bad), V, "items")
    results = sound.commit_many([None, 5, ["x"]])  # type: ignore[list-item]
    assert [(r.index, r.code) for r in results] == [(n, "validation") for n in range(3)]  # type: ignore[union-attr]


PATHS: list[tuple[str, type[Exception], Any]] = [
    ("path", V, 5),
    ("path", V, ""),
    ("path", V, "nul\0path"),
    ("", vestig.VestigError, "x" * 600),
]


@pytest.mark.parametrize("case", range(len(PATHS)))
def test_hostile_paths(tmp_path: Path, case: int) -> None:
    named, error, path = PATHS[case]
    place = str(tmp_path / path) if isinstance(path, str) and len(path) > 100 else path
    with pytest.raises(error) as raised:
        vestig.open(place)
    assert named in str(raised.value)


FILES: list[tuple[str, bytes]] = [
    ("empty.jsonl", b""),
    ("blank.jsonl", b"\n\n\n"),
    ("binary.jsonl", b"\x00\x01\x02" * 100),
    ("array.jsonl", b"[1, 2, 3]"),
    ("keys.jsonl", b'{"foo": 1}\n'),
    ("broken.gz", b"\x1f\x8b\x08\x00 not gzip at all"),
    ("cut.jsonl", b'{"schema": "vestig/export/1"'),
]


@pytest.mark.parametrize("case", range(len(FILES)))
def test_hostile_files(sound: vestig.Vestig, tmp_path: Path, case: int) -> None:
    name, content = FILES[case]
    (tmp_path / name).write_bytes(content)
    check_refused(sound, lambda: sound.import_(tmp_path / name), V, "")


def test_hostile_file_arguments(sound: vestig.Vestig, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sound.import_(tmp_path / "absent.jsonl")
    (tmp_path / "good.jsonl").write_text('{"content": "One sound line of a file"}\n')
    for options, named in (
        ({"format": "xml"}, "format"),
        ({"scope": 5}, "scope"),
        ({"merge": "yes"}, "merge"),
        ({"merge": True}, "merge"),
    ):
        call = lambda options=options: sound.import_(tmp_path / "good.jsonl", **options)  # noqa: E731
        check_refused(sound, call, V, named)


def test_hostile_lines_cost_only_themselves(sound: vestig.Vestig, tmp_path: Path) -> None:
    lines = [
        '{"content": "The first sound line of it"}',
        "{not json}",
        '{"content": 5}',
        '{"content": "ok"}',
        '{"content": "A line with a bad time", "t_ref": "soon"}',
        '{"content": "The last sound line of it"}',
    ]
    (tmp_path / "mixed.jsonl").write_text("\n".join(lines))
    report = sound.import_(tmp_path / "mixed.jsonl")
    assert (report.lines, report.imported, report.rejected, report.failed) == (6, 2, 1, 3)
    assert [error.index for error in report.errors] == [1, 2, 3, 4]


def test_there_are_enough_hostile_cases() -> None:
    """The issue asks for 80 at least; each list is run whole above."""
    assert len(COMMITS) + len(RECALLS) + len(IDS) + len(PATHS) + len(FILES) >= 80

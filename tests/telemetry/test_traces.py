"""Spans of operations, and the file that gets a line for each operation."""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import vestig
from vestig import telemetry
from vestig.errors import ConfigError, ModelCallError, NotFoundError, ProviderError
from vestig.telemetry import Span, Trace, TraceFile, current_trace, span
from vestig.testing import FailingEmbedder, HashingEmbedder, ScriptedModel

TEXT = "The staging database runs on port 5433"
OTHER = "Answers to customers are short and have an example of code"


def opened(folder: Path, **telemetry: Any) -> vestig.Vestig:
    """A store whose traces go to `t/trace.jsonl`."""
    config = {f"telemetry.{name}": value for name, value in telemetry.items()}
    config.setdefault("telemetry.trace_file", str(folder / "t" / "trace.jsonl"))
    return vestig.open(folder / "store", embedder=HashingEmbedder(32), config=config)


def lines(folder: Path, name: str = "trace.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "t" / name).read_text().splitlines()]


def names(line: dict[str, Any]) -> list[str]:
    return [one["name"] for one in line["spans"]]


# --- spans ---------------------------------------------------------------------------------------


def test_a_stage_inside_of_another_one_counts_once() -> None:
    started = time.perf_counter()
    with Trace() as trace:
        with span("write", rows=1) as counts:
            counts["tries"] = 2
            with span("decide"):
                time.sleep(0.02)
            with pytest.raises(TimeoutError), span("embed"):
                raise TimeoutError
        time.sleep(0.01)
    took_ms = (time.perf_counter() - started) * 1e3
    decide, embed, write = trace.spans
    assert (decide.name, embed.name, write.name) == ("decide", "embed", "write")
    assert decide.duration_ms >= 20 > write.duration_ms
    assert sum(one.duration_ms for one in trace.spans) < took_ms - 9
    assert (write.ok, write.error_type, write.counts) == (True, None, {"rows": 1, "tries": 2})
    assert (embed.ok, embed.error_type) == (False, "timeout")


def test_outside_of_an_operation_nothing_is_gathered() -> None:
    with span("embed", texts=1) as counts:
        assert counts == {"texts": 1}
    assert current_trace() is None
    seen: list[object] = []
    with Trace():
        thread = threading.Thread(target=lambda: seen.append(current_trace()))
        thread.start()
        thread.join()
    assert seen == [None]


# --- the file ------------------------------------------------------------------------------------


def test_every_operation_is_one_line_with_its_stages(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        id = store.commit(TEXT).memory_id
        store.commit_many([OTHER, "Deploys happen on Tuesdays after the stand-up"])
        store.recall("which port?")
        store.graph.search("database")
        store.update(str(id), content="The staging database runs on port 6000")
        store.forget([str(id)])
        with pytest.raises(NotFoundError):
            store.show(str(id))
    found = lines(tmp_path)
    assert [line["operation"] for line in found] == [
        "commit", "commit_many", "recall", "graph_search", "update", "forget", "show",
    ]  # fmt: skip
    commit, many, recall, search, update, forget, show = found
    made = [name for name in names(commit) if name != "publish"]
    assert made == ["extract", "embed", "decide", "write", "catch-up"]
    assert [one["counts"] for one in many["spans"]][:2] == [{"items": 2}, {"texts": 2}]
    assert names(recall) == ["embed", "analyse", "analyse", "score", "rank"]
    assert recall["spans"][3]["counts"] == {"eligible": 3, "scored": 3, "walked": 0}
    assert names(search) == ["embed", "score", "walk", "rank"]
    assert {"embed", "write"} < set(names(update)), "the commit within belongs to the update"
    assert forget["spans"][-1]["name"] == "erase"
    assert (show["ok"], show["code"], show["error_type"]) == (False, "not-found", "unknown")
    for line in found:
        assert line["schema"] == "vestig/trace/1"
        assert line["process"] == os.getpid()
        assert line["at"].endswith("Z")
        assert sum(one["duration_ms"] for one in line["spans"]) <= line["duration_ms"]


def test_an_import_names_its_parts(tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    with opened(tmp_path) as store:
        store.commit(TEXT)
        store.export(file)
        (tmp_path / "texts.jsonl").write_text(json.dumps({"content": OTHER}) + "\n")
        store.import_(tmp_path / "texts.jsonl")
        store.import_(file, merge=True)
    texts, whole = lines(tmp_path)[-2:]
    assert names(texts)[0] == "chunk"
    assert texts["spans"][0]["counts"] == {"records": 1, "parts": 1}
    assert names(whole) == ["check", "write"]
    assert whole["spans"][0]["counts"] == {"lines": 7}


def test_another_process_is_caught_up_with_in_a_stage_of_its_own(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.commit(TEXT)
        with vestig.open(tmp_path / "store", embedder=HashingEmbedder(32)) as other:
            other.commit(OTHER)
        store.recall("which port?")
    (caught_up,) = [one for one in lines(tmp_path)[-1]["spans"] if one["name"] == "catch-up"]
    assert caught_up["counts"] == {"rows": 1, "removed": 0}


def test_a_stage_that_fails_says_so(tmp_path: Path) -> None:
    config = {"telemetry.trace_file": str(tmp_path / "t" / "trace.jsonl")}
    embedder = FailingEmbedder("error", dimensions=32)
    with (
        vestig.open(tmp_path / "store", embedder=embedder, config=config) as store,
        pytest.raises(ProviderError),
    ):
        store.commit(TEXT)
    (line,) = lines(tmp_path)
    assert (line["ok"], line["code"]) == (False, "provider")
    assert [one["ok"] for one in line["spans"] if one["name"] == "embed"] == [False]


def test_the_trace_comes_with_a_result_on_request(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.commit(TEXT)
        assert store.graph.search("database").trace is None
        for call in (store.graph.search, store.recall):
            found = call("port", trace=True)
            assert found.trace is not None
            assert found.to_dict()["trace"] == lines(tmp_path)[-1]["spans"]
            assert {"embed", "score", "rank"} <= {one.name for one in found.trace}


def test_a_try_of_a_language_model_is_a_stage(tmp_path: Path) -> None:
    model = ScriptedModel({"classify_stability": "static"}, failures=[ModelCallError("no")])
    with (
        vestig.open(tmp_path / "store", embedder=HashingEmbedder(32), llm=model) as store,
        Trace() as trace,
    ):
        models = store._session.models
        with pytest.raises(ProviderError):
            models.ask("classify_stability", {"content": TEXT}, answer=str)
        models.ask("classify_stability", {"content": TEXT}, answer=str)
    failed, done = (one for one in trace.spans if one.name == "model")
    assert (failed.ok, failed.error_type, failed.counts) == (False, "llm", {})
    assert (done.ok, set(done.counts)) == (True, {"input_tokens", "output_tokens"})


def test_a_line_that_does_not_fit_is_an_error_and_spoils_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = TraceFile(tmp_path / "trace.jsonl", max_bytes=1_000, keep=1)
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: write(fd, data[: max(1, len(data) // 2)]))
        with pytest.raises(OSError, match="No space"):
            file.write(b"123456")
    file.write(b"whole")
    file.close()
    assert file.path.read_bytes() == b"123\nwhole\n"


def test_null_is_off(tmp_path: Path) -> None:
    with opened(tmp_path, trace_file=None) as store:
        store.commit(TEXT)
    assert not (tmp_path / "t").exists()


def test_the_file_is_rotated_and_so_many_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = partial(TraceFile, max_bytes=2_000, keep=2)
    monkeypatch.setattr("vestig.session.opening.TraceFile", small)
    with opened(tmp_path) as store:
        for _ in range(60):
            store.count()
    folder = tmp_path / "t"
    files = ["trace.jsonl.2", "trace.jsonl.1", "trace.jsonl"]
    assert sorted(path.name for path in folder.iterdir()) == sorted(files)
    assert all(0 < (folder / name).stat().st_size <= 2_000 for name in files)
    times = [line["at"] for name in files for line in lines(tmp_path, name)]
    assert times == sorted(times)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE((folder / name).stat().st_mode) for name in files} == {0o600}


def test_two_writers_of_one_file_lose_no_line(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    writers = [TraceFile(path, max_bytes=100, keep=1_000) for _ in range(2)]

    def write(number: int) -> None:
        for place in range(200):
            writers[number].write(b"%d %03d" % (number, place))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for writer in writers:
        writer.close()
    found = [line for file in tmp_path.iterdir() for line in file.read_text().splitlines()]
    assert sorted(found) == [f"{number} {place:03}" for number in range(2) for place in range(200)]


def test_closing_twice_and_writing_after_it(tmp_path: Path) -> None:
    file = TraceFile(tmp_path / "a" / "b" / "trace.jsonl", max_bytes=100, keep=1)
    file.write(b"1")
    file.close()
    file.close()
    file.write(b"2")
    assert file.path.read_bytes() == b"1\n"
    store = opened(tmp_path)
    store.close()
    store.close()


@pytest.mark.parametrize("name", ["folder", "file/trace.jsonl", "a\0b"])
def test_a_file_that_cannot_be_written_is_refused_at_open(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"telemetry\.trace_file: expected a file that can be"):
        opened(tmp_path, trace_file=str(tmp_path / name))
    with opened(tmp_path) as store:
        assert store.count() == 0


OF_OTHERS = (b"SQLite format 3\0", b'{"content": "a note"}\n', b"\n", b"\xff\xd8\xff", b"{")


@pytest.mark.parametrize("held", OF_OTHERS)
@pytest.mark.parametrize("name", ["trace.jsonl", "trace.jsonl.1", "trace.jsonl.5"])
def test_a_file_of_something_else_stays_as_it_is(tmp_path: Path, name: str, held: bytes) -> None:
    (tmp_path / name).write_bytes(held)
    wanted = rf"telemetry\.trace_file: expected .*{name} that holds something else"
    with pytest.raises(ConfigError, match=wanted):
        opened(tmp_path, trace_file=str(tmp_path / "trace.jsonl"))
    assert (tmp_path / name).read_bytes() == held


def test_a_file_that_becomes_something_else_is_neither_added_to_nor_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = partial(TraceFile, max_bytes=2_000, keep=2)
    monkeypatch.setattr("vestig.session.opening.TraceFile", small)
    path = tmp_path / "trace.jsonl"
    with opened(tmp_path, trace_file=str(path)) as store:
        store.count()
        for name in ("trace.jsonl", "trace.jsonl.2"):
            (tmp_path / "fresh").write_bytes(b"a photo")
            os.replace(tmp_path / "fresh", tmp_path / name)
            for _ in range(40):
                store.count()
            assert (tmp_path / name).read_bytes() == b"a photo"
            (tmp_path / name).unlink()
        assert store.admin.metrics()['vestig_degradations_total{code="trace_unwritten"}'] > 40


def test_an_own_file_and_an_empty_one_are_added_to(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "trace.jsonl").touch()
    for _ in range(2):
        with opened(tmp_path) as store:
            store.count()
    assert len(lines(tmp_path)) == 2


@pytest.mark.parametrize("place", ["witness", "projection/manifest", "t.jsonl", "a/b/t.jsonl"])
def test_no_trace_lies_in_a_store(tmp_path: Path, place: str) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "store" / place)
    for name in (tmp_path / "store" / place, link):
        with pytest.raises(ConfigError, match="expected a file outside of the store"):
            opened(tmp_path, trace_file=str(name))
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(32)) as store:
        store.commit(TEXT)
    before = {one: one.read_bytes() for one in (tmp_path / "store").rglob("*") if one.is_file()}
    config = {"telemetry.trace_file": str(tmp_path / "store" / place)}
    with pytest.raises(ConfigError, match="expected a file outside of the store"):
        vestig.open(tmp_path / "other", embedder=HashingEmbedder(32), config=config)
    assert all(one.read_bytes() == held for one, held in before.items())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_a_full_disk_fails_no_call_and_is_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(tmp_path, trace_file="/dev/full") as store:
        store.commit(TEXT)
        assert store.recall("which port?")
        counted = store.admin.metrics()['vestig_degradations_total{code="trace_unwritten"}']
    assert counted == 2
    assert [record.message for record in caplog.records] == ["trace_unwritten"], "it is said once"


def test_values_of_stages_are_made_when_they_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def counted(**fields: Any) -> Span:
        made.append(fields["name"])
        return Span(**fields)

    monkeypatch.setattr(telemetry, "Span", counted)
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder()) as store:
        store.commit("Ada keeps the red key")
        found = store.recall("who keeps the key?")
        assert found.trace is None
        assert made == []
        shown = store.recall("who keeps the key?", trace=True).trace
        assert shown is not None
        assert made == [one.name for one in shown]
        assert {"embed", "analyse", "score", "rank"} <= set(made)
        count = 'vestig_operation_duration_seconds_count{operation="recall",stage="score"}'
        assert store.admin.metrics()[count] == 2

"""Recorded requests of retrieve, run again under two configurations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import vestig
from vestig.errors import NotFoundError, ValidationError
from vestig.testing import FrozenClock, HashingEmbedder

TEXTS = (
    "The red key opens the shed behind the greenhouse",
    "Tomatoes need watering every second evening",
    "The blue key opens the boat house",
)
QUESTION = "Which key opens the shed behind the greenhouse?"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store"
    with vestig.open(path, clock=FrozenClock(), embedder=HashingEmbedder()) as opened:
        for number, text in enumerate(TEXTS):
            opened.commit(text, scope="garden", provenance={"artifact_ref": f"note-{number}"})
    return path


def ids(store: Path) -> list[str]:
    with vestig.open(store, embedder=HashingEmbedder()) as opened:
        found = {memory.content: memory.id for memory in opened.list().memories}
    return [found[text] for text in TEXTS]


def request(text: str = QUESTION, **fields: Any) -> dict[str, Any]:
    return {"messages": [{"content": text}], "scope": "garden", **fields}


def written(tmp_path: Path, *lines: Any) -> Path:
    file = tmp_path / "requests.jsonl"
    shown = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    file.write_text("\n".join(shown) + "\n", encoding="utf-8")
    return file


def replayed(file: Path, store: Path, **fields: Any) -> Any:
    return vestig.replay_requests(file, store=store, embedder=HashingEmbedder(), **fields)


def test_two_sides_are_measured_by_ids_and_references(tmp_path: Path, store: Path) -> None:
    red, _, blue = ids(store)
    file = written(
        tmp_path,
        request(relevant=[red]),
        "",
        request("Which key opens the boat house?", relevant=["note-2"]),
        request("Which key opens what?", relevant=[red, blue], expected_confidence="medium"),
        request("Who plays the cello?", relevant=[]),
        request("anything"),
    )
    found = replayed(file, store, new={"retrieve.max_iterations": 1, "retrieve.max_facts": 1})
    assert (found.requests, found.warnings) == (5, ())
    assert found.old.seq == found.new.seq
    old, new = found.old.figures, found.new.figures
    assert (old.retrievals, old.labelled, old.relevant_found) == (5, 3, 4)
    assert old.metrics["recall@5"].mean == 1
    assert new.metrics["recall@5"].mean == pytest.approx(5 / 6)
    assert found.new_against_old["recall@5"].delta == pytest.approx(-1 / 6)
    assert new.iterations_mean == 1
    assert found.new.settings["retrieve.max_facts"] == 1
    assert found.old.settings["retrieve.max_facts"] == 30
    # four of five say what is expected
    assert sum(sum(got.values()) for got in old.labels.values()) == 4
    assert sum(old.labels["medium"].values()) == 1
    assert sum(old.labels["low"].values()) == 1


def without_times(figures: Any) -> dict[str, Any]:
    plain: dict[str, Any] = figures.to_dict()
    return {name: value for name, value in plain.items() if not name.startswith("latency")}


def test_the_same_twice_but_for_times(tmp_path: Path, store: Path) -> None:
    file = written(tmp_path, request(relevant=["note-0"]), request("Who waters tomatoes?"))
    first, second = (replayed(file, store, llm=False) for _ in range(2))
    for side in ("old", "new"):
        one, other = getattr(first, side), getattr(second, side)
        assert without_times(one.figures) == without_times(other.figures)
        assert one.seq == other.seq
    assert without_times(first.old.figures) == without_times(first.new.figures)
    assert first.old.settings["retrieve.llm"] is False


def test_configurations_may_be_files(tmp_path: Path, store: Path) -> None:
    config = tmp_path / "new.yaml"
    config.write_text("retrieve: {max_iterations: 1}\n", encoding="utf-8")
    found = replayed(written(tmp_path, request()), store, new=config)
    assert (found.old.config, found.new.config) == (None, str(config))
    assert found.new.figures.iterations_mean == 1


def test_labels_that_name_nothing_are_told(tmp_path: Path, store: Path) -> None:
    elsewhere = request(relevant=["note-0", "note-9"])
    found = replayed(written(tmp_path, elsewhere), store)
    assert found.old.figures.metrics["recall@30"].mean == 0.5
    assert "1 labels" in found.warnings[0]
    # a reference counts in the scope of the request
    other = {**request(relevant=["note-0"]), "scope": "attic"}
    assert "1 labels" in replayed(written(tmp_path, other), store).warnings[0]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("{", "cannot be read"),
        ("[1]", "JSON object"),
        ('{"messages": []}', "at least one entry"),
        ('{"messages": [{"content": "a"}], "max_fact": 3}', "max_fact"),
        ('{"messages": [{"content": "a"}], "max_facts": 0}', "max_facts"),
        ('{"messages": [{"content": "a"}], "relevant": 5}', "relevant"),
        ('{"messages": [{"content": "a"}], "expected_confidence": "sure"}', "high | medium | low"),
        ('{"messages": [{"content": "a"}], "where": {"scopes": "x"}}', "scopes"),
        ('{"relevant": []}', "messages"),
    ],
)
def test_a_bad_line_is_named_before_anything_runs(
    tmp_path: Path, store: Path, line: str, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path, request(), line)
    calls: list[int] = []
    with pytest.raises(ValidationError) as caught:
        replayed(file, store, progress=lambda done, _: calls.append(done))
    assert "requests.jsonl:2" in str(caught.value)
    assert named in str(caught.value)
    assert calls == []


def test_a_file_or_a_store_that_is_missing(tmp_path: Path, store: Path) -> None:
    with pytest.raises(NotFoundError, match="file not found"):
        replayed(tmp_path / "gone.jsonl", store)
    with pytest.raises(NotFoundError):
        replayed(written(tmp_path, request()), tmp_path / "nowhere")
    for path in ("a\0b", 5, "x" * 5_000):
        with pytest.raises(ValidationError, match="file"):
            replayed(path, store)  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="at least one line"):
        replayed(written(tmp_path, " "), store)


def test_progress_counts_both_sides(tmp_path: Path, store: Path) -> None:
    calls: list[tuple[int, int | None]] = []
    file = written(tmp_path, request(), request("Who waters tomatoes?"))
    replayed(file, store, progress=lambda done, of: calls.append((done, of)))
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]

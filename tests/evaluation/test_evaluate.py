"""`vestig.evaluate`: labels, ranks, confidence and switches."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

import vestig
from loopback_messages import LoopbackMessages
from vestig.errors import ConfigError, NotFoundError, ValidationError
from vestig.evaluation.evaluate import columns
from vestig.testing import FrozenClock, HashingEmbedder

Rows = Sequence[dict[str, Any]]
LINES = {
    "garden": (
        ("2025-03-01T09:00:00", "The red key opens the shed behind the greenhouse"),
        ("2025-03-02T09:00:00", "Tomatoes need watering every second evening"),
        ("2025-03-06T09:00:00", "Compost goes into the wooden box near the gate"),
    ),
    "harbour": (
        ("2025-04-01T09:00:00", "The blue key opens the boat house"),
        ("2025-04-04T09:00:00", "Nets are mended in the loft"),
    ),
}


def units() -> list[dict[str, Any]]:
    """A corpus; ids repeat between conversations."""
    return [
        {"id": str(n), "text": text, "timestamp": moment, "conversation": name, "speaker": "Ada"}
        for name, lines in LINES.items()
        for n, (moment, text) in enumerate(lines)
    ]


def ask(text: str, *relevant: str, scope: str = "garden", **more: Any) -> dict[str, Any]:
    return {"text": text, "relevant": list(relevant), "conversation": scope, **more}


ASKED = (
    ask("which key opens the shed?", "0", category="keys"),
    ask("how often do tomatoes need watering?", "1", date="2025-03-10"),
    ask("which key opens the boat house?", "0", scope="harbour", category="keys"),
)


def written(tmp_path: Path, corpus: Rows, queries: Rows, *, packed: bool = False) -> Path:
    folder = tmp_path / "labelled"
    folder.mkdir()
    for stem, rows in (("corpus", corpus), ("queries", queries)):
        raw = "\n".join(map(json.dumps, rows)).encode()
        if packed:
            (folder / f"{stem}.jsonl.gz").write_bytes(gzip.compress(raw))
        else:
            (folder / f"{stem}.jsonl").write_bytes(raw)
    return folder


def evaluated(path: Path, **options: Any) -> Any:
    return vestig.evaluate(path, embedder=HashingEmbedder(), **options)


@pytest.mark.parametrize("packed", [False, True])
def test_questions_are_asked_of_their_conversation(tmp_path: Path, packed: bool) -> None:
    report = evaluated(written(tmp_path, units(), ASKED, packed=packed))
    assert (report.questions, report.unanswerable, report.memories) == (3, 0, 5)
    assert report.warnings == ()
    (row,) = report.rows
    assert row.name == "default"
    assert row.metrics["hit@1"].mean == row.metrics["mrr"].mean == 1.0
    assert list(row.categories) == ["keys"]
    assert [one.ranks for one in row.questions] == [{"0": 1}, {"1": 1}, {"0": 1}]
    assert row.confidence is row.newest_first is row.unanswered is msgspec.UNSET


def test_metrics_by_hand() -> None:
    found = columns([{"a": 2, "b": None, "c": 7}, {"a": 1}, {"a": None}])
    assert found == {
        "hit@1": [0.0, 1.0, 0.0],
        "recall@1": [0.0, 1.0, 0.0],
        "recall@5": [pytest.approx(1 / 3), 1.0, 0.0],
        "recall@10": [pytest.approx(2 / 3), 1.0, 0.0],
        "mrr": [0.5, 1.0, 0.0],
    }


def test_a_switch_is_a_row_with_its_differences(tmp_path: Path) -> None:
    folder = written(tmp_path, units(), ASKED)
    upside_down = {f"ranking.weights.all.{term}": -8.0 for term in ("topic", "words")}
    twice = {"recall.profile": "baseline"}
    report = evaluated(folder, switches=[upside_down, twice, twice])
    assert [row.name for row in report.rows][2:] == ['recall.profile="baseline"']
    changed = report.rows[1]
    assert changed.overrides == upside_down
    base = report.rows[0].metrics["mrr"].mean
    assert changed.differences["mrr"].delta == pytest.approx(changed.metrics["mrr"].mean - base)
    assert report.rows[0].differences == {}


def test_confidence_is_measured_on_questions_that_nothing_answers(tmp_path: Path) -> None:
    asked = (*ASKED, ask("who won the race of 1987?"), ask("where is Lisbon?"))
    report = evaluated(written(tmp_path, units(), asked), switches=[{"recall.profile": "baseline"}])
    assert report.unanswerable == 2
    default, baseline = report.rows
    assert default.confidence.questions == 5
    assert default.confidence.auroc == 1.0
    assert len(default.questions) == 5
    assert default.metrics["hit@1"].mean == 1.0, "of those that have an answer"
    assert default.unanswered == 1.0, "no judge reads, so that recall is never silent"
    assert baseline.confidence is msgspec.UNSET, "it has none"


def test_what_is_current_should_stand_above_what_it_replaced(tmp_path: Path) -> None:
    corpus = [
        {"id": "old", "text": "The oven man comes on Mondays", "timestamp": "2026-01-05"},
        {"id": "new", "text": "The oven man comes on Thursdays", "timestamp": "2026-03-05"},
    ]
    question = {"text": "when does the oven man come?", "relevant": ["new"], "outdated": ["old"]}
    swapped = {**question, "relevant": ["old"], "outdated": ["new"]}
    report = evaluated(written(tmp_path, corpus, [question, swapped]))
    assert report.rows[0].newest_first == 0.5


def test_as_of_uses_nothing_later(tmp_path: Path) -> None:
    asked = ask("key", "0", "2", date="2025-03-02", as_of=True)
    (row,) = evaluated(written(tmp_path, units(), [asked])).rows
    assert row.questions[0].ranks["2"] is None
    assert row.questions[0].ranks["0"] is not None


def test_a_question_without_date_is_asked_at_the_end_of_its_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Any, Any]] = []
    plain = vestig.Vestig.recall

    def recall(self: Any, query: str, **fields: Any) -> Any:
        if fields.get("all"):
            seen.append((fields["scope"], fields["query_time"]))
        return plain(self, query, **fields)

    monkeypatch.setattr(vestig.Vestig, "recall", recall)
    evaluated(written(tmp_path, units(), ASKED))
    assert seen == [
        ("garden", datetime(2025, 3, 6, 9, tzinfo=UTC)),
        ("garden", "2025-03-10"),
        ("harbour", datetime(2025, 4, 4, 9, tzinfo=UTC)),
    ]


def test_a_unit_counts_wherever_its_memories_stand(tmp_path: Path) -> None:
    """A long one is many memories, and two of one text are one."""
    filler = " ".join(f"filler{n} words about nothing" for n in range(143))
    long = {**units()[0], "id": "long", "text": f"{filler} the violet lantern hangs in the mill"}
    twin = {**units()[1], "id": "twin"}
    asked = [ask("violet lantern in the mill", "long"), ask("watering of tomatoes", "1", "twin")]
    report = evaluated(written(tmp_path, [*units(), long, twin], asked))
    assert report.memories > 6, "the long unit was split"
    assert [one.ranks for one in report.rows[0].questions] == [{"long": 1}, {"1": 1, "twin": 1}]


def test_a_file_is_asked_of_a_store_that_is_only_read(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with vestig.open(store, clock=FrozenClock(), embedder=HashingEmbedder()) as opened:
        id = opened.commit(LINES["garden"][0][1], scope="garden").memory_id
        opened.commit(LINES["garden"][1][1], provenance={"artifact_ref": "note-1"})
        seq = opened.admin.stats().seq
    asked = (
        {"id": "q", "text": "which key opens the shed?", "relevant": [id], "scope": "garden"},
        {"text": "how often do tomatoes need watering?", "relevant": ["note-1"]},
        {"text": "how often do tomatoes need watering?", "relevant": ["note-1"], "scope": "garden"},
    )
    file = tmp_path / "mine.jsonl"
    file.write_text("\n".join(map(json.dumps, asked)))
    report = evaluated(file, store=store)
    assert report.seq == seq
    assert [one.ranks for one in report.rows[0].questions] == [
        {id: 1},
        {"note-1": 1},
        {"note-1": None},
    ]
    assert [one.id for one in report.rows[0].questions] == ["q", "mine.jsonl:2", "mine.jsonl:3"]
    assert report.warnings == ("1 labels name no memory: they cannot be found",)
    with vestig.open(store, embedder=HashingEmbedder()) as opened:
        assert opened.admin.stats().seq == seq
    with pytest.raises(NotFoundError):
        evaluated(file, store=tmp_path / "nowhere")
    with pytest.raises(ValidationError, match="none beside a folder"):
        evaluated(written(tmp_path, units(), ASKED), store=store)


@pytest.mark.parametrize(
    ("switch", "error"),
    [
        ({"recall.profile": "nobody"}, ConfigError),
        ({"ranking.no_such_key": 1}, ConfigError),
        ({"ranking.base": 3}, ConfigError),
        ({"hygiene.min_chars": 3}, ConfigError),
    ],
)
def test_a_switch_that_no_recall_takes_is_refused_first(
    tmp_path: Path, switch: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        evaluated(tmp_path / "nowhere", switches=[switch])


def test_progress_grows_to_its_end(tmp_path: Path) -> None:
    calls: list[tuple[int, int | None]] = []
    folder = written(tmp_path, units(), ASKED)
    switches = [{"judge.enabled": False}]
    evaluated(folder, switches=switches, progress=lambda done, of: calls.append((done, of)))
    assert calls == [(done, 6) for done in range(1, 7)]


def test_two_runs_find_the_same(tmp_path: Path) -> None:
    folder = written(tmp_path, units(), ASKED)
    assert evaluated(folder) == evaluated(folder)


def test_no_language_model_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key")
    with LoopbackMessages("[]") as server:
        config = {
            "llm.provider": "anthropic",
            "llm.base_url": server.base_url,
            "enrichment.mode": "inline",
            "recall.query_entities": "llm",
        }
        report = evaluated(written(tmp_path, units(), ASKED), config=config)
        assert server.requests == []
    assert report.settings["llm.provider"] == "none", "the report says what was measured"


def test_ranks_are_of_everything_and_silence_is_measured_beside_them(tmp_path: Path) -> None:
    asked = (*ASKED, ask("who won the race of 1987?"))
    folder = written(tmp_path, units(), asked)
    switches = [{"recall.silence": 0.02}, {"recall.silence": 1.0}]
    default, silent, loud = evaluated(folder, switches=switches).rows
    for row in (default, silent, loud):
        assert row.metrics["hit@1"].mean == 1.0
        assert row.questions == default.questions
    assert (default.answered, default.unanswered) == (1.0, 1.0), "no judge reads"
    assert (silent.unanswered, loud.answered, loud.unanswered) == (0.0, 1.0, 1.0)

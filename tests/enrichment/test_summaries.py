"""Summaries of documents by a language model."""

from __future__ import annotations

import io
import itertools
from typing import Any

import pytest

import vestig
from forget_checks import folder_of
from read_by_model import QUIET, document, noted, shown
from scripted import Opener
from traces import holding
from vestig.errors import ModelCallError
from vestig.ports import ModelRequest
from vestig.results import CognifyReport
from vestig.testing import ScriptedModel
from vestig.types import EventType, Kind, Memory, Status

TEXTS = [f"Valve {n} of the pump house is opened with key {n * 13}" for n in range(1, 8)]
SUMMARY: dict[str, Any] = {
    "title": "How the seven valves of the old pump house are opened",
    "overview": "The page lists valves and their keys. It is for the night watch.",
    "bullets": [
        {"text": "The first two valves have keys of their own", "from": [1, 2]},
        {"text": "Nothing cites this", "from": []},
        {"text": "The last one is opened last", "from": [7, 99]},
    ],
    "themes": ["valves", "keys", "", "pump house", "valves"],
}


def summing(answer: Any = None, **options: Any) -> ScriptedModel:
    """A model that reads every passage and sums every document up in this way."""

    def answers(request: ModelRequest) -> Any:
        if request.purpose == "extract_claims":
            return noted([{**one, "author": "It"} for one in shown(request)])
        given = SUMMARY if answer is None else answer
        return given(request) if callable(given) else given

    return ScriptedModel(answers, **options)


def asked(model: ScriptedModel) -> list[ModelRequest]:
    return [one for one in model.requests if one.purpose == "summarize_document"]


def summaries(store: vestig.Vestig, *statuses: str) -> list[Memory]:
    chosen = {"kinds": ["SUMMARY"], "statuses": list(statuses or ("active",))}
    return list(store.list(chosen, limit=100))


def covered(store: vestig.Vestig, id: str) -> set[str]:
    edges = [one.edge for one in store.graph.edges(id, edge_type="SUMMARIZES", limit=100)]
    return {edge.to_id for edge in edges if edge.from_id == id}


def opened(opener: Opener, model: ScriptedModel, **options: Any) -> vestig.Vestig:
    return opener(llm=model, config={**QUIET, **options.pop("config", {})}, **options)


def test_a_document_that_was_read_is_summed_up_once(opener: Opener) -> None:
    model = summing()
    store = opened(opener, model)
    source, ids = document(store, TEXTS, title="Pump house")
    report = store.cognify()
    assert (report.windows_read, report.summaries_created, report.items_dropped) == (1, 1, 1)
    [request] = asked(model)
    assert "[1] Valve 1 of the pump house" in request.user
    assert "Pump house" in request.user
    [made] = summaries(store)
    assert (made.kind, made.author, made.session_id) == (Kind.SUMMARY, None, None)
    assert made.content.startswith(SUMMARY["title"])
    assert "- The last one is opened last" in made.content
    assert "Nothing cites this" not in made.content
    assert made.metadata["themes"] == ["valves", "keys", "pump house"]
    assert (made.metadata["title"], made.metadata["memory_count"]) == (SUMMARY["title"], 3)
    assert made.temporal_stability.value == "static"
    assert covered(store, made.id) == {ids[0], ids[1], ids[6]}
    detail = store.show(made.id)
    assert [one.id for one in detail.sources] == [source]
    kinds = [one.event_type for one in store.events(made.id)]
    assert kinds == [EventType.ADD, EventType.SUMMARY_CREATED]
    edges = [one.edge for one in store.graph.edges(made.id, limit=100)]
    assert {edge.edge_type for edge in edges} == {"SUMMARIZES", "PRODUCED"}
    assert made.id in {hit.id for hit in store.recall("how are the valves opened", limit=20)}
    assert store.cognify() == CognifyReport()
    assert store.admin.doctor().exit_code == 0


def test_few_passages_and_documents_that_were_not_read_are_not_summed_up(opener: Opener) -> None:
    model = summing()
    store = opened(opener, model)
    document(store, TEXTS[:5])
    assert store.cognify().summaries_created == 0
    store.close()
    for key in ({"summaries.enabled": False}, {"summaries.min_passages": 8}):
        other = opened(opener, model, path="other", config=key)
        if not other.count():
            document(other, TEXTS)
        assert other.cognify().summaries_created == 0
        other.close()
    assert asked(model) == []
    half = opened(opener, model, path="half", config={"cognify.window_chars": 60})
    document(half, TEXTS)
    report = half.cognify(limit=3)
    assert (report.windows_read, report.summaries_created) == (3, 0)
    assert half.cognify(limit=4).summaries_created == 0
    assert half.cognify(limit=1).summaries_created == 1


def test_a_changed_document_has_a_new_summary(opener: Opener) -> None:
    model = summing(
        lambda request: {**SUMMARY, "overview": f"It has {request.user.count('] Valve')} valves."}
    )
    store = opened(opener, model)
    first, ids = document(store, TEXTS)
    store.cognify()
    [old] = summaries(store)
    store.deprecate(ids[6])
    document(store, [*TEXTS[:6], "The seventh valve was walled up", "A wall of brick"],
             previous=first)  # fmt: skip
    assert store.cognify().summaries_created == 1
    [new] = summaries(store)
    assert new.id != old.id
    before = store.get(old.id)
    assert (before.status, before.superseded_by) == (Status.SUPERSEDED, new.id)
    assert store.cognify() == CognifyReport()
    assert store.admin.doctor().exit_code == 0


def test_a_summary_that_says_the_same_stays(opener: Opener) -> None:
    store = opened(opener, summing())
    first, ids = document(store, TEXTS)
    store.cognify()
    [old] = summaries(store)
    store.deprecate(ids[3])
    changed = [*TEXTS[:3], "The fourth valve was walled up", *TEXTS[4:]]
    _, now = document(store, changed, previous=first)
    assert store.cognify().summaries_created == 1
    assert [one.id for one in summaries(store)] == [old.id]
    assert covered(store, old.id) == {now[0], now[1], now[6]}
    assert store.cognify() == CognifyReport()


def test_a_summary_that_says_the_same_of_other_passages_covers_these(opener: Opener) -> None:
    model = summing()
    store = opened(opener, model)
    first, ids = document(store, TEXTS)
    store.cognify()
    [old] = summaries(store)
    store.deprecate(ids[0])
    _, now = document(store, ["The first valve is new", *TEXTS[1:]], previous=first)
    assert store.cognify().summaries_created == 1
    [new] = summaries(store)
    assert new.content == old.content
    assert covered(store, new.id) == {now[0], now[1], now[6]}
    assert store.cognify() == CognifyReport()
    assert store.admin.doctor().exit_code == 0


@pytest.mark.parametrize("stands", ["summary", "memory", "archived"])
def test_a_text_that_stands_elsewhere_costs_nothing_else(opener: Opener, stands: str) -> None:
    model = summing(lambda r: SUMMARY if "Valve" in r.user else {**SUMMARY, "title": "Locks"})
    store = opened(opener, model)
    document(store, TEXTS, title="Pumps")
    store.cognify()
    [old] = summaries(store)
    if stands == "memory":
        content = old.content
        store.forget(old.id)
        store.commit(content, enrich=False)
    elif stands == "archived":
        store.archive(old.id)
    document(store, [f"Valve {n} of the wash house" for n in range(8)], title="Wash house")
    document(store, [f"Lock {n} of the canal" for n in range(8)], title="Canal")
    report = store.cognify()
    made = summaries(store)
    if stands == "summary":
        assert (report.summaries_created, report.errors) == (2, ())
        assert old.id in {one.id for one in made}
        assert {len(store.show(one.id).sources) for one in made} == {1, 2}
        assert store.cognify() == CognifyReport()
    else:
        assert (report.summaries_created, len(report.errors)) == (1, 2)
        assert all("is stored already" in one.message for one in report.errors)
    assert store.admin.doctor().exit_code in (0, 1)


def test_a_summary_of_what_was_withdrawn_is_made_again(opener: Opener) -> None:
    model = summing()
    store = opened(opener, model)
    _, ids = document(store, [*TEXTS, "Valve 8 of the pump house is locked"])
    store.cognify()
    store.deprecate(ids[3])  # which the summary does not cite
    assert store.cognify().summaries_created == 0
    store.deprecate(ids[0])
    assert store.cognify().summaries_created == 1


@pytest.mark.parametrize(
    "bad",
    [
        {**SUMMARY, "bullets": [{"text": "Nothing", "from": [99]}]},
        {**SUMMARY, "bullets": []},
        {**SUMMARY, "overview": " "},
        {"overview": "It is about valves"},
    ],
)
def test_a_summary_that_cites_nothing_adds_nothing(opener: Opener, bad: Any) -> None:
    store = opened(opener, summing(bad))
    document(store, TEXTS)
    report = store.cognify()
    assert (report.summaries_created, len(report.errors)) == (0, 1)
    assert (report.windows_read, report.windows_failed) == (1, 0)
    assert summaries(store) == []
    store.close()
    store = opened(opener, summing())
    assert store.cognify().summaries_created == 1
    assert store.admin.doctor().exit_code == 0


def test_a_long_document_is_shown_evenly(opener: Opener) -> None:
    model = summing({**SUMMARY, "bullets": [{"text": "It goes on", "from": [1]}]})
    store = opened(opener, model)
    document(store, [f"Part {n}. " + f"It goes on and on {n} times. " * 90 for n in range(1, 31)])
    assert store.cognify().summaries_created == 1
    [request] = asked(model)
    numbers = [n for n in range(1, 31) if f"[{n}] Part {n}." in request.user]
    assert len(request.user) < 26_000
    assert (numbers[0], len(numbers)) == (1, 9)
    assert {b - a for a, b in itertools.pairwise(numbers)} == {3, 4}


def test_a_failing_model_leaves_the_document_to_the_next_run(opener: Opener) -> None:
    def fail(_: ModelRequest) -> Any:
        raise ModelCallError("scripted: no", status=400)

    store = opened(opener, summing(fail))
    document(store, TEXTS)
    report = store.cognify()
    assert (report.windows_read, report.summaries_created, len(report.errors)) == (1, 0, 1)
    store.close()
    assert opened(opener, summing()).cognify().summaries_created == 1


def test_a_dry_run_prices_summaries_that_are_due(opener: Opener) -> None:
    model = summing()
    store = opened(opener, model, config={"summaries.enabled": False})
    document(store, TEXTS)
    store.cognify()
    store.close()
    store = opened(opener, model)
    planned = store.cognify(dry_run=True)
    assert (planned.windows_left, planned.costs[0].calls) == (0, 1)
    assert asked(model) == []
    assert store.cognify().costs[0].calls == 1


# --- forgetting ---------------------------------------------------------------------------------


def test_a_summary_goes_with_what_it_covers_and_leaves_no_byte(opener: Opener) -> None:
    store = opened(opener, summing())
    _, ids = document(store, TEXTS)
    store.cognify()
    [made] = summaries(store)
    report = store.forget(ids[0])
    assert report.summaries_removed == (made.id,)
    assert (report.residues, summaries(store)) == (0, [])
    for text in (SUMMARY["title"], SUMMARY["overview"], "The last one is opened last"):
        assert holding(folder_of(store), text.encode()) == []
    assert store.cognify().summaries_created == 1
    [again] = summaries(store)
    assert ids[0] not in covered(store, again.id)
    assert store.admin.doctor().exit_code == 0


def test_a_summary_may_be_kept_and_is_named(opener: Opener) -> None:
    store = opened(opener, summing())
    _, ids = document(store, TEXTS)
    store.cognify()
    [made] = summaries(store)
    planned = store.forget(ids[0], summaries="keep", dry_run=True)
    report = store.forget(ids[0], summaries="keep")
    assert planned.residual_holders == report.residual_holders == (made.id,)
    assert (report.summaries_removed, report.residues) == ((), 0)
    assert [one.id for one in summaries(store)] == [made.id]
    assert covered(store, made.id) == {ids[1], ids[6]}
    assert holding(folder_of(store), TEXTS[0].encode()) == []
    assert store.forget(ids[2], summaries="keep").residual_holders == ()
    with pytest.raises(vestig.ValidationError, match="summaries"):
        store.forget(ids[1], summaries="hide")
    assert store.admin.doctor().exit_code == 0


def exported(store: vestig.Vestig) -> bytes:
    out = io.BytesIO()
    store.export(out)
    return out.getvalue()


def test_no_older_export_brings_a_summary_back(opener: Opener) -> None:
    store = opened(opener, summing())
    _, ids = document(store, TEXTS)
    store.cognify()
    whole = exported(store)
    other = opener("other")
    other.import_(io.BytesIO(whole), format="export")
    assert exported(other) == whole
    assert len(summaries(other)) == 1
    other.forget(ids[1])
    other.import_(io.BytesIO(whole), format="export", merge=True)
    assert summaries(other) == []
    assert other.count({"kinds": ["MEMORY"]}) == 2 * (len(TEXTS) - 1)
    assert other.admin.doctor().exit_code == 0

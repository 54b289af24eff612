"""Whatever was said, read, changed and forgotten: claims, relations and summaries follow."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import vestig
from read_by_model import QUIET, claim, document, entity, found, say, shown
from traces import holding
from vestig.ports import ModelRequest
from vestig.testing import FrozenClock, HashingEmbedder, ScriptedModel
from vestig.types import Claim, Memory, Status

PEOPLE, FIRMS = ("Ann", "Bo", "Cleo"), ("Acme", "Globex", "Initech")
ALL = {"statuses": ["active", "archived", "superseded", "deprecated"]}

acts = st.lists(
    st.tuples(
        st.sampled_from(
            (
                "say",
                "say",
                "say",
                "page",
                "change",
                "read",
                "read",
                "read",
                "deprecate",
                "archive",
                "unarchive",
                "forget",
                "forget",
                "keep",
                "merge",
                "reopen",
            )
        ),
        st.integers(0, 60),
    ),
    min_size=6,
    max_size=22,
)


def text_of(number: int) -> str:
    """A sentence in its own words."""
    who, firm = PEOPLE[number % 3], FIRMS[number // 3 % 3]
    return f"{who} told note {number * 7919:05x} of {firm} to the lantern keeper {number * 31:x}"


def read(request: ModelRequest) -> Any:
    """Each text states who advises whom; every third one is said by several."""
    if request.purpose == "summarize_document":
        points = [{"text": f"Point {n} of it", "from": [n]} for n in (1, 2, 4)]
        return {"overview": f"It has {request.user.count('told note')} notes.", "bullets": points}
    items: list[dict[str, Any]] = []
    for one in shown(request):
        words = one["text"].split()
        who, firm, number = words[0], words[5], one["number"]
        items += [entity(who), entity(firm, "ORG")]
        kind = "WORKS_AT" if len(words[3]) % 2 else "ADVISES"
        items.append(
            claim(f"{who} is with {firm} by note {words[3][:1]}", number, subject=who, object=firm,
                  fact_type=kind, attributes={"organization": firm}, quote=words[3])
        )  # fmt: skip
    return found(*items)


class World:
    """A store, and what was forgotten in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = FrozenClock()
        self.gone: list[str] = []
        self.version: dict[int, str] = {}
        self.open()

    def open(self) -> None:
        config = {**QUIET, "enrichment.workers": 1, "cognify.turns": 3, "summaries.min_passages": 4}
        self.store = vestig.open(
            self.folder / "store", embedder=HashingEmbedder(64), clock=self.clock, config=config,
            llm=ScriptedModel(read),
        )  # fmt: skip

    def act(self, name: str, number: int) -> None:
        self.clock.move(seconds=1)
        store = self.store
        memories = [one for one in store.list(ALL, limit=1000) if one.kind.value == "MEMORY"]
        chosen = memories[number % len(memories)] if memories else None
        if name == "say":
            say(store, [text_of(number)], session=f"s{number % 2}", start=number)
        elif name in ("page", "change"):
            self.page(number % 2, number if name == "change" else 0)
        elif name == "read":
            store.cognify()
        elif name == "reopen":
            store.close()
            self.open()
        elif name == "merge":
            self.merge(number)
        elif chosen is not None:
            self.on_memory(name, chosen)

    def page(self, at: int, change: int) -> None:
        numbers = [100 + 10 * at + n for n in range(4)]
        if change:
            numbers[change % 4] = 200 + change
        texts = [text_of(number) for number in numbers]
        before = self.version.get(at, "")
        active = self.store.list({"origin_types": ["document"], "kinds": ["MEMORY"]}, limit=1000)
        for one in active if before else ():
            if one.title == f"Page {at}" and one.content not in texts:
                self.store.deprecate(one.id)
        self.version[at], _ = document(self.store, texts, title=f"Page {at}", previous=before)

    def merge(self, number: int) -> None:
        listed = [one.entity for one in self.store.graph.entities(limit=100)]
        alike = [one for one in listed if one.entity_type == "PERSON"]
        if len(alike) > 1:
            self.store.graph.merge_entities(
                alike[number % len(alike)].id, alike[(number + 1) % len(alike)].id
            )

    def on_memory(self, name: str, one: Memory) -> None:
        live = one.status in (Status.ACTIVE, Status.ARCHIVED)
        if name == "deprecate" and live:
            self.store.deprecate(one.id)
        elif name == "archive" and live:
            self.store.archive(one.id)
        elif name == "unarchive" and live:
            self.store.unarchive(one.id)
        elif name in ("forget", "keep"):
            report = self.store.forget(one.id, summaries="keep" if name == "keep" else "delete")
            assert report.residues == 0
            if one.session_id is not None:
                self.gone.append(one.content.split()[3])

    # --- checks --------------------------------------------------------------------------------

    def check(self) -> None:
        store = self.store
        if not store.count(ALL):
            return
        stored = {one.id: one for one in store.list(ALL, limit=1000)}
        claims = {id: store.show(id, include_expired=True).claim for id in stored}
        self.check_claims(stored, {id: one for id, one in claims.items() if one is not None})
        for one in stored.values():
            if one.kind.value == "SUMMARY":
                edges = [e.edge for e in store.graph.edges(one.id, edge_type="SUMMARIZES")]
                assert {edge.to_id for edge in edges} <= set(stored)
                kinds = [event.event_type.value for event in store.events(one.id)]
                assert kinds[:2] == ["ADD", "SUMMARY_CREATED"]
        assert store._session.ledger.verify_all() == []
        findings = {one.check for one in store.admin.doctor().findings if one.level != "ok"}
        assert findings <= {"jobs"}, findings
        live = "\n".join(one.content for one in stored.values())
        for word in self.gone:
            if word not in live:
                assert holding(self.folder / "store", word.encode()) == [], word
        self.check_reading()
        self.check_export()

    def check_claims(self, stored: dict[str, Memory], claims: dict[str, Claim]) -> None:
        """Evidence stands in the store, and relations are those of active claims."""
        stated = set()
        for id, one in claims.items():
            assert one.evidence
            assert {str(e.source_id) for e in one.evidence} <= set(stored)
            assert all(e.snippet in stored[str(e.source_id)].content for e in one.evidence)
            if one.subject_id and one.object_id and stored[id].status is Status.ACTIVE:
                ends = [self.store.graph.entity(end).entity.id
                        for end in (one.subject_id, one.object_id)]  # fmt: skip
                stated.add((ends[0], one.fact_type, ends[1]))
        edges = [e.edge for e in self.store.graph.edges(edge_type="RELATION", limit=1000)]
        assert {(e.from_id, str(e.relation), e.to_id) for e in edges} == stated
        assert len(edges) == len(stated)

    def check_reading(self) -> None:
        """A second reading finds nothing to ask."""
        while True:
            report = self.store.cognify()
            assert not report.errors
            if not report.windows_read and not report.summaries_created:
                break
        model = self.store._session.models._model
        asked = len(model.requests)  # type: ignore[union-attr]
        assert self.store.cognify().windows_read == 0
        assert len(model.requests) == asked  # type: ignore[union-attr]

    def check_export(self) -> None:
        first = io.BytesIO()
        self.store.export(first)
        other = vestig.open(self.folder / "other", embedder=HashingEmbedder(64), clock=self.clock)
        with other:
            other.import_(io.BytesIO(first.getvalue()), format="export")
            again = io.BytesIO()
            other.export(again)
        assert again.getvalue() == first.getvalue()


@settings(max_examples=8, deadline=None, derandomize=True, phases=[Phase.generate],
          suppress_health_check=[HealthCheck.too_slow])  # fmt: skip
@given(acts)
def test_what_was_read_follows_what_is_stored(done: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        try:
            for name, number in done:
                world.act(name, number)
            world.check()
        finally:
            world.store.close()

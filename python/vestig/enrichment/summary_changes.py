"""The summary of a document that a language model writes: the part of its answer that is kept, and
the rows that it becomes.

Invariant: what a summary adds, what it supersedes and the end of its job are one transaction; it
covers the passages that it cites and no others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from vestig.arguments import LABEL_CHARS_MAX
from vestig.changes import ChangeSet, NewEdge, NewEvent
from vestig.commit.item import Item, extract
from vestig.commit.pipeline import prepare_part
from vestig.commit.rows import Rows, add_memory
from vestig.commit.vectors_ahead import embedded_as
from vestig.errors import ModelCallError
from vestig.ids import new_id
from vestig.language.text_forms import CONTROL_CHARACTERS
from vestig.memories.states import Replacement, Successor, replace
from vestig.session.embedding import embed_memories, remember_identity
from vestig.session.model_calls import ParsedAnswer
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import Job, JobResult
from vestig.times import from_us, to_us
from vestig.types import EdgeType, EventType, Kind, Memory, Status

PROMPT: Final = "summarize_document"
SOURCE: Final = "summary_generation"
_BULLETS_MAX: Final = 10
_CITED_MAX: Final = 3
_THEMES_MAX: Final = 8
_THEME_CHARS: Final = 100
_TITLE_CHARS: Final = 200


class Bullet(msgspec.Struct, frozen=True, kw_only=True):
    """A point of a summary; `sources`: numbers of the passages that say it."""

    text: str
    sources: list[int] = msgspec.field(name="from", default_factory=list)


class SummaryAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A summary as the model gives it."""

    overview: str
    title: str = ""
    bullets: list[Bullet] = []
    themes: list[str] = []


class KeptSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The kept part of a summary; `cited`: ids of passages, in the order of the document."""

    title: str
    text: str
    themes: tuple[str, ...]
    cited: tuple[str, ...]
    dropped: int


def kept_summary(
    answer: SummaryAnswer, passages: Mapping[int, str], title: str
) -> KeptSummary | None:
    """The kept part of a summary; None where no point of it cites a passage.

    Args:
        passages: ids by number.
        title: of the document, for want of another.

    Example:
        >>> bullets = [Bullet(text="It is red", sources=[1, 9]), Bullet(text="It is", sources=[9])]
        >>> kept = kept_summary(SummaryAnswer(overview="A boat.", bullets=bullets), {1: "a"}, "B")
        >>> kept.text, kept.cited, kept.dropped
        ('B\\n\\nA boat.\\n\\n- It is red', ('a',), 1)
    """
    points, cited, dropped = list[str](), set[int](), 0
    for one in answer.bullets:
        numbers = [n for n in dict.fromkeys(one.sources) if n in passages][:_CITED_MAX]
        text = _line(one.text)
        if not text or not numbers or len(points) == _BULLETS_MAX:
            dropped += 1
            continue
        points.append(f"- {text}")
        cited.update(numbers)
    overview, own = _line(answer.overview), _line(answer.title)[:_TITLE_CHARS] or title
    if not points or not overview:
        return None
    themes = [_line(one)[:_THEME_CHARS] for one in answer.themes]
    return KeptSummary(
        title=own,
        text="\n\n".join([part for part in (own, overview, "\n".join(points)) if part]),
        themes=tuple(dict.fromkeys(one for one in themes if one))[:_THEMES_MAX],
        cited=tuple(passages[n] for n in sorted(cited)),
        dropped=dropped,
    )


def _line(text: str) -> str:
    return " ".join(CONTROL_CHARACTERS.sub("", text).split())[:LABEL_CHARS_MAX]


class SummaryWriting:
    """Writes the summary of a document.

    Args:
        passages: of the document by number.
        source: id of the document's source.
        older: ids of the summaries that it takes the place of.
    """

    def __init__(
        self,
        session: Session,
        passages: Mapping[int, Memory],
        source: str,
        older: Sequence[str],
        job: Job,
    ) -> None:
        self._session = session
        self._passages = {one.id: one for one in passages.values()}
        self._numbers = {number: one.id for number, one in passages.items()}
        self._source = source
        self._older = tuple(older)
        self._job = job
        # whether a summary of this version is stored
        self.is_written = False

    def write(self, asked: ParsedAnswer[SummaryAnswer], title: str) -> int:
        """Writes it, and gives how many points were dropped.

        Raises:
            ModelCallError: no point of it cites a passage, or its text cannot be kept.
            ProviderError: the embedder failed.
        """
        kept = kept_summary(asked.value, self._numbers, title)
        if kept is None:
            raise ModelCallError("the summary cites no passage of the document")
        item = self._item(kept, asked.model)
        remember_identity(self._session)
        [(item.vector, item.pieces)], _ = embed_memories(self._session, [embedded_as(item)])
        self._session.ledger.finish_jobs(
            [
                JobResult(
                    job_id=self._job.id,
                    changes=lambda view: self._changes(view, item, kept, asked),
                )
            ],
            self._session.now_us(),
        )
        return kept.dropped + asked.dropped

    def _item(self, kept: KeptSummary, model: str) -> Item:
        first = next(iter(self._passages.values()))
        given = {
            "content": kept.text,
            "title": kept.title or None,
            "source": SOURCE,
            "actor": model,
            "namespace": first.namespace,
            "scope": first.scope,
            "temporal_stability": "static",
            "t_ref": from_us(max(to_us(one.t_valid) for one in self._passages.values())),
            "enrich": False,
        }
        part = prepare_part(self._session, [given], whole={0})
        if not part.items or part.items[0][1].outcome is not None:
            raise ModelCallError("the text of the summary cannot be stored")
        item = part.items[0][1]
        extract(item, self._session.config.settings, model=False)
        return item

    def _changes(
        self, view: LedgerView, item: Item, kept: KeptSummary, asked: ParsedAnswer[SummaryAnswer]
    ) -> ChangeSet | None:
        """The rows, decided inside the transaction; None where a passage that it cites is gone.

        Raises:
            ModelCallError: the text is stored already, and is no summary that is read.
        """
        space = item.request.namespace
        now = {one.id: one.status for one in view.memories(space, kept.cited)}
        if any(now.get(id) is not Status.ACTIVE for id in kept.cited):
            return None
        older = [one for one in view.memories(space, self._older) if one.status is Status.ACTIVE]
        same = view.first_with_text(*item.text_key)
        if same is not None and (same.kind, same.status) != (Kind.SUMMARY, Status.ACTIVE):
            what = "is archived" if same.kind is Kind.SUMMARY else "is no summary"
            raise ModelCallError(
                f"the text of the summary is stored already, by {same.id}, which {what}"
            )
        self.is_written = True
        if same is not None:
            return self._covering(view, same, older, kept, asked)
        rows = Rows(now_us=self._session.now_us(), model=self._session.embedder.model)
        plain = add_memory(rows, item)
        memory = msgspec.structs.replace(
            plain,
            kind=Kind.SUMMARY,
            metadata={
                **plain.metadata,
                "title": kept.title,
                "themes": list(kept.themes),
                "memory_count": len(kept.cited),
            },
        )
        replaced = self._replaced(older, memory.id, to_us(memory.t_valid), asked)
        changes = rows.change_set(space)
        return msgspec.structs.replace(
            changes,
            sources=(),
            memories=(memory,),
            edges=self._edges(memory.id, kept),
            events=(
                *changes.events,
                self._created(memory.id, kept, asked),
                *(one.event for one in replaced),
            ),
            patches=tuple(one.patch for one in replaced),
            supersessions=tuple(one.record for one in replaced),
        )

    def _covering(
        self,
        view: LedgerView,
        same: Memory,
        older: Sequence[Memory],
        kept: KeptSummary,
        asked: ParsedAnswer[SummaryAnswer],
    ) -> ChangeSet:
        """The rows where an active summary says the same: it covers what this one cites, and no
        passage that was withdrawn."""
        space = same.namespace
        covers = view.outgoing(space, EdgeType.SUMMARIZES, [same.id])
        stored = view.memories(space, [edge.to_id for edge in covers])
        active = {one.id for one in stored if one.status is Status.ACTIVE}
        others = [one for one in older if one.id != same.id]
        replaced = self._replaced(others, same.id, to_us(same.t_valid), asked)
        return ChangeSet(
            namespace=space,
            edges=self._edges(same.id, kept),
            expired_edges=tuple(edge.id for edge in covers if edge.to_id not in active),
            events=tuple(one.event for one in replaced),
            patches=tuple(one.patch for one in replaced),
            supersessions=tuple(one.record for one in replaced),
        )

    def _replaced(
        self,
        older: Sequence[Memory],
        id: str,
        t_valid_us: int,
        asked: ParsedAnswer[SummaryAnswer],
    ) -> list[Replacement]:
        """The rows of the summaries that this one (id) takes the place of."""
        successor = Successor(id=id, t_valid_us=t_valid_us, source=SOURCE, actor=asked.model)
        now_us = self._session.now_us()
        return [
            replace(old, successor, reason="summary", t_invalid_us=None, now_us=now_us)
            for old in older
        ]

    def _edges(self, id: str, kept: KeptSummary) -> tuple[NewEdge, ...]:
        produced = NewEdge(
            id=new_id("edge"), from_id=self._source, to_id=id, edge_type=EdgeType.PRODUCED
        )
        covers = [
            NewEdge(id=new_id("edge"), from_id=id, to_id=one, edge_type=EdgeType.SUMMARIZES)
            for one in kept.cited
        ]
        return (produced, *covers)

    def _created(self, id: str, kept: KeptSummary, asked: ParsedAnswer[SummaryAnswer]) -> NewEvent:
        _, version, digest = asked.prompt_version.split("/")
        payload: dict[str, Any] = {
            "memory_count": len(kept.cited),
            "title": kept.title,
            "themes": list(kept.themes),
            "model_name": asked.model,
            "prompt_version": version,
            "prompt_hash": digest,
        }
        return NewEvent(
            id=new_id("evt"),
            memory_id=id,
            event_type=EventType.SUMMARY_CREATED,
            occurred_us=self._session.now_us(),
            source=SOURCE,
            actor=asked.model,
            payload=payload,
        )

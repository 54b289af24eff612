"""One commit on its way through the write path, and what its text holds."""

from __future__ import annotations

from typing import Any

import msgspec

from vestig.changes import StoredWindow
from vestig.commit import questions
from vestig.commit import text as stability
from vestig.commit.fact_guard import GuardText
from vestig.commit.fact_guard import prepare as prepare_guard
from vestig.commit.names import GivenEntity
from vestig.commit.rows import Arrival
from vestig.config.recall_sections import HydeSettings
from vestig.language import words
from vestig.language.names.analysed_text import AnalysedText
from vestig.language.time import expressions
from vestig.ports import LedgerView, Pieces
from vestig.session.session import Session
from vestig.times import to_us
from vestig.types import CommitOutcome, Memory

__all__ = ["Item", "arrival", "extract", "guard_of", "stored_guard", "text_key"]

# Texts near new ones tend to be the same few; each takes about a kilobyte.
GUARDS_KEPT_MAX = 4_096


class Item(msgspec.Struct, kw_only=True):
    """Set by the stages in this order."""

    request: Any  # commit.request.ValidRequest
    text: str
    content_hash: str
    reference_us: int
    warnings: list[str] = msgspec.field(default_factory=list)
    # extraction
    extracted: bool = False
    windows: tuple[StoredWindow, ...] = ()
    keywords: tuple[str, ...] = ()
    stability: Any = None
    guard: GuardText | None = None
    analysed: AnalysedText | None = None
    # the caller's names, with types of the ontology
    entities: tuple[GivenEntity, ...] = ()
    # hypothetical questions; None = not tried
    questions: tuple[str, ...] | None = None
    # embedding
    vector: bytes | None = None
    pieces: Pieces | None = None
    question_vectors: tuple[bytes, ...] = ()
    needs_vector: bool = False
    deferred: str | None = None
    # the end
    outcome: CommitOutcome | None = None
    error: Exception | None = None


def text_key(item: Item) -> tuple[Any, ...]:
    """Within one of these a text is stored once."""
    request = item.request
    return (request.namespace, request.scope, request.author, item.content_hash)


def extract(session: Session, item: Item) -> None:
    """Keywords, windows, stability: no store, no model."""
    if item.extracted:
        return
    item.extracted = True
    settings, given = session.config.settings, item.request
    found = expressions.find_windows(
        item.text, item.reference_us, zone=settings.time.zone, is_memory=True
    )
    item.windows = tuple(
        StoredWindow(
            text=one.text,
            start_us=one.window_start_us,
            end_us=one.window_end_us,
            grain=one.grain,
        )
        for one in found
        if one.resolved
    )
    own = words.keywords(
        item.text,
        limit=settings.keywords.max_per_memory,
        extra_stopwords=settings.keywords.stopwords,
    )
    item.keywords = tuple(dict.fromkeys([*own, *given.keywords]))
    item.stability = stability.derive(
        item.text, found, item.reference_us, given=given.temporal_stability
    )
    _ask(item, settings.m5.hyde)


def _ask(item: Item, hyde: HydeSettings) -> None:
    """Questions that the text answers: the caller's, else made by rules."""
    given, trigger = item.request.hypothetical_queries, item.request.trigger
    if not questions.is_allowed(trigger, hyde):
        if given is not None:
            why = (
                "m5.hyde.enabled is false"
                if not hyde.enabled
                else f"the trigger is none of {', '.join(hyde.allowed_triggers) or 'those allowed'}"
            )
            item.warnings.append(f"the hypothetical questions were left out: {why}")
        return
    if given is not None:
        item.questions = questions.clean(given, hyde.max_queries)
        lost = len(given) - len(item.questions)
        if lost:
            item.warnings.append(
                f"{lost} of {len(given)} hypothetical questions were left out: blank, repeated,"
                f" longer than {questions.CHARS_MAX} characters, or more than"
                " m5.hyde.max_queries"
            )
    elif hyde.offline == "templates":
        item.questions = questions.made(item.text, trigger, hyde.max_queries)


def guard_of(session: Session, item: Item) -> GuardText:
    """What the fact guard compares of the item's text; made once."""
    if item.guard is None:
        zone = session.config.settings.time.zone
        item.guard = prepare_guard(item.text, item.reference_us, zone)
    return item.guard


class GuardTexts:
    """What the fact guard compares of stored memories, by id."""

    def __init__(self) -> None:
        self.by_id: dict[str, GuardText] = {}

    def drop(self, _seq: int, /) -> None:
        """Facts of forgotten memories go, with all others."""
        self.by_id.clear()


def stored_guard(session: Session, view: LedgerView, memory: Memory) -> GuardText:
    """What the fact guard compares of a stored memory; its relative times are measured from its own
    reference time. Text and reference time never change, so what was prepared stays true."""
    guards = session.cache(GuardTexts).by_id
    found = guards.get(memory.id)
    if found is None:
        first = view.events(memory.namespace, memory.id, 1)
        at = to_us(first[0].occurred_at if first else memory.t_valid)
        found = prepare_guard(memory.content, at, session.config.settings.time.zone)
        if len(guards) >= GUARDS_KEPT_MAX:
            guards.clear()
        guards[memory.id] = found
    return found


def arrival(session: Session, item: Item, now_us: int) -> Arrival:
    """The item as the rows need it."""
    return Arrival(
        request=item.request,
        text=item.text,
        content_hash=item.content_hash,
        occurred_us=item.reference_us,
        now_us=now_us,
        stability=item.stability,
        windows=item.windows,
        keywords=item.keywords,
        vector=item.vector,
        pieces=item.pieces,
        model=session.embedder.model,
        embed_later=item.deferred is not None and jobs_wanted(session, item),
        questions=None
        if item.questions is None or len(item.question_vectors) != len(item.questions)
        else tuple(zip(item.questions, item.question_vectors, strict=True)),
    )


def jobs_wanted(session: Session, item: Item) -> bool:
    """Whether a text without a vector waits for one (`enrichment.mode`, `enrich=`)."""
    asked = item.request.enrich
    return session.config.settings.enrichment.mode != "off" if asked is None else bool(asked)

"""One memory on its way into the store, and what its text gives by rule. Pure.

Rules for questions that a memory answers know English. Each is a pattern over one of the first two
sentences and the question that it makes of its groups; the first that fits a sentence decides for
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import time, tzinfo
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from vestig.changes import NewAnchor, TurnPosition
from vestig.commit.canonical_form import CanonicalForm
from vestig.commit.text import derive_stability
from vestig.config.recall_sections import QuestionSettings
from vestig.config.schema import HygieneSettings, Settings
from vestig.firewall import Secret, counted
from vestig.language import words
from vestig.language.names import AnalysedText
from vestig.language.text_forms import sentences, word_list
from vestig.language.time import expressions
from vestig.lazy_pattern import lazy_pattern
from vestig.ports import Pieces
from vestig.times import from_us, to_us, zone_named
from vestig.types import (
    MODEL_ROLES,
    Claim,
    CommitOutcome,
    CommitOutcomeKind,
    Degradation,
    Memory,
    RetentionPolicy,
    Role,
    SimilarMemory,
    Stability,
    Status,
    TemporalWindow,
    is_undated,
)

if TYPE_CHECKING:
    from vestig.calls.commit import CommitRequest, GivenEntity

# namespace, scope, author, hash of the text
TextKey = tuple[str, str | None, str | None, str]


class Slot(NamedTuple):
    """Where a key stands: at most one unexpired memory is there."""

    namespace: str
    scope: str | None
    key: str


class Decision(msgspec.Struct, kw_only=True, gc=False):
    """How an item enters one state of the store; every state that it is compared with gets a new
    one.

    `kind` None = not decided yet. `score`: cosine with the near-duplicate that was matched.
    `replaced`: the memories that `supersedes` names. `compared`: near-duplicates were looked for.
    `by_key`: the memory that had the key.
    """

    replaced: list[Memory]
    kind: CommitOutcomeKind | None = None
    memory_id: str | None = None
    event_id: str | None = None
    score: float | None = None
    similar: tuple[SimilarMemory, ...] = ()
    revives: str | None = None
    repeats: str | None = None
    jobs: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    compared: bool = False
    by_key: Memory | None = None
    confirms: tuple[str, ...] = ()
    warnings: list[str] = msgspec.field(default_factory=list)


class Item(msgspec.Struct, kw_only=True):
    """One memory; the stages of a commit fill the fields in this order. Times are microseconds
    since the epoch."""

    # validate; `entities`: the caller's names, with types of the ontology
    request: CommitRequest
    entities: tuple[GivenEntity, ...] = ()
    # the caller's claim, with the ids of the entities that it names
    claim: Claim | None = None
    # what the text is the value of, as the caller says or the claim
    key: str | None = None
    # a statement of a model stands beside the memory that keeps the key which was asked for
    beside: str | None = None
    asked_key: str | None = None
    # a program ordered that it takes the place of what has the key
    ordered: bool = False
    # when its new memory ends as the one did of which it is another text: nobody told that of it
    ends_us: int | None = None
    # the caller's anchors, as their sources are; their memory is not known yet
    anchors: tuple[NewAnchor, ...] = ()
    # filter; `text` is the normal form, `given` what a caller gets back; `reference_us`: when the
    # text was said, from which its relative times are measured; `wall_us`: what the clock beside
    # the speaker showed then, where its offset was given
    text: str
    given: str
    content_hash: str
    reference_us: int
    wall_us: int | None = None
    # how long it is worth keeping: as the caller says, or the configuration
    policy: RetentionPolicy = RetentionPolicy.STANDARD
    warnings: list[str] = msgspec.field(default_factory=list)
    # found in the arguments
    secrets: tuple[Secret, ...] = ()
    # the hash by which the text is compared with others: of a note with a marker of a secret
    # another than that of the stored text, since two such notes may have been two texts
    identity: str = ""
    # memories whose own texts were taken out of this one
    echoes: tuple[str, ...] = ()
    # the characters that they were, and memories that a frame names around other words
    echo_places: tuple[str, ...] = ()
    quoted: tuple[str, ...] = ()
    # the version of a document of which it is a passage
    document: str | None = None
    # what it was in the store that it comes from; None: it comes from none
    status: Status | None = None
    # extract: what rules find in the text; `questions` None = not tried
    extracted: bool = False
    windows: tuple[TemporalWindow, ...] = ()
    keywords: tuple[str, ...] = ()
    stability: Stability = Stability.UNKNOWN
    questions: tuple[str, ...] | None = None
    # whether jobs may be queued, and those for which a language model is asked
    enrich: bool = False
    model_jobs: tuple[str, ...] = ()
    analysed: AnalysedText | None = None
    # deduplicate by hash: a text that the store had may need a vector after all
    needs_vector: bool = False
    # embed; `deferred`: the error for which there is no vector
    vector: bytes | None = None
    pieces: Pieces | None = None
    question_vectors: tuple[bytes, ...] = ()
    deferred: str | None = None
    # find near-duplicates
    form: CanonicalForm | None = None
    # decide
    # `after_us`: what it follows in the store was there by then, whatever the clock says
    decision: Decision | None = None
    after_us: int = 0
    # write
    outcome: CommitOutcome | None = None
    error: Exception | None = None
    # what never changes and is asked for often; `owner`: memories of different owners are no
    # duplicates; `position`: session and sequence of a turn, which is stored once there, None = a
    # note; under each `text_key` a note is stored once
    owner: tuple[str, str | None, str | None] = ("", None, None)
    position: TurnPosition | None = None
    text_key: TextKey = ("", None, None, "")

    def __post_init__(self) -> None:
        """The keys under which the item is compared."""
        request = self.request
        self.owner = (request.namespace, request.scope, request.author)
        self.identity = self.identity or self.content_hash
        self.text_key = (*self.owner, self.identity)
        if request.session_id is not None:
            self.position = (request.session_id, request.sequence)

    @property
    def is_masked(self) -> bool:
        """Return whether what stands in the text may have been another text before."""
        return self.identity != self.content_hash

    @property
    def begins_us(self) -> int:
        """The time from which its statement holds."""
        begins = self.request.t_valid
        return max(self.reference_us, self.after_us) if begins is None else begins

    def follow(self, known: Iterable[Memory], recorded_us: int) -> None:
        """Begins at `recorded_us`, the last time of the ledger, where nobody told a time, and one
        of these memories began or ended by then but not by the clock: a later commit is later."""
        request, self.after_us = self.request, 0
        untold = request.t_ref is None and request.t_valid is None
        if not untold or recorded_us <= self.reference_us:
            return
        ends_us = request.t_invalid
        moments = (at for one in known for at in (one.t_valid, one.t_invalid) if at is not None)
        past = any(self.reference_us < to_us(at) <= recorded_us for at in moments)
        if past and (ends_us is None or recorded_us < ends_us):
            self.after_us = recorded_us

    @property
    def slot(self) -> Slot | None:
        """Where its key stands; None without one."""
        return None if self.key is None else Slot(*self.owner[:2], self.key)

    @property
    def asked_slot(self) -> Slot | None:
        """Where the key stands that was asked for; None without one."""
        key = self.key if self.beside is None else self.asked_key
        return None if key is None else Slot(*self.owner[:2], key)

    def stand_beside(self, id: str | None) -> None:
        """Leaves the key that was asked for to this memory; None = has it."""
        if id is not None and self.beside is None:
            self.asked_key, self.key = self.key, None
        elif id is None and self.beside is not None:
            self.key = self.asked_key
        self.beside = id

    @property
    def is_history(self) -> bool:
        """Return whether it ended in the store that it comes from: it takes the place of nothing,
        and is the duplicate of nothing."""
        return self.status in (Status.SUPERSEDED, Status.DEPRECATED)

    @property
    def is_of_model(self) -> bool:
        """Return whether an assistant or a tool states it."""
        return self.request.role in MODEL_ROLES

    def may_follow(self, known: Memory) -> bool:
        """Return whether it may say of a memory when it holds."""
        return self.ordered or not self.is_of_model or not known.confirmed

    @property
    def is_of_user(self) -> bool:
        """Return whether a user states it."""
        return self.request.role == Role.USER

    def job_kinds(self, *, has_similar: bool) -> tuple[str, ...]:
        """Kinds of the jobs that are queued where the item is inserted; what it may replace is
        asked only where something similar is known."""
        kinds = [kind for kind in self.model_jobs if kind != "updates" or has_similar]
        late = self.deferred is not None and self.enrich
        return ("embed", *kinds) if late else tuple(kinds)

    @property
    def embedded_questions(self) -> tuple[tuple[str, bytes], ...] | None:
        """(text, vector) of each question; None = not tried, or the vectors could not be made."""
        if self.questions is None or len(self.question_vectors) != len(self.questions):
            return None
        return tuple(zip(self.questions, self.question_vectors, strict=True))


def extract(item: Item, settings: Settings, *, model: bool) -> None:
    """Keywords, time windows, stability and questions, once: no store, no model.

    Args:
        model: whether there is a language model, whose jobs do what rules cannot.
    """
    if item.extracted:
        return
    item.extracted = True
    given = item.request
    times = _times(item, settings.time.zone)
    found = times.windows
    item.windows = tuple(one.as_window() for one in found)
    own = words.keywords(
        item.text,
        extra_stopwords=settings.keywords.stopwords,
    )
    item.keywords = tuple(dict.fromkeys([*own, *given.keywords]) if given.keywords else own)
    item.stability = derive_stability(
        item.text, found, item.reference_us, given=given.temporal_stability
    )
    wanted = given.enrich
    item.enrich = settings.enrichment.mode != "off" if wanted is None else wanted
    _make_questions(item, settings.questions)
    if item.enrich and model:
        item.model_jobs = _model_jobs(item, settings)
    if "hypothetical" not in item.model_jobs:
        _add_questions_by_rule(item, settings.questions)


def _times(item: Item, zone: str) -> expressions.FoundTimes:
    """The times that the text names.

    Where `t_valid` is given and `t_ref` is not, nobody told when it was said: "tomorrow" may count
    from either, and what means another day from each gets none. A `t_ref` with an offset tells
    which day the speaker had.
    """
    given = item.request
    dated = not is_undated(given.metadata or {})
    found = expressions.find_times(item.text, item.reference_us, zone=zone, dated=dated)
    if found.windows and dated and item.wall_us is not None:
        found = _in_days_of(item.text, item.wall_us, found, zone)
    item.warnings.extend(found.warnings)
    if not found.windows or given.t_valid is None or given.t_ref is not None:
        return found
    other = expressions.find_times(item.text, given.t_valid, zone=zone, dated=dated)
    if other.windows == found.windows:
        return found
    certain = expressions.find_times(item.text, item.reference_us, zone=zone, dated=False)
    item.warnings.append(
        "which days the text names depends on when it was said, which t_valid does not tell: give"
        " t_ref, else they get no date that is certain"
    )
    return certain


def _in_days_of(
    text: str, wall_us: int, found: expressions.FoundTimes, zone: str
) -> expressions.FoundTimes:
    """The times of a text, those that are whole days as they count from the day of the speaker.

    Args:
        wall_us: what the clock of the speaker showed.
        found: the times as they count from the moment in the zone of the store.
    """
    tz = zone_named(zone)
    try:
        said_us = to_us(from_us(wall_us).replace(tzinfo=tz))
        local = expressions.find_times(text, said_us, zone=zone)
        if len(local.expressions) != len(found.expressions):
            return local
        pairs = zip(found.expressions, local.expressions, strict=True)
        chosen = [theirs if _is_whole_days(theirs, tz) else ours for ours, theirs in pairs]
    except (OverflowError, ValueError):  # outside the years 1-9999
        return found
    return msgspec.structs.replace(found, expressions=chosen)


def _is_whole_days(one: expressions.TemporalExpression, zone: tzinfo) -> bool:
    ends = [us for us in (one.window_start_us, one.window_end_us) if us is not None]
    return all(from_us(us).astimezone(zone).time() == time.min for us in ends)


def _model_jobs(item: Item, settings: Settings) -> tuple[str, ...]:
    """The kinds of jobs for which a language model is asked."""
    given = item.request
    applicable = {
        "entities": settings.entities.enabled,
        "hypothetical": is_allowed(given.trigger, settings.questions)
        and given.hypothetical_queries is None,
        "stability": given.temporal_stability is None and item.stability is Stability.UNKNOWN,
        "updates": settings.updates.enabled,
    }
    return tuple(kind for kind, applies in applicable.items() if applies)


def _add_questions_by_rule(item: Item, chosen: QuestionSettings) -> None:
    given, trigger = item.request.hypothetical_queries, item.request.trigger
    by_rule = chosen.offline == "templates" and given is None
    if by_rule and trigger is not None and is_allowed(trigger, chosen):
        item.questions = questions_by_rule(item.text, trigger, chosen.max_per_memory)


def _make_questions(item: Item, chosen: QuestionSettings) -> None:
    """The caller's questions that the text answers."""
    given, trigger = item.request.hypothetical_queries, item.request.trigger
    if not is_allowed(trigger, chosen):
        if given is not None:
            allowed = ", ".join(chosen.allowed_triggers) or "those allowed"
            why = (
                f"the trigger is none of {allowed}"
                if chosen.enabled
                else "questions.enabled is false"
            )
            item.warnings.append(f"the hypothetical questions were left out: {why}")
        return
    if given is not None:
        item.questions = usable_questions(given, chosen.max_per_memory)
        lost = len(given) - len(item.questions)
        if lost:
            item.warnings.append(
                f"{lost} of {len(given)} hypothetical questions were left out: blank, repeated,"
                f" longer than {CHARS_MAX} characters, or more than"
                " questions.max_per_memory"
            )


# --- questions by rule ------------------------------------------------------------------------

CHARS_MAX: Final = 300
_SENTENCES: Final = 2

_IS: Final = r"(?:was|were|is|are|got|has been|have been)"
_SOLVED: Final = r"(?:fixed|solved|resolved|repaired|cured)"
_WHEN: Final = r"(?:if|when|whenever)\s+(.+?),\s+(?:then\s+)?.+"
_WHY: Final = (r"(.+?)\s+(?:because|since|due to|caused by)\s+.+", "Why is it that {0}?")
_PROBLEM: Final = (
    (
        r"(?:the )?(?:problem|issue|bug|error)\s*(?::|was that|is that)\s*(.+)",
        "How is it solved that {0}?",
    ),
    (
        r"(?:the )?(?:solution|fix|answer|workaround|remedy)\s*(?::|was to|is to)\s*(.+)",
        "Which problem is solved when you {0}?",
    ),
    (rf"(.+?)\s+{_IS}\s+{_SOLVED} (?:by|with|when|after)\s+.+", "How was {0} fixed?"),
    (rf"(?:we |i |they )?{_SOLVED}\s+(.+?)\s+(?:by|with|when|after)\s+.+", "How was {0} fixed?"),
    (r"to\s+(?:fix|solve|resolve|repair|avoid|prevent)\s+(.+?),\s+.+", "What helps against {0}?"),
    (_WHEN, "What should be done when {0}?"),
    _WHY,
)
_FAILURE: Final = (
    (
        r"(?:we |i |they )?(?:tried|attempted) to\s+(.+?),?\s+(?:but|and it|which|without)\b.*",
        "What happens when you try to {0}?",
    ),
    (
        r"(?:we |i |they )?(?:tried|attempted)\s+(.+?),?\s+(?:but|and it|which|without)\b.*",
        "What happens when you try {0}?",
    ),
    (
        r"(?:never|do not|don't|avoid)\s+(.+?)(?:\s+(?:because|since|as|or)\s+.+)?",
        "Why is it a mistake to {0}?",
    ),
    (
        r"(.+?)\s+(?:fail(?:s|ed)|br(?:oke|eaks)|crash(?:es|ed)|(?:did|does)(?: not|n't) work)\b.*",
        "Why does {0} fail?",
    ),
    (_WHEN, "What goes wrong when {0}?"),
    _WHY,
    (
        r"(?:the )?(?:lesson|mistake|error|failure)\s*(?::|was that|is that|was to|is to)\s*(.+)",
        "What was learnt about {0}?",
    ),
)
_RULES: Final = {"problem-solution": _PROBLEM, "learning-failure": _FAILURE}
# The question about a first sentence that fits no rule.
_FALLBACK: Final = {
    "problem-solution": "How is this solved: {0}?",
    "learning-failure": "What went wrong: {0}?",
}
_PREFIX: Final = lazy_pattern(
    r"(?:note|remember|fyi|reminder|(?:lesson )?learn(?:ed|t))\s*:\s*", re.I
)
# Words whose capital goes when they no longer begin a sentence.
_LOWERED: Final = frozenset(
    word_list(
        "the a an this that these those our my your their its his her we it they he she you some"
        " any all every each no using"
    )
)


_Rules = tuple[tuple[re.Pattern[str], str], ...]


@cache
def _rules(trigger: str) -> _Rules:
    """Compiled at their first use: few stores make questions."""
    return tuple(
        (lazy_pattern(pattern, re.I | re.S), question) for pattern, question in _RULES[trigger]
    )


def is_allowed(trigger: str | None, chosen: QuestionSettings) -> bool:
    """Return whether a memory of this trigger gets questions."""
    return chosen.enabled and trigger is not None and trigger in chosen.allowed_triggers


def usable_questions(questions: Iterable[object], most: int) -> tuple[str, ...]:
    """Texts that are not blank and not longer than 300 characters, each once, at most so many.

    Example:
        >>> usable_questions([" Why? ", 3, "", "Why?", "x" * 301, "How?", "When?"], 2)
        ('Why?', 'How?')
    """
    found: dict[str, None] = {}
    for question in questions:
        if not isinstance(question, str):
            continue
        text = question.strip()
        if text and len(text) <= CHARS_MAX and "\0" not in text:
            found[text] = None
    return tuple(found)[:most]


def questions_by_rule(text: str, trigger: str, most: int) -> tuple[str, ...]:
    """Questions that rules make of the first two sentences; () for a trigger without rules.

    Example:
        >>> questions_by_rule("The loop was fixed by clearing cookies.", "problem-solution", 2)
        ('How was the loop fixed?',)
    """
    if trigger not in _RULES:
        return ()
    rules = _rules(trigger)
    first = [sentence for _, sentence in islice(sentences(text), _SENTENCES)]
    found = [_question(sentence, rules) for sentence in first]
    if found and found[0] is None:
        found[0] = _FALLBACK[trigger].format(_plain(first[0]))
    return usable_questions(found, most)


def _plain(sentence: str) -> str:
    return _PREFIX.sub("", sentence.strip(), count=1).rstrip(" .!?;:,\"')")


def _question(sentence: str, rules: _Rules) -> str | None:
    plain = _plain(sentence)
    for pattern, question in rules:
        match = pattern.fullmatch(plain)
        if match is not None:
            return question.format(_inside(match[1]))
    return None


def _inside(part: str) -> str:
    """A part as it stands within a question: the capital of an ordinary first word goes."""
    part = part.strip(" ,;:")
    first = part.split(None, 1)[0] if part else ""
    ordinary = first[:1].isupper() and first.lower() in _LOWERED
    return part[:1].lower() + part[1:] if ordinary else part


def unstored(item: Item, kind: CommitOutcomeKind) -> CommitOutcome:
    """The outcome of an item of which no memory is made, as far as the item says it."""
    request = item.request
    return CommitOutcome(
        outcome=kind,
        memory_id=None,
        content_hash=item.content_hash,
        occurred_at=from_us(item.reference_us),
        source=request.source,
        tags=request.tags or (),
        artifact_ref=request.artifact_ref,
        namespace=request.namespace,
        scope=request.scope,
        masked=counted(item.secrets),
        echoes=item.echoes,
        echo_places=item.echo_places,
    )


def outcome_of(
    item: Item,
    decision: Decision,
    hygiene: HygieneSettings,
    seq: int | None,
    degraded: Sequence[Degradation],
) -> CommitOutcome:
    """How an item ended; `seq` None = nothing was written (dry run)."""
    assert decision.kind is not None, "every decision ends with a kind"
    written = seq is not None
    thresholds: dict[str, float] = {
        "min_chars": hygiene.min_chars,
        "max_chars": hygiene.max_chars,
    }
    if decision.compared:
        thresholds["near_duplicate_threshold"] = hygiene.near_duplicate.threshold
    duplicate = decision.kind is not CommitOutcomeKind.INSERTED_NEW
    entries = list(degraded)
    if item.deferred is not None and not duplicate:
        detail = f"stored without a vector ({item.deferred}): found by words until embedded"
        if not decision.jobs:
            detail += "; no job was queued, `vestig rebuild --embeddings` makes it"
        entries.append(Degradation(code="embedding_deferred", detail=detail))
    return msgspec.structs.replace(
        unstored(item, decision.kind),
        memory_id=decision.memory_id if written or duplicate else None,
        matched_memory_id=decision.memory_id if duplicate else None,
        query_score=decision.score,
        key=item.key,
        thresholds=thresholds,
        deduplicated=duplicate,
        similar=decision.similar,
        revives=decision.revives,
        repeats=decision.repeats,
        beside=item.beside,
        confirms=decision.confirms,
        superseded=decision.superseded,
        event_id=decision.event_id if written else None,
        seq=seq,
        jobs=decision.jobs if written else (),
        entities=decision.entities,
        warnings=(*item.warnings, *decision.warnings),
        degraded=tuple(entries),
    )

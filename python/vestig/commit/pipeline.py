"""The way of a memory into the store, stage by stage:

    mask secrets             `_prepare` (`cleaned`)
    take frames off          `_prepare` (`without_echoes`)
    validate                 `_prepare` (`commit_request`), `_enter` (claims)
    filter                   `_prepare` (`text.text_forms`, `text.refusal_reason`)
    extract                  `item.extract`: what rules find in the text
    deduplicate by hash      `Batch.to_embed`: only texts and names new to the store go on
    embed                    `embed`; of the part that follows: `vectors_ahead`
    find near-duplicates     `near_duplicates.similar_memories`, judged by `canonical_form`
    decide                   `Batch.decide`: one `ChangeSet` for all items of a group
    write, index             `_write`: one transaction, then the projection catches up
    enrich                   `enrich.enrich`: jobs, at once only when configured so
    hooks                    `call_hooks`: once per attempt

Invariant: no embedder, hook or model is called while the write lock is held. A decision made
outside the lock is made again inside it when another writer was faster.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from vestig.arguments import check_validity, wall_us
from vestig.calls.commit import CommitRequest, commit_request
from vestig.changes import ChangeSet
from vestig.commit.batch import Batch, SplitGroup
from vestig.commit.document_version import DocumentVersion
from vestig.commit.item import Item, extract, unstored
from vestig.commit.keys import key_of_claim
from vestig.commit.names import NameVectors, named_claim, with_known_types
from vestig.commit.text import (
    check_text,
    content_hash,
    is_bare,
    normalise,
    refusal_reason,
    text_forms,
)
from vestig.commit.vectors_ahead import VectorsAhead, embedded_as
from vestig.config.schema import HygieneSettings
from vestig.echoes import Memories, Stored, Unframed, may_hold_frames, unframed
from vestig.errors import ConflictError, HygieneError, ProviderError, ValidationError, VestigError
from vestig.firewall import Secret, holds_marker
from vestig.ids import id_text, is_full_id, new_id
from vestig.language.text_forms import CONTROL_CHARACTERS, unusable_reason
from vestig.messages import BETWEEN_PARTS, text_parts
from vestig.ports import CommitHook
from vestig.session.embedding import (
    check_identity,
    embed_memories,
    remember_identity,
)
from vestig.session.references import types_of
from vestig.session.session import Session, cleaned, clock_notice, count_secrets, keep_answer
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import UniquenessCollision
from vestig.telemetry import WARNING, caused_by_interrupt, log_event, span
from vestig.times import from_us
from vestig.turns import give_way, shared_or
from vestig.types import (
    CommitOutcome,
    CommitOutcomeKind,
    Degradation,
    ItemError,
    RetentionPolicy,
    flags_of,
)

if TYPE_CHECKING:
    from vestig.store.records.writes import WriteTransaction


# Items of one transaction.
GROUP_ITEMS: Final = 1_000
_COLLISION_RETRIES: Final = 3
# Arguments beside the text that say what is to be stored or changed with it.
_WRITTEN_WITH_TEXT: Final = (
    "tags", "metadata", "title", "t_valid", "t_invalid", "temporal_stability", "trigger",
    "entities", "keywords", "hypothetical_queries", "claim", "key", "anchor",
    "retention_policy", "retention_until", "pinned", "supersedes",
)  # fmt: skip
# After so many failures in a row the embedder is not asked for the rest of a batch.
_PROVIDER_FAILURES_MAX: Final = 2
# Up to so many items are decided under the write lock: that takes less time than reading one
# more state of the store.
_DECIDED_UNDER_LOCK_MAX: Final = 4


class Part(NamedTuple):
    """Some items of a batch, validated and filtered. `results`: of each place, None = not ended
    yet; `items`: (place, item) of those whose arguments are good; `offset`: the place of the first
    in the whole batch."""

    results: list[CommitOutcome | ItemError | None]
    items: list[tuple[int, Item]]
    offset: int


class _GroupResult(NamedTuple):
    """How the items of a group ended, the first failure of a hook, and what the embedder raised."""

    results: list[CommitOutcome | ItemError]
    hook_failure: Exception | None
    provider_error: ProviderError | None


def commit(
    session: Session,
    arguments: Mapping[str, Any],
    secrets: tuple[Secret, ...] = (),
    kind: type[CommitRequest] | None = None,
    *,
    key: str | None = None,
    whole: bool = False,
    ends_us: int | None = None,
) -> CommitOutcome:
    """One memory; a bad argument or a failing embedder is an exception.

    Args:
        secrets: those that were masked in the arguments before.
        kind: the declaration of the arguments; None = of one text.
        key: that of a stored memory, which a caller may not be able to give; None = the arguments
            have it.
        whole: no text is too short or too long.
        ends_us: when a new memory of it ends, which is no end that was told of the text.
    """
    with session.operation("commit", without_store="make"):
        item = _prepare(session, arguments, whole=whole, kind=kind)
        item.key, item.ends_us = item.key if key is None else key, ends_us
        item.secrets += secrets
        _enter(session, item)
        with VectorsAhead(session) as ahead:
            _commit_accepted(session, [item], ahead)
        if item.error is not None:
            raise item.error
        assert item.outcome is not None, "every prepared item ends with an outcome"
        failure = call_hooks(session, [item])
        raise_strictly(session, failure)
        refusal = _refusal(item)
        if refusal is not None:
            raise refusal
        return item.outcome


def commit_many(
    session: Session, items: Iterable[str | Mapping[str, Any]]
) -> list[CommitOutcome | ItemError]:
    """One outcome or error per item, in order.

    The texts of a thousand items are embedded while the thousand before them are written. An
    iterable that is no sequence is read no further than what is being written.

    Where the embedder fails, the items of that group are error entries and later groups are
    tried, until it has failed twice in a row.

    Raises:
        ProviderError: the embedder failed and nothing at all was written.
    """
    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
        raise ValidationError("items", type(items).__name__, "a list of texts or objects")
    with session.operation("commit_many", without_store="make"), VectorsAhead(session) as ahead:
        results: list[CommitOutcome | ItemError] = []
        failures: list[Exception] = []
        provider_errors: list[ProviderError] = []
        failed_in_a_row = 0
        parts, looks_ahead = _parts(session, items), isinstance(items, Sequence)
        part = next(parts, None)
        while part is not None:
            following = next(parts, None) if looks_ahead else None
            if failed_in_a_row == _PROVIDER_FAILURES_MAX:
                failure = provider_errors[-1]
                places = range(part.offset, part.offset + len(part.results))
                results += [_item_error(place, failure) for place in places]
            else:
                ahead.embed_ahead(_items_of(part), [] if failed_in_a_row else _items_of(following))
                done = _commit_part(session, part, ahead)
                results.extend(done.results)
                failures.extend([] if done.hook_failure is None else [done.hook_failure])
                failed_in_a_row = 0 if done.provider_error is None else failed_in_a_row + 1
                provider_errors += [] if done.provider_error is None else [done.provider_error]
            give_way(len(results))
            part = following if looks_ahead else next(parts, None)
        if provider_errors and not any(_is_written(result) for result in results):
            raise provider_errors[0]
        raise_strictly(session, next(iter(failures), None))
        return results


def _parts(session: Session, items: Iterable[object]) -> Iterator[Part]:
    waiting, offset = iter(items), 0
    while group := list(itertools.islice(waiting, shared_or(GROUP_ITEMS))):
        yield prepare_part(session, group, offset)
        offset += len(group)


def _items_of(part: Part | None) -> list[Item]:
    return [] if part is None else [item for _, item in part.items]


def _is_written(result: CommitOutcome | ItemError) -> bool:
    return isinstance(result, CommitOutcome) and result.seq is not None


def raise_strictly(session: Session, failure: Exception | None) -> None:
    """`hooks.strict`: the first failure of a hook, once everything is finished."""
    if failure is not None and session.config.settings.hooks.strict:
        raise failure


def commit_part(
    session: Session,
    part: Part,
    following: Part | None,
    ahead: VectorsAhead,
    versions: Sequence[DocumentVersion] = (),
) -> list[CommitOutcome | ItemError]:
    """All of these in one transaction, while the texts of those that follow are embedded; an
    error's index is the place in the part. `versions`: documents that end with it.

    Raises:
        ProviderError: the embedder failed.
    """
    ahead.embed_ahead(_items_of(part), _items_of(following))
    done = _commit_part(session, part, ahead, versions)
    if done.provider_error is not None:
        raise done.provider_error
    raise_strictly(session, done.hook_failure)
    return done.results


def prepare_part(
    session: Session, group: Sequence[object], offset: int = 0, whole: Collection[int] = ()
) -> Part:
    """Validates and filters items, without a look at the store. `whole`: places of those that are
    kept whole, that is near-duplicates are inserted, and hygiene refuses only empty text and
    control characters."""
    part = Part([None] * len(group), [], offset)
    for place, given in enumerate(group):
        give_way()
        try:
            part.items.append((place, _prepare(session, _arguments(given), whole=place in whole)))
        except (VestigError, TypeError) as error:
            part.results[place] = _item_error(offset + place, error)
    return part


def _commit_part(
    session: Session, part: Part, ahead: VectorsAhead, versions: Sequence[DocumentVersion] = ()
) -> _GroupResult:
    """How the items ended; those for which the embedder failed are errors."""
    results, offset = part.results, part.offset
    items: list[tuple[int, Item]] = []
    provider_error: ProviderError | None = None
    for place, item in part.items:
        try:
            _enter(session, item)
            items.append((place, item))
        except VestigError as error:
            results[place] = _item_error(offset + place, error)
    for _, run in itertools.groupby(items, key=lambda pair: pair[1].request.dry_run):
        for group in _by_namespace([item for _, item in run]):
            try:
                _commit_accepted(session, group, ahead, versions)
            except ProviderError as error:
                provider_error = error
                for item in group:
                    if item.outcome is None and item.error is None:
                        item.error = error
    failure = call_hooks(session, [item for _, item in items if item.error is None])
    for place, item in items:
        problem = item.error or _refusal(item)
        results[place] = item.outcome if problem is None else _item_error(offset + place, problem)
    assert all(result is not None for result in results), "every item ends"
    ended = [result for result in results if result is not None]
    return _GroupResult(ended, failure, provider_error)


def _refusal(item: Item) -> HygieneError | None:
    """The error of a refused text, for a request that is `strict`."""
    outcome = item.outcome
    if outcome is None or not item.request.strict:
        return None
    refused = outcome.outcome is CommitOutcomeKind.REJECTED_HYGIENE
    return HygieneError(outcome) if refused else None


def _by_namespace(items: list[Item]) -> list[list[Item]]:
    """A transaction acts in one namespace; items keep their order inside each."""
    parts: dict[str, list[Item]] = {}
    for item in items:
        parts.setdefault(item.request.namespace, []).append(item)
    return list(parts.values())


def _arguments(given: object) -> dict[str, Any]:
    if isinstance(given, str):
        return {"content": given}
    if isinstance(given, Mapping):
        return dict(given)
    allowed = "a text or an object of commit's fields"
    hint = 'a text with its key is {"content": text, "key": key}'
    raise ValidationError("item", type(given).__name__, allowed, hint if _is_pair(given) else "")


def _is_pair(given: object) -> bool:
    return isinstance(given, (tuple, list)) and len(given) == 2


def _item_error(index: int, error: Exception) -> ItemError:
    code = error.code if isinstance(error, VestigError) else "validation"
    return ItemError(index=index, code=code, message=str(error))


# --- frames -----------------------------------------------------------------------------------

_PREFIX: Final = "mem_"


def without_echoes(session: Session, namespace: str, text: str) -> Unframed:
    """A text without what the store printed of memories of a namespace."""
    if not session.config.settings.firewall.echo or not may_hold_frames(text):
        return Unframed(text)
    zone = session.config.settings.time.zone
    with session.ledger.read() as view:
        lookup = _Lookup(session, view, namespace)
        return unframed(text, Memories(by_id=lookup.by_id, by_text=lookup.by_text, zone=zone))


class _Lookup:
    def __init__(self, session: Session, view: LedgerView, namespace: str) -> None:
        self._session = session
        self._hygiene = session.config.settings.hygiene
        self._view = view
        self._namespace = namespace
        self._now_us = session.now_us()

    def by_id(self, id: str) -> Stored | None:
        """The memory of an id, or of the only one that begins so."""
        full = id if id.startswith(_PREFIX) else _PREFIX + id
        if not is_full_id(full, "mem"):
            found = self._session.named_ids(self._view, self._namespace, full, 2)
            if len(found) != 1:
                return None
            full = found[0]
        return self._first([full])

    def by_text(self, text: str) -> Stored | None:
        """A memory with the normal form of a text."""
        hashed = content_hash(normalise(text, self._hygiene))
        ids = self._view.ids_with_hashes(self._namespace, [hashed])
        return self._first([id_text("mem", one) for one in ids])

    def _first(self, ids: list[str]) -> Stored | None:
        found = self._view.memories(self._namespace, ids) if ids else []
        found = [one for one in found if self._session.may_name(one.scope)]
        now = from_us(self._now_us)
        return Stored(found[0], tuple(flags_of(found[0], now))) if found else None


# --- validate, filter -------------------------------------------------------------------------


def _prepare(
    session: Session,
    arguments: Mapping[str, Any],
    *,
    whole: bool = False,
    kind: type[CommitRequest] | None = None,
) -> Item:
    """The item of one commit, with an outcome when its text is refused; looks at no store."""
    settings = session.config.settings
    if whole:
        arguments = {"on_near_dup": "insert", **arguments}
    arguments, unread = _with_text(arguments)
    clean = cleaned(session, arguments)
    request, warnings = _plain(commit_request(clean.arguments, session.namespace, kind))
    warnings += _changed_key(clean.arguments.get("key"), request.key)
    said = without_echoes(session, request.namespace, request.content)
    text, given = text_forms(said.text, settings.hygiene)
    turn = request.session_id is not None or request.role is not None
    if clean.refused is not None:
        reason: str | None = f"Content contains a secret ({clean.refused})"
    elif whole:
        reason = unusable_reason(text)
    else:
        keyed = request.key is not None
        reason = refusal_reason(
            text, settings.hygiene, turn=turn, keyed=keyed, given_chars=len(given)
        )
    reference_us = session.now_us() if request.t_ref is None else request.t_ref
    begins_us = reference_us if request.t_valid is None else request.t_valid
    check_validity(begins_us, request.t_invalid)
    item = Item(
        request=request,
        text=text,
        given=given,
        content_hash=content_hash(text),
        reference_us=reference_us,
        wall_us=wall_us(clean.arguments.get("t_ref")),
        key=request.key,
        policy=request.retention_policy or RetentionPolicy(settings.lifecycle.default_policy),
        entities=with_known_types(request.entities, types_of(settings.entities)),
        secrets=clean.secrets,
        identity=_identity(arguments, request, settings.hygiene),
        echoes=said.echoes,
        echo_places=tuple(f"content[{start}:{end}]" for start, end in said.places),
        quoted=said.quoted,
        warnings=[*unread, *warnings],
    )
    if item.key is None and request.claim is not None:
        try:
            item.key = key_of_claim(request.claim)
        except ValidationError as error:
            item.warnings.append(f"the claim has no key, and replaces no earlier one: {error}")
    if said.echoes and is_bare(text):
        item.outcome = _echoed(item)
    elif reason is not None:
        item.outcome = _rejected(session, item, reason)
    return item


def _with_text(arguments: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Arguments whose content is a text: that of the blocks of a message, as programs that talk to
    language models have them. And a warning of those that hold none."""
    if "content" not in arguments:
        return arguments, ()
    content = arguments["content"]
    blocks = content if isinstance(content, (list, tuple)) else ()
    texts = text_parts(content) if blocks and all(isinstance(b, Mapping) for b in blocks) else None
    if not texts:
        check_text(content)
        return arguments, ()
    unread = len(blocks) - len(texts)
    warning = f"{unread} of {len(blocks)} blocks of the content hold no text and were not read"
    given = {**arguments, "content": BETWEEN_PARTS.join(filter(str.strip, texts))}
    return given, (warning,) if unread else ()


def _plain(request: CommitRequest) -> tuple[CommitRequest, list[str]]:
    """A request whose title and author have no control characters, and what was left out."""
    plain: dict[str, str | None] = {}
    warnings = []
    for name, value in (("title", request.title), ("author", request.author)):
        text, left_out = CONTROL_CHARACTERS.subn("", value or "")
        if left_out:
            plain[name] = text or None
            warnings.append(f"{left_out} control characters were left out of the {name}")
    return (msgspec.structs.replace(request, **plain) if plain else request), warnings


def _changed_key(given: object, key: str | None) -> list[str]:
    """A warning of a key whose normal form looks otherwise to a program than what was given."""
    if key is None or not isinstance(given, str) or unicodedata.normalize("NFC", given) == key:
        return []
    return [
        f'the key is "{key}": characters that are not seen are left out, and ligatures and several'
        " spaces written as single letters and one"
    ]


def _identity(
    arguments: Mapping[str, Any], request: CommitRequest, hygiene: HygieneSettings
) -> str:
    """The hash by which a text with a marker is compared: that of the text before it was masked,
    and one that no other has where the marker came with the text. "" without a marker, and for a
    turn, which is what it is by its place in its session."""
    placed = request.session_id is not None and request.sequence is not None
    if placed or not holds_marker(request.content):
        return ""
    given = arguments.get("content", request.content)
    return content_hash(new_id("mem") if given == request.content else normalise(given, hygiene))


def _enter(session: Session, item: Item) -> None:
    """The turn of an item has come: finds the entities that its claim names, and looks at its
    anchors."""
    if item.request.claim is not None:
        item.claim = named_claim(session, item.request.namespace, item.request.claim)
    if item.request.anchor:
        from vestig.commit.anchors import taken

        item.anchors = taken(session, item.request.namespace, item.request.anchor)
    if item.request.dry_run:
        return
    if item.echoes:
        session.metrics.add("vestig_echoes_total", len(item.echoes))
    if item.secrets:
        mode = session.config.settings.firewall.secrets
        count_secrets(
            session,
            [one.rule for one in item.secrets],
            "rejected" if mode == "reject" else "masked",
        )
    if item.outcome is not None:
        count_outcomes(session, [item.outcome])


def _echoed(item: Item) -> CommitOutcome:
    """Nothing but texts of memories came in: nothing is written."""
    request = item.request
    ignored = [
        name for name in _WRITTEN_WITH_TEXT if getattr(request, name) not in (None, False, (), {})
    ]
    if ignored:
        item.warnings.append(f"nothing was stored, and so nothing was done of {', '.join(ignored)}")
    return msgspec.structs.replace(
        unstored(item, CommitOutcomeKind.EXACT_DUPE),
        memory_id=item.echoes[0],
        matched_memory_id=item.echoes[0],
        deduplicated=True,
        warnings=tuple(item.warnings),
    )


def _rejected(session: Session, item: Item, reason: str) -> CommitOutcome:
    hygiene = session.config.settings.hygiene
    return msgspec.structs.replace(
        unstored(item, CommitOutcomeKind.REJECTED_HYGIENE),
        hygiene_reasons=(reason,),
        thresholds={"min_chars": hygiene.min_chars, "max_chars": hygiene.max_chars},
    )


# --- extract, embed, decide, write: one group, one transaction --------------------------------


def _commit_accepted(
    session: Session,
    items: list[Item],
    ahead: VectorsAhead,
    versions: Sequence[DocumentVersion] = (),
) -> None:
    """Decides and writes all items that passed the gates, and with the last of them these versions
    of documents; fills `outcome` or `error`."""
    check_depth(session)
    open_items = [item for item in items if item.outcome is None]
    groups = [open_items] if open_items else []
    while groups:
        group = groups.pop()
        try:
            _commit_group(session, group, ahead, () if groups else versions)
        except SplitGroup as split:
            groups += [group[split.place :], group[: split.place]]
    done = [item.outcome for item in open_items if not item.request.dry_run]
    count_outcomes(session, [outcome for outcome in done if outcome is not None])


def _commit_group(
    session: Session,
    group: list[Item],
    ahead: VectorsAhead,
    versions: Sequence[DocumentVersion],
) -> None:
    """One transaction; tried again when another writer took a text in the meantime."""
    with span("extract", items=len(group)):
        for item in group:
            extract(item, session.config.settings, model=session.has_model)
    names = NameVectors()
    for attempt in range(_COLLISION_RETRIES):
        batch = Batch(session, group, names, versions)
        embed(session, batch, ahead)
        ahead.begin()
        try:
            _write(session, batch)
        except UniquenessCollision:
            if attempt == _COLLISION_RETRIES - 1:
                raise
            continue
        return


def embed(session: Session, batch: Batch, ahead: VectorsAhead) -> None:
    """Vectors of the new texts, their questions and the names new to the store, each text
    embedded once; deferred where the configuration says so."""
    new, names = session.keeper.run(lambda view, _: batch.to_embed(view))
    if not new and not names:
        return
    # turns that repeat a text share its vector
    sharing: dict[str, list[Item]] = {}
    for item in new:
        sharing.setdefault(embedded_as(item), []).append(item)
    questions = [question for item in new for question in item.questions or ()]
    try:
        if batch.dry:
            check_identity(session)
        else:
            remember_identity(session)
        made, others = ahead.made_of(sharing.keys()), list[bytes]()
        left = [one for one in sharing if one not in made]
        if left or questions or names:
            fresh, others = embed_memories(session, left, [*questions, *names])
            made.update(zip(left, fresh, strict=True))
    except ProviderError as error:
        if session.config.settings.embedding.on_failure != "defer":
            raise
        for item in new:
            _defer(item, error)
        return
    for shared, items in sharing.items():
        vector, pieces = made[shared]
        truncated = session.embedder.truncated(shared)
        for item in items:
            item.vector, item.pieces = vector, pieces
            if truncated:
                item.warnings.append(
                    "the embedder reads only the beginning of this text; the rest is found by words"
                )
    vectors = iter(others)
    for item in new:
        if item.questions:
            item.question_vectors = tuple([next(vectors) for _ in item.questions])
    batch.names.known |= zip(names, vectors, strict=True)


def _defer(item: Item, error: ProviderError) -> None:
    """The item is stored without a vector; a job makes it later, unless jobs are off."""
    item.deferred = type(error).__name__
    if item.questions:
        item.warnings.append(
            "the hypothetical questions were left out: no vectors could be made of them"
        )


def _write(session: Session, batch: Batch) -> None:
    """Many items are decided outside the lock, and again when another writer was faster; few of
    them under it, where none can be, and one state less is read."""
    seq, changes = -1, None
    if batch.dry or len(batch.items) > _DECIDED_UNDER_LOCK_MAX:
        with span("decide", items=len(batch.items)):
            seq, changes = session.keeper.run(lambda view, _: (view.seq, batch.decide(view)))
    if batch.dry:
        batch.finish(None, [])
        return
    degraded: list[Degradation] = []
    with session.ledger.write(session.now_us()) as txn:
        if changes is None or txn.seq != seq:
            with span("decide", items=len(batch.items)):
                changes = session.keeper.run_locked(txn, lambda: batch.decide(txn))
        if not is_empty(changes):
            written = txn.apply(changes)
            degraded.extend(clock_notice(txn.clock_behind_us))
        else:
            written = txn.seq
        keep_answer(txn, lambda: _only_outcome(batch, written, degraded))
    follow(session, txn, changes, batch, degraded)
    batch.finish(written, degraded)


def follow(
    session: Session,
    txn: WriteTransaction,
    changes: ChangeSet,
    batch: Batch | None,
    degraded: list[Degradation],
) -> None:
    """After a transaction: the projection follows, and jobs are queued or worked.

    Args:
        batch: the texts among the changes; None = there are none.
        degraded: gets what degraded.
    """
    degraded.extend(session.keeper.after_commit(txn))
    session.metrics.degraded(degraded)
    if changes.jobs:
        session.jobs_queued.set()
    own = [] if batch is None else batch.inline_jobs()
    degraded.extend(session.run_jobs(changes.namespace, own))


def _only_outcome(batch: Batch, seq: int, degraded: list[Degradation]) -> CommitOutcome | None:
    batch.finish(seq, degraded)
    return batch.items[0].outcome


def is_empty(changes: ChangeSet) -> bool:
    """Return whether a transaction would write nothing."""
    return not any(
        getattr(changes, name) for name in ChangeSet.__struct_fields__ if name != "namespace"
    )


def count_outcomes(session: Session, outcomes: Sequence[CommitOutcome]) -> None:
    """Counts how commits ended."""
    for kind, count in Counter([outcome.outcome.value for outcome in outcomes]).items():
        session.metrics.add("vestig_commit_outcomes_total", count, outcome=kind)
    updates = sum(outcome.possible_update_of is not None for outcome in outcomes)
    if updates:
        session.metrics.add("vestig_possible_updates_total", updates)


# --- hooks ------------------------------------------------------------------------------------

# A commit made by a hook calls hooks again; one made by those is refused.
DEPTH_MAX: Final = 2


def check_depth(session: Session) -> None:
    """Refuses a commit made inside the hook of a commit that a hook made."""
    if getattr(session.hook_depth, "value", 0) >= DEPTH_MAX:
        raise ConflictError(
            "a commit inside the hook of a commit that was itself made by a hook is refused:"
            " hand the work to another thread or a queue"
        )


def call_hooks(session: Session, items: Sequence[Item]) -> Exception | None:
    """The store's hook, then the call's own, per item; failures become `hook_failed`.

    Returns the first failure, for `hooks.strict`.
    """
    first: Exception | None = None
    for item in items:
        if item.request.dry_run or item.outcome is None:
            continue
        for hook in (session.hook, item.request.on_commit):
            if hook is None:
                continue
            failure = _call(session, hook, item)
            if failure is not None:
                first = first or failure
                _report(session, item, failure)
    return first


def _call(session: Session, hook: CommitHook, item: Item) -> Exception | None:
    assert item.outcome is not None, "hooks are called once the outcome is known"
    depth = getattr(session.hook_depth, "value", 0)
    session.hook_depth.value = depth + 1
    try:
        hook(item.outcome)
    except Exception as error:  # the caller's code: whatever it raises, the data stays
        if caused_by_interrupt(error):
            raise KeyboardInterrupt from error
        return error
    finally:
        session.hook_depth.value = depth
    return None


def _report(session: Session, item: Item, failure: Exception) -> None:
    session.metrics.add("vestig_hook_failures_total")
    log_event(WARNING, "hook_failed", error_type=type(failure).__name__)
    entry = Degradation(code="hook_failed", detail=f"the hook raised {type(failure).__name__}")
    session.metrics.degraded([entry])
    assert item.outcome is not None, "only finished items call hooks"
    item.outcome = msgspec.structs.replace(item.outcome, degraded=(*item.outcome.degraded, entry))

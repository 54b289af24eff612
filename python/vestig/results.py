"""Results of calls other than recall: pages, details, reports. Immutable values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final, Generic, TypeVar, overload

import msgspec

from vestig.other_words import no_subscript
from vestig.types import (
    Claim,
    Degradation,
    Event,
    ItemError,
    MaskedSecret,
    Memory,
    Role,
    Source,
    SupersessionRecord,
    _Value,
)

__all__ = [
    "AddedDocument",
    "BackupReport",
    "CompactReport",
    "DeprecateReport",
    "DiffReport",
    "DoctorReport",
    "Document",
    "DocumentList",
    "EdgeRebuildReport",
    "EndedMemory",
    "EnrichReport",
    "ExportReport",
    "Finding",
    "ForgetReport",
    "ForgottenMemory",
    "GcReport",
    "ImportReport",
    "Item",
    "ItemPage",
    "LinkedEntity",
    "LinkedMemory",
    "MemoryDetail",
    "MemoryPage",
    "MergedEntity",
    "ModelCost",
    "PruneKept",
    "PruneReport",
    "PutOutcome",
    "RebuildReport",
    "ReplacedMemory",
    "SecretsReport",
    "SequenceResult",
    "StoreStats",
    "StoredSecret",
    "UpdatedMemory",
    "WithdrawnMemory",
    "listing",
]

# Items of a result that its repr shows.
_SHOWN: Final = 10
_T_co = TypeVar("_T_co", covariant=True)


class SequenceResult(_Value, Generic[_T_co], frozen=True, kw_only=True):
    """A result that is the sequence of what its first field holds: it has a length, indexes,
    slices, a truth value, and is walked through like the tuple itself."""

    def __repr__(self) -> str:
        of = f" of {total}" if (total := getattr(self, "total", 0)) > len(self) else ""
        return listing(f"<{type(self).__name__} {len(self)}{of}>", self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[_T_co]:
        return iter(self._items)

    @overload
    def __getitem__(self, place: int) -> _T_co: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[_T_co, ...]: ...
    def __getitem__(self, place: int | slice) -> _T_co | tuple[_T_co, ...]:
        try:
            return self._items[place]
        except TypeError:
            if isinstance(place, str):
                raise no_subscript(self, place) from None
            raise
        except IndexError:
            raise IndexError(self._says_missing(place)) from None

    def _says_missing(self, place: object) -> str:
        """The message of an index that is out of range."""
        return f"no item {place}: there are {len(self)}"

    def __contains__(self, item: object) -> bool:
        return item in self._items

    @property
    def _items(self) -> tuple[_T_co, ...]:
        items: tuple[_T_co, ...] = getattr(self, self.__struct_fields__[0])
        return items


def listing(head: str, items: Sequence[object]) -> str:
    """A result as a developer prints it: what it is, and its first items, a line each.

    Example:
        >>> print(listing("two numbers", [1, 2]))
        two numbers
          1
          2
    """
    lines = [head, *(f"  {item!r}" for item in items[:_SHOWN])]
    if len(items) > _SHOWN:
        lines.append(f"  … and {len(items) - _SHOWN} more")
    return "\n".join(lines)


# a struct cannot inherit from an abstract class
Sequence.register(SequenceResult)


class LinkedEntity(_Value, frozen=True, kw_only=True):
    """An entity that a memory mentions. `confidence` is None where the caller gave none."""

    id: str
    type: str
    name: str
    confidence: float | None


class LinkedMemory(_Value, frozen=True, kw_only=True):
    """A memory with a RELATED edge to or from another one, and the edge's weight."""

    id: str
    weight: float
    content: str


class JudgedMemory(_Value, frozen=True, kw_only=True):
    """A memory that was similar to a new one when that was stored, and the verdict of a language
    model on both.

    `score`: cosine. `verdict`: supersedes, supplements or unrelated; None while none was asked.
    `confidence`: that of the model. `ignored`: why a memory that it takes for replaced is not.
    """

    memory_id: str
    score: float
    verdict: str | None = None
    confidence: float | None = None
    ignored: str | None = None


class Version(_Value, frozen=True, kw_only=True):
    """A memory that is a version of what another one states: its text, from when it holds, and its
    role and whether that is confirmed."""

    memory_id: str
    t_valid: datetime
    content: str
    role: Role | None = None
    confirmed: bool = True


class MemoryDetail(_Value, frozen=True, kw_only=True):
    """One memory with its evidence (`show`). `similar`: what was known of the same when it was
    stored, nearest first. `versions`: other memories that state it anew, or that it states anew,
    newest first; () of a read of the past. `claim` is None where it carries none. `ledger_seq` is
    the state that was read. `mentions` and `related` are None unless `expand=1` asked for them."""

    memory: Memory
    access_velocity: float
    embedding_dimensions: int | None
    embedding_head: tuple[float, ...]
    sources: tuple[Source, ...]
    claim: Claim | None
    events: tuple[Event, ...]
    supersessions: tuple[SupersessionRecord, ...]
    flags: tuple[str, ...]
    similar: tuple[JudgedMemory, ...] = ()
    versions: tuple[Version, ...] = ()
    mentions: tuple[LinkedEntity, ...] | None = None
    related: tuple[LinkedMemory, ...] | None = None
    ledger_seq: int
    warnings: tuple[str, ...] = ()

    def plain_fields(self) -> dict[str, Any]:
        """The memory's fields beside its evidence."""
        fields = {name: getattr(self.memory, name) for name in self.memory.__struct_fields__}
        for name in self.__struct_fields__[1:]:
            value = getattr(self, name)
            if value is not None or name not in ("mentions", "related"):
                fields[name] = value
        return fields


class MemoryPage(SequenceResult[Memory], frozen=True, kw_only=True):
    """One page of a listing, the sequence of its memories; `total` counts the full listing."""

    memories: tuple[Memory, ...]
    total: int
    offset: int
    seq: int
    degraded: tuple[Degradation, ...] = ()
    warnings: tuple[str, ...] = ()


class ModelCost(_Value, frozen=True, kw_only=True):
    """Holds what calls of one language model took: tries and batch items, tokens, and money by
    `llm.prices` (None: the model has no price there)."""

    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    money: float | None


class EnrichReport(_Value, frozen=True, kw_only=True):
    """Holds what `enrich` did: jobs taken, done, failed for now, failed for good, still waiting,
    and in a batch that a language model works on. `superseded`: memories that were, as a language
    model judged. `costs`: what the calls took, by model; of a dry run an estimate of what would be
    sent, without the answers."""

    taken: int
    done: int
    retried: int
    failed: int
    pending: int
    submitted: int = 0
    possible_updates: int
    superseded: int = 0
    dry_run: bool = False
    costs: tuple[ModelCost, ...] = ()
    warnings: tuple[str, ...] = ()
    degraded: tuple[Degradation, ...] = ()


class CognifyReport(_Value, frozen=True, kw_only=True):
    """Holds what `cognify` did. A window is what one call of the model reads: those read, failed
    for now, and left, of a dry run those that would be read.

    `claims_added`: new ones; `claims_merged`: stated again, as evidence of a known one;
    `items_dropped`: of answers, for they were bad or cited nothing of their window;
    `ends_unresolved`: names in claims that are no entity's, or several entities'. `costs`: what the
    calls took, by model; of a dry run an estimate of what would be sent, without the answers.
    `errors`: windows that failed, by their place in this run.
    """

    windows_read: int = 0
    windows_failed: int = 0
    windows_left: int = 0
    claims_added: int = 0
    claims_merged: int = 0
    items_dropped: int = 0
    ends_unresolved: int = 0
    entities_created: int = 0
    relations_created: int = 0
    summaries_created: int = 0
    dry_run: bool = False
    costs: tuple[ModelCost, ...] = ()
    errors: tuple[ItemError, ...] = ()
    warnings: tuple[str, ...] = ()
    degraded: tuple[Degradation, ...] = ()


class ImportedFile(_Value, frozen=True, kw_only=True):
    """Counts of one file of an import, as those of the whole. `format` is null where no format
    knows it."""

    path: str
    format: str | None
    lines: int
    imported: int
    skipped: int
    duplicates: int
    rejected: int
    failed: int
    memories: int
    source_id: str | None = None
    passages: int = 0
    added: int = 0
    kept: int = 0
    ended: int = 0
    left_out: dict[str, int] = msgspec.field(default_factory=dict)


# Keys of `left_out`: a passage that a file still holds, and what a folder that was named does.
FORGOTTEN_PASSAGE: Final = "passage that was forgotten"
FILE_BELOW: Final = "file in a folder inside"
LINK: Final = "link"


class ImportReport(_Value, frozen=True, kw_only=True):
    """Exact counts of an import: `lines` = the sum of the counts that follow it.

    `left_out`: counts by kind of what a file holds and an import does not take, such as tool calls.
    `files`: of several files one each; `format` is then that of all, or `mixed`. Of an export that
    is taken in part `failed` counts and `errors` name the lines left out. `forgotten_elsewhere`:
    memories that were forgotten in its store; they stay. `superseded`: those that gave up a key.

    A document counts as one line. Of its `passages`, `added` are new, `kept` stood already, and
    `ended` are those of its version before that it holds no longer, or memories whose record has a
    newer text; `source_id` is its newest version, where one file was imported. Of documents whose
    file is gone, by path: `missing` stay; with `mirror`, `ended_documents` and their passages have
    ended, and `moved`: path before → path now.
    """

    format: str
    lines: int
    imported: int
    skipped: int
    duplicates: int
    rejected: int
    failed: int
    memories: int
    dry_run: bool = False
    source_id: str | None = None
    passages: int = 0
    added: int = 0
    kept: int = 0
    ended: int = 0
    missing: tuple[str, ...] = ()
    moved: dict[str, str] = msgspec.field(default_factory=dict)
    ended_documents: tuple[str, ...] = ()
    left_out: dict[str, int] = msgspec.field(default_factory=dict)
    files: tuple[ImportedFile, ...] = ()
    superseded: tuple[str, ...] = ()
    forgotten_elsewhere: tuple[str, ...] = ()
    errors: tuple[ItemError, ...] = ()
    errors_more: int = 0
    warnings: tuple[str, ...] = ()
    degraded: tuple[Degradation, ...] = ()


class AddedDocument(_Value, frozen=True, kw_only=True):
    """Counts of a document that was given as text: of its `passages`, `added` are new, `kept` stood
    already, and `ended` are those of its version before that it holds no longer. `source_id` is its
    newest version. `errors`: passages that were refused."""

    source_id: str | None
    passages: int
    added: int
    kept: int
    ended: int
    errors: tuple[ItemError, ...] = ()
    warnings: tuple[str, ...] = ()
    degraded: tuple[Degradation, ...] = ()


class Document(_Value, frozen=True, kw_only=True):
    """The newest version of a document. `created_at`: when its file was changed; `size` in
    bytes."""

    id: str
    path: str | None
    title: str
    format: str
    scope: str | None
    size: int
    passages: int
    created_at: datetime
    ingested_at: datetime


class DocumentList(SequenceResult[Document], frozen=True, kw_only=True):
    """Documents, the sequence of them, the newest first; `total` counts all."""

    documents: tuple[Document, ...]
    total: int


class DeprecateReport(_Value, frozen=True, kw_only=True):
    """Holds which memories `deprecate(where=…)` withdrew, or with `dry_run` would.

    `had_superseded`: memories that those which the filter selects had superseded, and that it does
    not select. They stay superseded; committing the text of one again makes it current.
    """

    memory_ids: tuple[str, ...]
    had_superseded: tuple[str, ...] = ()
    dry_run: bool = False
    seq: int
    warnings: tuple[str, ...] = ()
    degraded: tuple[Degradation, ...] = ()


class ReplacedMemory(_Value, frozen=True, kw_only=True):
    """A supersession: `new` took the place of `old`; None where `new` was forgotten since."""

    old: str
    new: str | None
    when: datetime
    reason: str


class UpdatedMemory(_Value, frozen=True, kw_only=True):
    """An update of the fields of a memory, or of its `status`: archived or unarchived."""

    id: str
    when: datetime
    fields: tuple[str, ...]


class WithdrawnMemory(_Value, frozen=True, kw_only=True):
    """A memory that was withdrawn as wrong."""

    id: str
    when: datetime
    reason: str


class EndedMemory(_Value, frozen=True, kw_only=True):
    """A memory whose fact was said to have ended at `t_invalid`."""

    id: str
    when: datetime
    t_invalid: str
    reason: str


class MergedEntity(_Value, frozen=True, kw_only=True):
    """An entity that was merged into another."""

    id: str
    into: str
    when: datetime


class ForgottenMemory(_Value, frozen=True, kw_only=True):
    """A memory that was forgotten, by whom, and how many rows went with it."""

    id: str
    when: datetime
    actor: str | None
    counts: dict[str, int]


class DiffReport(_Value, frozen=True, kw_only=True):
    """Holds what was recorded after `start` and until `end`, each list by time, then id.

    Nothing is netted: what was learnt and withdrawn within the span stands in both lists. What
    was forgotten stands in `forgotten` alone, for nothing else of it is left.
    """

    start: datetime
    end: datetime
    learnt: tuple[Memory, ...]
    changed: tuple[ReplacedMemory | UpdatedMemory, ...]
    withdrawn: tuple[WithdrawnMemory, ...]
    ended: tuple[EndedMemory, ...]
    merged_entities: tuple[MergedEntity, ...]
    forgotten: tuple[ForgottenMemory, ...]
    seq: int


class ForgetReport(_Value, frozen=True, kw_only=True):
    """Holds what `forget` removed, and the proof that it is gone from every file.

    `reembedded`: memories that stay and whose claims lost evidence. What was made of it is removed,
    and made again without it; later, where `degraded` has `enrichment_pending`. `derived_removed`:
    claims that a model had read out of the removed memories alone. `documents_removed`: newest
    versions of documents that were forgotten with all their versions. `residual_holders`: summaries
    that cover the removed memories, were kept as asked. `had_superseded`: memories that stay and
    that the removed ones had superseded; they stay superseded, and committing the text of one again
    makes it current. `same_text`: memories that stay and have the very text of one that went.
    `also_named`: where entities selected, memories that stay and have a word of a name of theirs.
    `rows_removed` counts per table. `shared_occurrences`: forgotten bytes that others hold as well;
    of a view those of `same_text`. `residues` is 0: else it is an error. `outside`: what is not of
    this store and may hold the texts. `machines_open`: machines with a copy of the tenant that have
    not searched yet; each does at its next call. `warnings`: what stays and may have been meant.
    """

    memory_ids: tuple[str, ...]
    reembedded: tuple[str, ...] = ()
    had_superseded: tuple[str, ...] = ()
    same_text: tuple[str, ...] = ()
    also_named: tuple[str, ...] = ()
    rows_removed: dict[str, int]
    entities_removed: int = 0
    summaries_removed: tuple[str, ...] = ()
    derived_removed: tuple[str, ...] = ()
    documents_removed: tuple[str, ...] = ()
    residual_holders: tuple[str, ...] = ()
    edges_removed: int
    files_scanned: int
    bytes_scanned: int
    shared_occurrences: int
    residues: int
    outside: str
    machines_open: tuple[str, ...] = ()
    dry_run: bool = False
    seq: int
    degraded: tuple[Degradation, ...] = ()
    warnings: tuple[str, ...] = ()


class TenantReport(_Value, frozen=True, kw_only=True):
    """Describes a tenant.

    `state`: active, moving (no writes), arriving (not whole here yet) or moved. `position`: how
    many changes it has had. `snapshot`: the position that its snapshot holds, `change_bytes`: what
    the changes after it take. `machines`: those with a copy and how far each is known to have come,
    where one tenant is asked for. `path`: where it was copied to. `moved_to`: the database that it
    moves or moved to.
    """

    tenant: str
    state: str
    position: int
    ledger_schema: int
    snapshot: int
    change_bytes: int
    machines: tuple[str, ...] = ()
    path: str | None = None
    moved_to: str | None = None


class TokenReport(_Value, frozen=True, kw_only=True):
    """Describes a token of a tenant.

    `id`: names it to revoke it. `rights`: read, write (and read) or admin (all). `expires`: when it
    ends; None: never. `token`: the token itself, told once, where it is made.
    """

    id: str
    tenant: str
    rights: str
    label: str = ""
    created: datetime
    expires: datetime | None = None
    token: str | None = None

    def __repr__(self) -> str:
        return f"TokenReport(id={self.id!r}, tenant={self.tenant!r}, rights={self.rights!r})"


class FleetReport(_Value, frozen=True, kw_only=True):
    """Holds what was found in a database of tenants. `address` names no password."""

    address: str
    findings: tuple[Finding, ...]


class PruneKept(_Value, frozen=True, kw_only=True):
    """Counts of the memories that were due and stay: they are pinned, of the policy `permanent`, or
    their `retention_until` has not come."""

    pinned: int = 0
    permanent: int = 0
    retention_until: int = 0


class PruneReport(_Value, frozen=True, kw_only=True):
    """Holds what `prune` removed for good, or with `dry_run` would.

    `evaluated`: how many memories it looked at, `removed`: how many went, with `memory_ids`;
    `errors`: those that could not, by places among the due; `warnings`: what ends or holds on.
    """

    evaluated: int
    removed: int
    kept: PruneKept = PruneKept()
    memory_ids: tuple[str, ...] = ()
    errors: tuple[ItemError, ...] = ()
    dry_run: bool = False
    seq: int
    degraded: tuple[Degradation, ...] = ()
    warnings: tuple[str, ...] = ()


class StoredSecret(_Value, frozen=True, kw_only=True):
    """A memory that holds secrets, or whose events do, an item by `scope` and `key` (masked), or an
    entity, edge or source by `id`; and the rules by which they were found."""

    memory_id: str | None = None
    id: str | None = None
    key: str | None = None
    scope: str | None = None
    rules: tuple[MaskedSecret, ...]


class SecretsReport(SequenceResult[StoredSecret], frozen=True, kw_only=True):
    """The holders of secrets, a sequence. `evaluated`, `items_evaluated`: memories and items that
    were looked at; `fixed`, `items_fixed`: those in whose place masked ones stand. `errors`: what
    cannot be masked, and what to do.
    """

    found: tuple[StoredSecret, ...]
    evaluated: int
    fixed: int = 0
    items_evaluated: int = 0
    items_fixed: int = 0
    errors: tuple[ItemError, ...] = ()
    dry_run: bool = False
    seq: int


class Item(_Value, frozen=True, kw_only=True):
    """A value that is kept by key.

    `version`: 1 for the first value of a key, and one more for each that took its place. The key
    starts again at 1 once it was deleted.
    """

    key: str
    scope: str | None = None
    namespace: str
    value: Any
    version: int
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None


class PutOutcome(_Value, frozen=True, kw_only=True):
    """Holds how a put ended.

    `changed`: false where the key had this value, text and end already, and nothing was written.
    `memory_ids`: the memories that are its text, in order. `masked`: secrets that were taken out
    of value and text.
    """

    key: str
    scope: str | None = None
    namespace: str
    version: int
    changed: bool
    memory_ids: tuple[str, ...] = ()
    masked: tuple[MaskedSecret, ...] = ()
    warnings: tuple[str, ...] = ()
    degraded: tuple[Degradation, ...] = ()
    seq: int


class ItemPage(SequenceResult[Item], frozen=True, kw_only=True):
    """One page of items, by scope and key; a sequence of `Item`.

    `total`: how many there are in all; `seq`: the state that was read.
    """

    items: tuple[Item, ...]
    total: int
    offset: int
    seq: int


class GcReport(_Value, frozen=True, kw_only=True):
    """Holds what `gc` removed, or with `dry_run` would. `items_removed`: items past their
    `expires`, with the memories that were their texts."""

    items_removed: int = 0
    sources_removed: int
    entities_removed: int = 0
    edges_removed: int
    dry_run: bool = False
    seq: int


class Finding(_Value, frozen=True, kw_only=True):
    """One line of `doctor`: level is ok, finding or damage."""

    check: str
    level: str
    detail: str


class DoctorReport(_Value, frozen=True, kw_only=True):
    """Result of all checks."""

    findings: tuple[Finding, ...]
    seq: int

    @property
    def exit_code(self) -> int:
        """0 clean, 1 findings, 3 damage."""
        levels = {finding.level for finding in self.findings}
        return 3 if "damage" in levels else 1 if "finding" in levels else 0

    def plain_fields(self) -> dict[str, Any]:
        """Findings and the verdict."""
        return {"findings": self.findings, "seq": self.seq, "exit_code": self.exit_code}


class StoreStats(_Value, frozen=True, kw_only=True):
    """Holds what a namespace holds (`admin.stats`). `scopes` counts the memories of the hundred
    largest of `scopes_total` scopes, `unscoped` those of none, `namespaces` those of every
    namespace of the store. `bytes` is the size of the whole ledger, `seq`
    the number of the store's last write, `requests` the number of entries in the log of requests;
    `projection` has rows, segments and bytes of the arrays that are not empty."""

    memories: int
    kinds: dict[str, int]
    statuses: dict[str, int]
    unscoped: int
    scopes_total: int
    scopes: dict[str, int]
    namespaces: dict[str, int]
    embedded: int
    token_codes: int
    entities: int
    edges: dict[str, int]
    events: int
    sources: int
    claims: int
    jobs: dict[str, int]
    requests: int
    seq: int
    last_commit_at: datetime | None
    bytes: int
    projection: dict[str, Any]


class RebuildReport(_Value, frozen=True, kw_only=True):
    """Holds what `admin.rebuild` made: rows of the projection, texts embedded again, memories that
    got codes of word pieces, the state it stands at, and its bytes."""

    rows: int
    embedded: int
    tokens: int
    seq: int
    generation: int
    bytes: int


class CompactReport(_Value, frozen=True, kw_only=True):
    """Holds what `admin.compact` changed: segments and their bytes before and after."""

    rows: int
    segments_before: int
    segments: int
    bytes_before: int
    bytes: int
    bytes_written: int


class BackupReport(_Value, frozen=True, kw_only=True):
    """Where `admin.backup` put the copy, or `vestig.restore` the store, and how large it is.
    `memories`: of every namespace, by `statuses`; `count` has what is active or holds until a later
    one begins."""

    path: str
    memories: int
    statuses: dict[str, int]
    ledger_bytes: int
    projection_bytes: int
    files: int
    seq: int


class DestroyReport(_Value, frozen=True, kw_only=True):
    """Holds what `vestig destroy` removed; `store_uuid` and `transactions` are None for a ledger
    that was too damaged to say. `left`: the first files of others in its folder, which stay, and
    `left_more` how many there are beyond those; `outside`: what else stays."""

    path: str
    store_uuid: str | None
    transactions: int | None
    files: int
    bytes: int
    outside: str
    left: tuple[str, ...] = ()
    left_more: int = 0


class ExportReport(_Value, frozen=True, kw_only=True):
    """Lines of an export in all, records by kind, and references to memories that it leaves out."""

    lines: int
    records: dict[str, int]
    cut_references: int = 0
    warnings: tuple[str, ...] = ()

    def plain_fields(self) -> dict[str, Any]:
        """Lines, each kind of record and cut references side by side; warnings where there are."""
        plain = {"lines": self.lines, **self.records, "cut_references": self.cut_references}
        return plain | ({"warnings": self.warnings} if self.warnings else {})


class EdgeRebuildReport(_Value, frozen=True, kw_only=True):
    """Holds what `graph.rebuild_edges` changed of the edges of one type."""

    edge_type: str
    memories: int
    kept: int
    added: int
    expired: int
    reweighted: int
    seq: int
    degraded: tuple[Degradation, ...] = ()

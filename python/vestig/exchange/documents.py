"""Documents brought in by files or as text.

An import compares each, passage by passage, with its version before.

Invariant: what a document lacks ends in the same transaction in which its source is written, so an
import that is interrupted leaves the version before as it was, and one that is repeated ends as if
it had not been interrupted. Of several files that is done once all are read, so that a passage
which moves from one to another stays, whatever their order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from vestig.arguments import LABEL_CHARS_MAX
from vestig.calls.files import AddDocumentRequest
from vestig.commit.document_version import DocumentVersion, lost_of, write_versions
from vestig.commit.forgotten_passages import forgotten_texts
from vestig.commit.item import Item
from vestig.commit.pipeline import Part, commit_part, prepare_part, without_echoes
from vestig.commit.vectors_ahead import VectorsAhead
from vestig.errors import ValidationError, VestigError
from vestig.exchange.commit_fields import Run, Tally, named
from vestig.exchange.document_hints import hints_on
from vestig.exchange.document_text import (
    DocumentText,
    FrontMatter,
    dated,
    document_at,
    document_of,
    front_matter,
)
from vestig.exchange.inputs import Input
from vestig.exchange.kept_passages import (
    DATED,
    TAGS,
    Before,
    KnownFiles,
    before_of,
    is_unchanged,
    others_of,
    passages_of,
    update_of,
)
from vestig.exchange.moved_folders import ReadFile, moved_documents
from vestig.exchange.passages import CutDocument, Markup, Passage, cut_document
from vestig.exchange.shared_titles import SharedTitles
from vestig.firewall import SecretError, counted, masked_text
from vestig.ids import new_id
from vestig.results import FORGOTTEN_PASSAGE, AddedDocument
from vestig.session.session import Session, cleaned, count_secrets
from vestig.store.records import documents
from vestig.store.records.documents import DocumentName
from vestig.store.records.reads import LedgerView
from vestig.times import from_us
from vestig.turns import give_way, shared_or
from vestig.types import CommitOutcome, CommitOutcomeKind, ItemError, Memory, OriginType, Source

# Passages of one transaction; those of two are held at a time.
_GROUP_PASSAGES: Final = 250
# Of one transaction, of those that are written once all files are read.
_LATE_DOCUMENTS: Final = 100


class DocumentFile(NamedTuple):
    """A document that is to be read: `path` and `file_us` as of `DocumentText`, `size` in bytes.
    `read` raises `ValidationError` where it cannot be."""

    tally: Tally
    path: str | None
    size: int
    file_us: int | None
    read: Callable[[], DocumentText]


class DocumentOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Holds for all documents of an import; `shared`: arguments of `commit`."""

    scope: str | None
    shared: dict[str, Any]
    passage_chars: int
    force: bool = False
    dry_run: bool = False


class _Document(msgspec.Struct, kw_only=True, eq=False):
    """A document that was read, the newest version of it before, and what that gave."""

    file: DocumentFile
    version: DocumentVersion
    previous: Source | None
    passages: int
    items: list[Item]
    before: Before
    added: int = 0
    kept: int = 0

    @property
    def moved(self) -> tuple[str, str] | None:
        """The paths before and now of one whose file has moved."""
        before = self.version.moved_from
        return None if before is None else (str(before.path), str(self.version.name.path))


class _BlankDocumentError(Exception):
    """A file without any text, which is passed over."""


class _Share(NamedTuple):
    """Passages of a document in one transaction; `is_last`: all others are written before."""

    document: _Document
    items: list[Item]
    is_last: bool


class _Group(NamedTuple):
    """Passages of a transaction. `part`: those that were new when they were read."""

    shares: list[_Share]
    part: Part


def import_documents(
    session: Session,
    files: Sequence[DocumentFile],
    options: DocumentOptions,
    gone: Sequence[Source] = (),
) -> frozenset[str]:
    """Imports documents; their tallies say how each ended.

    Args:
        gone: newest versions of documents whose files are gone, of which each may be that of a new
            file: one of the same size and ending, with the same passages and time.

    Returns:
        Hashes of the texts of documents that were compared, in a dry run.
    """
    reader, written = _Reader(session, files, options, gone), 0
    late: list[_Document] = []
    with VectorsAhead(session) as ahead:
        groups = reader.groups()
        group = next(groups, None)
        while group is not None:
            following = next(groups, None)
            if options.dry_run:
                reader.count(group)
            else:
                late += _write(session, reader, group, following, ahead)
                written += sum(len(share.items) for share in group.shares)
                if len(files) == 1:
                    give_way(written, group.shares[0].document.passages)
                else:
                    give_way()
            group = following
    if options.dry_run:
        reader.count_all()
    else:
        _write_late(session, late)
        reader.titles.lost([id for one in late for id in one.version.left])
        reader.titles.write()
    return frozenset(reader.seen)


def _write(
    session: Session,
    reader: _Reader,
    group: _Group,
    following: _Group | None,
    ahead: VectorsAhead,
) -> list[_Document]:
    """The transaction of a group: what is new of it, and the documents that end with it, but for
    those that are to be written once all others are, which are returned."""
    chosen = reader.divided(group)
    part = Part([None] * len(chosen), list(enumerate(chosen)), 0)
    ended = [share.document for share in group.shares if share.is_last]
    changed = [one for one in ended if not _is_known(session, one)]
    late = reader.late(changed)
    versions = [one.version for one in changed if one not in late]
    outcomes = []
    if chosen:
        outcomes = commit_part(
            session, part, None if following is None else following.part, ahead, versions
        )
    elif versions:
        write_versions(session, versions)
    owners = {id(item): share.document for share in group.shares for item in share.items}
    for item, outcome in zip(chosen, outcomes, strict=True):
        document = owners[id(item)]
        tally = document.file.tally
        if isinstance(outcome, ItemError):
            tally.refuse_part(outcome)
            continue
        tally.run.degrade(outcome.degraded)
        if outcome.outcome is CommitOutcomeKind.REJECTED_HYGIENE:
            tally.refuse_part(_refusal(0, outcome))
            continue
        inserted = outcome.outcome is CommitOutcomeKind.INSERTED_NEW
        document.added += inserted
        document.kept += not inserted
        tally.memories += inserted
    for share in group.shares:
        share.document.version.settle()
    for document in ended:
        reader.titles.lost(document.version.left)
        if document not in late:
            _count(document, document.version.ended if document in changed else None)
    return late


def _write_late(session: Session, late: Sequence[_Document]) -> None:
    """The documents that lack passages of before, once all others are written."""
    stays = {id for one in late for id in one.version.ids.values()}
    for start in range(0, len(late), _LATE_DOCUMENTS):
        some = late[start : start + _LATE_DOCUMENTS]
        write_versions(session, [one.version for one in some], stays)
        for document in some:
            _count(document, document.version.ended)
        give_way()


def _count(document: _Document, ended: int | None) -> None:
    """Counts a document that was compared; `ended` None: it is as its newest version."""
    document.file.tally.document(
        source_id=None if ended is None else document.version.source_id,
        known=document.previous,
        passages=document.passages,
        added=document.added,
        kept=document.kept,
        ended=ended or 0,
        moved=document.moved,
    )


def _is_known(session: Session, document: _Document) -> bool:
    """Return whether a document is as its newest version, so that no other is written."""
    version, previous = document.version, document.previous
    if previous is None or version.moved_from is not None or version.items or version.updates:
        return False
    ids = set(version.ids.values())
    if not ids <= document.before.ids:
        return False
    if document.file.file_us is not None and not _is_unchanged(previous, document.file):
        return False
    forgotten = documents.memory_count(previous) - len(document.before.ids)
    if len(version.forgotten) != max(0, forgotten):
        return False
    with session.ledger.read() as view:
        return all(one.id in ids for one in version.stated(view))


def _is_unchanged(previous: Source, file: DocumentFile) -> bool:
    return file.file_us is not None and is_unchanged(previous, file.size, file.file_us)


def _refusal(place: int, outcome: CommitOutcome) -> ItemError:
    """The error of a passage that hygiene refuses."""
    why = "; ".join(outcome.hygiene_reasons)
    return ItemError(index=place, code="hygiene-rejected", message=why)


def _is_new(previous: Source | None) -> bool:
    return previous is None or documents.has_ended(previous)


def _lengths(items: Sequence[Item]) -> dict[str, int]:
    """Text → its length, of passages in order."""
    return {item.identity: len(item.given) for item in items}


class _Reader:
    """Reads documents a transaction ahead of what is written."""

    def __init__(
        self,
        session: Session,
        files: Sequence[DocumentFile],
        options: DocumentOptions,
        gone: Sequence[Source],
    ) -> None:
        self._session = session
        self._files = files
        self._options = options
        self._gone = list(gone)
        self._from: dict[str, Source] = {}
        # passages that a dry run has seen, and documents
        self.seen: set[str] = set()
        self._counted: list[_Document] = []
        self._known = KnownFiles(session, options.scope)
        self.titles = SharedTitles(session)

    def groups(self) -> Iterator[_Group]:
        """The passages of all documents that are to be compared, a transaction at a time."""
        shares: list[_Share] = []
        size, most = 0, shared_or(_GROUP_PASSAGES)
        for document in self._documents():
            items = document.items
            document.items = []
            while len(items) > most - size:
                taken, items = items[: most - size], items[most - size :]
                yield self._prepared([*shares, _Share(document, taken, is_last=False)])
                shares, size = [], 0
            shares.append(_Share(document, items, is_last=True))
            size += len(items)
        if shares:
            yield self._prepared(shares)

    def late(self, changed: Sequence[_Document]) -> list[_Document]:
        """Those of some documents that lack a passage of before, which another file may hold."""
        if len(self._files) == 1:
            return []
        with self._session.ledger.read() as view:
            return [
                one
                for one in changed
                if not {memory.id for memory in one.version.stated(view)}.issubset(
                    one.version.ids.values()
                )
            ]

    def divided(self, group: _Group) -> list[Item]:
        """The passages that are new to the store, each once; the others are kept. All are noted in
        the versions of their documents."""
        chosen, owners = dict[str, Item](), dict[str, DocumentName]()
        with self._session.ledger.read() as view:
            for document, items, _ in group.shares:
                name = document.version.name
                for item in self._not_kept(view, document, items):
                    first = owners.setdefault(item.identity, name)
                    if first != name:
                        self.titles.note(chosen[item.identity], first)
                        self.titles.note(item, name)
                    document.kept += item.identity in chosen
                    document.version.items.append(chosen.setdefault(item.identity, item))
        return list(chosen.values())

    def count(self, group: _Group) -> None:
        """Counts what a group would do."""
        with self._session.ledger.read() as view:
            for document, items, is_last in group.shares:
                for item in self._not_kept(view, document, items):
                    is_new = item.identity not in self.seen
                    document.added += is_new
                    document.kept += not is_new
                    document.file.tally.memories += is_new
                    self.seen.add(item.identity)
                self.seen.update(item.identity for item in items)
                if is_last:
                    self._counted.append(document)

    def _not_kept(
        self, view: LedgerView, document: _Document, items: Sequence[Item]
    ) -> Iterator[Item]:
        """Yields the passages of a document that do not stand; those that do are noted and counted,
        and those that were forgotten."""
        version, standing = document.version, self._standing(view, document.before.ids, items)
        now_us = self._session.now_us()
        for item in items:
            known = standing.get(item.identity)
            if known is not None:
                others = others_of(view, version, known)
                if others or known.id not in document.before.ids:
                    self.titles.note(item, version.name)
                update = update_of(others, version, document.before, known, item, now_us)
                if update is not None:
                    version.updates[known.id] = update
                version.ids[item.identity] = known.id
                document.kept += 1
            elif item.identity in version.forgotten:
                document.file.tally.left_out[FORGOTTEN_PASSAGE] += 1
            else:
                yield item

    def count_all(self) -> None:
        """Counts the documents of a dry run, and the passages that would end."""
        with self._session.ledger.read() as view:
            lost = lost_of(view, [one.version for one in self._counted])
            for document, (_, gone, _) in zip(self._counted, lost, strict=True):
                is_known = not (document.added or gone) and _is_known(self._session, document)
                _count(document, None if is_known else len(gone))

    def _prepared(self, shares: list[_Share]) -> _Group:
        """A group with what is new in it as of now, to be embedded ahead."""
        fresh: dict[str, Item] = {}
        with self._session.ledger.read() as view:
            for document, items, _ in shares:
                standing = self._standing(view, document.before.ids, items)
                for item in items:
                    if item.identity in standing or item.identity in document.version.forgotten:
                        continue
                    fresh.setdefault(item.identity, item)
        return _Group(shares, Part([None] * len(fresh), list(enumerate(fresh.values())), 0))

    def _standing(
        self, view: LedgerView, produced: Container[str], items: Sequence[Item]
    ) -> dict[str, Memory]:
        """Text → the unexpired passage that has it in the document's scope, or that the version
        before produced."""
        known = view.known_hashes(self._session.namespace, [item.identity for item in items])
        found: dict[str, Memory] = {}
        for item in items:
            if item.identity not in known or item.identity in found:
                continue
            memory = view.first_with_text(*item.text_key)
            if memory is None:
                continue
            passage = memory.origin_type is OriginType.DOCUMENT and memory.session_id is None
            if passage or memory.id in produced:
                found[item.identity] = memory
        return found

    def _documents(self) -> Iterator[_Document]:
        """The documents whose files have changed."""
        with self._session.ledger.read() as view:
            newest = documents.newest_versions(view, self._session.namespace)
            names = [DocumentName(self._options.scope, file.path) for file in self._files]
            known = [newest[name] for name in names if name in newest]
            standing = documents.product_counts(view, self._session.namespace, known)
            to_read_again = documents.wrongly_ended(view, self._session.namespace, known)
        new = [
            ReadFile(str(name.path), file.size, file.file_us)
            for name, file in zip(names, self._files, strict=True)
            if file.file_us is not None and _is_new(newest.get(name))
        ]
        self._from = moved_documents(newest, new, self._options.scope)
        self._gone += [one for one in self._from.values() if one not in self._gone]
        for name, file in zip(names, self._files, strict=True):
            previous = newest.get(name)
            force = self._options.force or (previous is not None and previous.id in to_read_again)
            if previous is not None and not force and _is_unchanged(previous, file):
                forgotten = documents.memory_count(previous) - standing.get(previous.id, 0)
                passages = passages_of(previous)
                file.tally.unchanged(previous.id, passages, max(0, passages - forgotten))
                if forgotten:
                    file.tally.left_out[FORGOTTEN_PASSAGE] += forgotten
                continue
            try:
                yield self._document(file, previous)
            except _BlankDocumentError:
                file.tally.lines += 1
                file.tally.left_out["blank file"] += 1
            except (VestigError, OSError) as error:
                file.tally.fail(error)
                file.tally.run.unread.append(file.tally.source.name)

    def _document(self, file: DocumentFile, previous: Source | None) -> _Document:
        text = self._clean(file)
        matter = FrontMatter()
        if text.markup is Markup.MARKDOWN:
            matter = front_matter(text.text)
        if matter.left_out:
            file.tally.left_out["front matter field"] += len(matter.left_out)
            file.tally.run.front_matter.update(matter.left_out)
        controls = text.control_characters + matter.control_characters
        if controls:
            file.tally.left_out["control character"] += controls
            file.tally.run.warn(f"{controls} control characters were left out")
        file.tally.left_out.update(text.left_out)
        cut = self._cut(text, matter)
        old = None
        if cut.passages and _is_new(previous):
            moved = self._moved(file, text, matter)
            if moved is not None:
                return moved
            old = self._edited(file, cut)
        if not cut.passages and previous is None:
            if file.file_us is not None:
                raise _BlankDocumentError
            raise ValidationError("document", "", "", message="the document holds no text")
        name = DocumentName(self._options.scope, file.path)
        version = self._version(file, text, cut, name)
        if old is not None:
            previous, version.moved_from = old, documents.name_of(old)
        part = self._part(text, matter, cut, version)
        items = self._items(file, part, version)
        self._note(version, items, matter, text)
        for hint in hints_on(text, file.tally.source.name, len(items)):
            file.tally.run.warn(hint)
        if file.path is None:
            previous = self._known_by_passages(items)
        made: list[Memory] = []
        if previous is not None:
            with self._session.ledger.read() as view:
                made = documents.products(view, previous.id)
        version.forgotten = self._forgotten(file, text, matter, version, items)
        return _Document(
            file=file,
            version=version,
            previous=previous,
            passages=len(items),
            items=items,
            before=before_of(previous, made),
        )

    def _edited(self, file: DocumentFile, cut: CutDocument) -> Source | None:
        """The document that an edited file of a moved folder was."""
        old = self._from.get(str(file.path))
        if old not in self._gone or old is None or old.metadata.get("title") != cut.title:
            return None
        self._gone.remove(old)
        return old

    def _note(
        self,
        version: DocumentVersion,
        items: Sequence[Item],
        matter: FrontMatter,
        text: DocumentText,
    ) -> None:
        """Notes in a version what it gives to its passages, and how long these are."""
        shared = self._options.shared.get("tags") or ()
        dated_us, _ = dated(matter.date_us, text, self._session.now_us())
        noted = {TAGS: list(dict.fromkeys((*matter.tags, *shared))), DATED: dated_us}
        version.metadata |= {"passages": len(items), **noted}
        version.chars = _lengths(items)

    def _forgotten(
        self,
        file: DocumentFile,
        text: DocumentText,
        matter: FrontMatter,
        version: DocumentVersion,
        items: Sequence[Item],
    ) -> frozenset[str]:
        """Those of the texts of a file that were forgotten: passages of it, or of a document with
        the same passages whose file was moved or copied. A text that a caller gives is taken."""
        if file.path is None or file.file_us is None:
            return frozenset()
        known = self._known.of(version.moved_from or version.name)
        if known is not None:
            return self._forgotten_of(known, version.chars, items, text.size)
        for one in self._known.of_size(text.size, text.format):
            before = document_at(text, str(one.path))
            part = self._part(before, matter, self._cut(before, matter), version)
            there = [item for _, item in part.items if item.outcome is None]
            chars = _lengths(there)
            found = self._forgotten_of(one, chars, there, text.size)
            with self._session.ledger.read() as view:
                left = documents.products(view, one.id)
            is_same = all(memory.content_hash in chars for memory in left)
            is_same = is_same and documents.memory_count(one) - len(left) == len(found)
            if is_same and len(chars) == len(version.chars) and (left or _is_unchanged(one, file)):
                pairs = zip(chars, version.chars, strict=True)
                return frozenset(now for then, now in pairs if then in found)
        return frozenset()

    def _forgotten_of(
        self, known: Source, chars: Mapping[str, int], items: Sequence[Item], size: int
    ) -> frozenset[str]:
        with self._session.ledger.read() as view:
            left = documents.products(view, known.id)
            stand = self._standing(view, frozenset(), items)
        fresh = chars.keys() - stand.keys() - {one.content_hash for one in left}
        return forgotten_texts(chars, size, known, left, fresh)

    def _cut(self, text: DocumentText, matter: FrontMatter) -> CutDocument:
        return cut_document(
            text.text[matter.body :],
            self._options.passage_chars,
            title=text.title or matter.title,
            name=text.label,
            markup=text.markup,
        )

    def _part(
        self, text: DocumentText, matter: FrontMatter, cut: CutDocument, version: DocumentVersion
    ) -> Part:
        """The passages of a version, checked."""
        said = dated(matter.date_us, text, self._session.now_us())
        requests = [
            self._request(passage, version, *said, tags=matter.tags, author=text.author)
            for passage in cut.passages
        ]
        return prepare_part(self._session, requests, whole=range(len(requests)))

    def _moved(
        self, file: DocumentFile, text: DocumentText, matter: FrontMatter
    ) -> _Document | None:
        """A document under its new name, with the passages that it has; None where no file that is
        gone was this one."""
        name = DocumentName(self._options.scope, file.path)
        base = os.path.basename(str(file.path))
        fitting = [
            one
            for one in self._gone
            if (one.metadata.get("size"), one.metadata.get("format")) == (text.size, text.format)
        ]
        now_us = self._session.now_us()
        # a file that lies in another folder comes before one of another name
        fitting.sort(key=lambda one: os.path.basename(str(one.path)) != base)
        for old in fitting:
            before = document_at(text, str(old.path))
            cut = self._cut(before, matter)
            version = self._version(file, before, cut, name)
            if dated(matter.date_us, before, now_us) != dated(matter.date_us, text, now_us):
                continue
            part = self._part(before, matter, cut, version)
            items = [item for _, item in part.items if item.outcome is None]
            with self._session.ledger.read() as view:
                made = documents.products(view, old.id)
            lengths = _lengths(items)
            if not {one.content_hash for one in made} <= lengths.keys():
                continue
            forgotten = self._forgotten_of(old, lengths, items, text.size)
            if len(lengths) != len(made) + len(forgotten):
                continue
            self._gone.remove(old)
            self._items(file, part, version)
            self._note(version, items, matter, before)
            version.ids = {one.content_hash: one.id for one in made}
            version.forgotten = forgotten
            version.moved_from = documents.name_of(old)
            if forgotten:
                file.tally.left_out[FORGOTTEN_PASSAGE] += len(forgotten)
            return _Document(
                file=file,
                version=version,
                previous=old,
                passages=len(items),
                items=[],
                before=before_of(old, made),
                kept=len(made),
            )
        return None

    def _items(self, file: DocumentFile, part: Part, version: DocumentVersion) -> list[Item]:
        """The passages of a version that can be stored; the others are counted.

        Raises:
            ValidationError: there are passages, and all are refused.
        """
        items = [item for _, item in part.items if item.outcome is None]
        for item in items:
            item.document = version.source_id
        refused = [one for one in part.results if isinstance(one, ItemError)]
        refused += [_refusal(at, item.outcome) for at, item in part.items if item.outcome]
        if refused and not items:
            raise ValidationError(
                "document", "", "",
                message=f"none of its {len(refused)} passages can be stored: {refused[0].message}",
            )  # fmt: skip
        for one in refused:
            file.tally.refuse_part(one)
        return items

    def _clean(self, file: DocumentFile) -> DocumentText:
        """A document without secrets and without what the store printed of its memories; what was
        done is counted and told.

        Raises:
            ValidationError: it holds a secret, and these are refused; or its path holds one.
        """
        mode = self._session.config.settings.firewall.secrets
        if file.path is not None and mode != "off":
            rules = masked_text(file.path)[1]
            if rules:
                count_secrets(self._session, rules[:1], "refused")
                raise SecretError("path", rules[0])
        text = file.read()
        given = {"content": text.text, "title": text.label, "topic": text.title}
        clean = cleaned(self._session, given)
        if clean.refused is not None:
            count_secrets(self._session, clean.rules, "rejected")
            raise ValidationError(
                "document", "", "", message=f"Content contains a secret ({clean.refused})"
            )
        said = without_echoes(self._session, self._session.namespace, clean.arguments["content"])
        file.tally.secrets(counted(clean.secrets))
        file.tally.echoes(said.echoes, [f"content[{start}:{end}]" for start, end in said.places])
        count_secrets(self._session, clean.rules, "masked")
        label, title = clean.arguments["title"], clean.arguments["topic"]
        return msgspec.structs.replace(text, text=said.text, label=label, title=title)

    def _version(
        self, file: DocumentFile, text: DocumentText, cut: CutDocument, name: DocumentName
    ) -> DocumentVersion:
        file_us = self._session.now_us() if file.file_us is None else file.file_us
        metadata: dict[str, Any] = {
            "title": cut.title,
            "format": text.format,
            "size": text.size,
        }
        if file.file_us is not None:
            metadata["file"] = True
        if self._options.scope is not None:
            metadata["scope"] = self._options.scope
        return DocumentVersion(
            source_id=new_id("source"),
            namespace=self._session.namespace,
            name=name,
            file_us=file_us,
            metadata=metadata,
        )

    def _request(
        self,
        passage: Passage,
        version: DocumentVersion,
        t_ref_us: int,
        time_from: str,
        *,
        tags: Sequence[str],
        author: str | None,
    ) -> dict[str, Any]:
        """The arguments of `commit` of a passage; a heading that begins with a day says its time,
        unless it lies behind that of the file: what is planned there was written before."""
        if passage.day_us is not None and passage.day_us <= version.file_us:
            t_ref_us, time_from = passage.day_us, "heading"
        shared, path = self._options.shared, version.name.path
        request = {
            **shared,
            "content": passage.content,
            "title": passage.title or None,
            "origin_type": OriginType.DOCUMENT.value,
            "scope": self._options.scope,
            "t_ref": from_us(t_ref_us),
            "artifact_ref": path if path and len(path) <= LABEL_CHARS_MAX else None,
            "metadata": {"passage": passage.number, "time_from": time_from},
        }
        if author is not None:
            request["author"] = author
        if tags:
            request["tags"] = [*tags, *(one for one in shared.get("tags") or () if one not in tags)]
        if passage.links:
            request["entities"] = [*shared.get("entities", ()), *passage.links]
        return request

    def _known_by_passages(self, items: Sequence[Item]) -> Source | None:
        """The version of a document without a path that has exactly these passages."""
        if not items:
            return None
        with self._session.ledger.read() as view:
            first = view.first_with_text(*items[0].text_key)
            if first is None:
                return None
            for source in view.sources(self._session.namespace, first.id):
                name = documents.name_of(source)
                if source.source_type == "file" and name == (self._options.scope, None):
                    made = documents.products(view, source.id)
                    texts = {one.content_hash for one in made if one.t_expired is None}
                    if texts == {item.identity for item in items}:
                        return source
        return None


# --- a document as text ----------------------------------------------------------------------


def add_document(session: Session, asked: AddDocumentRequest) -> AddedDocument:
    """Stores a text as passages; one with the source of an earlier one takes its place."""
    if not asked.text.strip():
        raise ValidationError("text", asked.text, "", message="text cannot be empty")
    size = len(asked.text.encode("utf-8", "surrogatepass"))

    def read() -> DocumentText:
        return document_of(
            asked.text,
            label=asked.title or "",
            format=asked.format.value,
            markup=Markup(asked.format.value),
            size=size,
            path=asked.source,
            title=asked.title or "",
        )

    source = Input()
    source.name, source.size = asked.title or asked.source or "text", size
    run = Run()
    tally = Tally(source, run, lone=True)
    shared: dict[str, Any] = {
        "source": asked.source or "import",
        "tags": asked.tags,
        "entities": [named(one) for one in asked.entities] or None,
    }
    options = DocumentOptions(
        scope=asked.scope,
        shared={name: value for name, value in shared.items() if value is not None},
        passage_chars=session.config.settings.documents.passage_chars,
    )
    with session.operation("add_document", without_store="make"):
        import_documents(session, [DocumentFile(tally, asked.source, size, None, read)], options)
    if tally.failed:
        raise ValidationError("text", "", "", message=run.errors[-1].message)
    return AddedDocument(
        source_id=tally.source_id,
        passages=tally.passages,
        added=tally.added,
        kept=tally.kept,
        ended=tally.ended,
        errors=tuple(run.errors),
        warnings=tuple(run.warnings),
        degraded=tuple(run.degraded.values()),
    )

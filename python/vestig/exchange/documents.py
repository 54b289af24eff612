"""Documents of a store: brought in by files or as text, listed, forgotten.

An import compares each, passage by passage, with its version before.

Invariant: what a document lacks ends in the same transaction in which its source is written, so an
import that is interrupted leaves the version before as it was, and one that is repeated ends as if
it had not been interrupted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from vestig.arguments import LABEL_CHARS_MAX
from vestig.calls.files import AddDocumentRequest, DocumentsRequest, ForgetDocumentRequest
from vestig.calls.memories import ForgetRequest
from vestig.commit.document_version import DocumentVersion, write_versions
from vestig.commit.item import Item
from vestig.commit.pipeline import Part, commit_part, prepare_part, without_echoes
from vestig.commit.vectors_ahead import VectorsAhead
from vestig.errors import NotFoundError, ValidationError, VestigError
from vestig.exchange.commit_fields import Run, Tally, named
from vestig.exchange.document_text import (
    DocumentText,
    FrontMatter,
    date_in,
    document_at,
    document_of,
    front_matter,
)
from vestig.exchange.inputs import Input, shell_word
from vestig.exchange.passages import CutDocument, Markup, Passage, cut_document
from vestig.firewall import SecretError, counted, masked_text
from vestig.ids import new_id
from vestig.language.text_forms import count_of, sentences_by_line
from vestig.lazy_pattern import lazy_pattern
from vestig.memories.forget import forget
from vestig.other_words import by_caller
from vestig.results import FORGOTTEN_PASSAGE, AddedDocument, Document, DocumentList, ForgetReport
from vestig.session.references import unambiguous_id
from vestig.session.session import Session, cleaned, count_secrets
from vestig.store.records import documents
from vestig.store.records.documents import DocumentName
from vestig.store.records.reads import LedgerView
from vestig.times import from_us, to_us
from vestig.turns import give_way, shared_or
from vestig.types import CommitOutcome, CommitOutcomeKind, ItemError, OriginType, Source

# Passages of one transaction; those of two are held at a time.
_GROUP_PASSAGES: Final = 250


# Endings of files that have no markup.
_PLAIN: Final = ("txt", "text")
_CHAT_LINE: Final = lazy_pattern(
    r"(?im)^\W?\[?\d{1,4}[./-]\d{1,2}[./-]\d{2,4},?\s\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:\s?[ap]\.?m\.?)?"
    r"\]?(?:\s[-–])?\s(?!(?:trace|debug|info|notice|warn(?:ing)?|error|critical|fatal)\b)[^\W\d][^:\n]{0,40}:\s"
)
_FILLED_LINE: Final = lazy_pattern(r"(?m)^.*\S")


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
    """A document that was read, and the newest version of it before."""

    file: DocumentFile
    version: DocumentVersion
    previous: Source | None
    passages: int
    items: list[Item]
    # ids of the passages of the version before
    products: frozenset[str]
    added: int = 0
    kept: int = 0

    @property
    def is_same_file(self) -> bool:
        """Return whether its file has the size and time of before, and passages of it were
        forgotten since, so that a text which is not there may be one of these."""
        previous = self.previous
        if previous is None or not _is_unchanged(previous, self.file):
            return False
        forgotten = len(self.products) < documents.memory_count(previous)
        return forgotten and _passages_of(previous) == self.passages

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
    with VectorsAhead(session) as ahead:
        groups = reader.groups()
        group = next(groups, None)
        while group is not None:
            following = next(groups, None)
            if options.dry_run:
                reader.count(group)
            else:
                _write(session, reader, group, following, ahead)
                written += sum(len(share.items) for share in group.shares)
                if len(files) == 1:
                    give_way(written, group.shares[0].document.passages)
                else:
                    give_way()
            group = following
    return frozenset(reader.seen)


def _write(
    session: Session,
    reader: _Reader,
    group: _Group,
    following: _Group | None,
    ahead: VectorsAhead,
) -> None:
    """The transaction of a group: what is new of it, and the documents that end with it."""
    chosen = reader.divided(group)
    part = Part([None] * len(chosen), list(enumerate(chosen)), 0)
    ended = [share.document for share in group.shares if share.is_last]
    changed = [one for one in ended if not _is_known(session, one)]
    versions = [one.version for one in changed]
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
        version = share.document.version
        version.written, version.items = version.passage_ids(), []
    for document in ended:
        document.file.tally.document(
            source_id=None if document not in changed else document.version.source_id,
            known=document.previous,
            passages=document.passages,
            added=document.added,
            kept=document.kept,
            ended=document.version.ended if document in changed else 0,
            moved=document.moved,
        )


def _is_known(session: Session, document: _Document) -> bool:
    """Return whether a document is as its newest version, so that no other is written."""
    version, previous = document.version, document.previous
    if version.moved_from is not None:
        return False
    if version.items or not document.products.issuperset(version.written):
        return False
    if document.is_same_file:
        return True
    if previous is None:
        return False
    if document.file.file_us is not None and not _is_unchanged(previous, document.file):
        return False
    with session.ledger.read() as view:
        gone = version.gone(view, version.passage_ids())
    return not gone and set(version.kept) <= document.products


def _is_unchanged(previous: Source, file: DocumentFile) -> bool:
    if file.file_us is None or documents.has_ended(previous):
        return False
    same = previous.metadata.get("size") == file.size
    return same and to_us(previous.created_at) == file.file_us


def _refusal(place: int, outcome: CommitOutcome) -> ItemError:
    """The error of a passage that hygiene refuses."""
    why = "; ".join(outcome.hygiene_reasons)
    return ItemError(index=place, code="hygiene-rejected", message=why)


def _passages_of(source: Source) -> int:
    found = source.metadata.get("passages")
    return found if isinstance(found, int) else 0


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
        # passages that a dry run has seen
        self.seen: set[str] = set()

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

    def divided(self, group: _Group) -> list[Item]:
        """The passages that are new to the store, each once; the others are kept. All are noted in
        the versions of their documents."""
        chosen: dict[str, Item] = {}
        with self._session.ledger.read() as view:
            for document, items, _ in group.shares:
                standing = self._standing(view, document, items)
                for item in items:
                    known = standing.get(item.identity)
                    if known is not None:
                        document.version.kept.append(known)
                        document.kept += 1
                    elif document.is_same_file:
                        document.file.tally.left_out[FORGOTTEN_PASSAGE] += 1
                    else:
                        document.kept += item.identity in chosen
                        first = chosen.setdefault(item.identity, item)
                        document.version.items.append(first)
        return list(chosen.values())

    def count(self, group: _Group) -> None:
        """Counts what a group would do."""
        with self._session.ledger.read() as view:
            for document, items, is_last in group.shares:
                standing = self._standing(view, document, items)
                for item in items:
                    known = standing.get(item.identity)
                    is_new = known is None and item.identity not in self.seen
                    if known is not None:
                        document.version.kept.append(known)
                    is_new = is_new and not document.is_same_file
                    self.seen.add(item.identity)
                    document.added += is_new
                    document.kept += not is_new
                if is_last:
                    gone = document.version.gone(view, document.version.kept)
                    document.file.tally.document(
                        source_id=None,
                        known=document.previous,
                        passages=document.passages,
                        added=document.added,
                        kept=document.kept,
                        ended=0 if document.is_same_file else len(gone),
                        moved=document.moved,
                    )

    def _prepared(self, shares: list[_Share]) -> _Group:
        """A group with what is new in it as of now, to be embedded ahead."""
        fresh: dict[str, Item] = {}
        with self._session.ledger.read() as view:
            for document, items, _ in shares:
                standing = self._standing(view, document, items)
                for item in items:
                    if item.identity not in standing:
                        fresh.setdefault(item.identity, item)
        return _Group(shares, Part([None] * len(fresh), list(enumerate(fresh.values())), 0))

    def _standing(
        self, view: LedgerView, document: _Document, items: Sequence[Item]
    ) -> dict[str, str]:
        """Content hash → id of the unexpired passages with these texts in the document's scope, and
        of what the version before produced."""
        space = document.version.namespace
        known = view.known_hashes(space, [item.identity for item in items])
        found: dict[str, str] = {}
        for item in items:
            if item.identity not in known or item.identity in found:
                continue
            memory = view.first_with_text(*item.text_key)
            if memory is None:
                continue
            passage = memory.origin_type is OriginType.DOCUMENT and memory.session_id is None
            if passage or memory.id in document.products:
                found[item.identity] = memory.id
        return found

    def _documents(self) -> Iterator[_Document]:
        """The documents whose files have changed."""
        with self._session.ledger.read() as view:
            newest = documents.newest_versions(view, self._session.namespace)
            names = [DocumentName(self._options.scope, file.path) for file in self._files]
            known = [newest[name] for name in names if name in newest]
            standing = documents.product_counts(view, self._session.namespace, known)
        for name, file in zip(names, self._files, strict=True):
            previous = newest.get(name)
            if previous is not None and not self._options.force and _is_unchanged(previous, file):
                forgotten = documents.memory_count(previous) - standing.get(previous.id, 0)
                passages = _passages_of(previous)
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
        if cut.passages and (previous is None or documents.has_ended(previous)):
            moved = self._moved(file, text, matter)
            if moved is not None:
                return moved
        if not cut.passages and previous is None:
            if file.file_us is not None:
                raise _BlankDocumentError
            raise ValidationError("document", "", "", message="the document holds no text")
        name = DocumentName(self._options.scope, file.path)
        version = self._version(file, text, cut, name)
        part = self._part(text, matter, cut, version)
        items = self._items(file, part, version)
        version.metadata["passages"] = len(items)
        if text.format in _PLAIN and (turns := _chat_lines(text.text)):
            file.tally.run.warn(_as_chat(file.tally.source.name, turns, len(items)))
        elif text.format in _PLAIN and (lines := sentences_by_line(text.text)) > len(items):
            file.tally.run.warn(_by_line(file.tally.source.name, lines, len(items)))
        if file.path is None:
            previous = self._known_by_passages(items)
        products: frozenset[str] = frozenset()
        if previous is not None:
            with self._session.ledger.read() as view:
                made = documents.products(view, previous.id)
            products = frozenset(memory.id for memory in made)
        return _Document(
            file=file,
            version=version,
            previous=previous,
            passages=len(items),
            items=items,
            products=products,
        )

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
        dated = _dated(matter.date_us, text, self._session.now_us())
        requests = [
            self._request(passage, version, *dated, tags=matter.tags, author=text.author)
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
            if _dated(matter.date_us, before, now_us) != _dated(matter.date_us, text, now_us):
                continue
            part = self._part(before, matter, cut, version)
            items = [item for _, item in part.items if item.outcome is None]
            with self._session.ledger.read() as view:
                made = documents.products(view, old.id)
            stored, given = {one.content_hash for one in made}, {item.identity for item in items}
            forgotten = 0
            if _is_unchanged(old, file) and len(items) == _passages_of(old):
                forgotten = len(given - stored)
            if not stored <= given or len(given - stored) > forgotten:
                continue
            self._gone.remove(old)
            self._items(file, part, version)
            version.kept = [one.id for one in made]
            version.metadata["passages"] = len(items)
            version.metadata["memories"] = documents.memory_count(old)
            version.moved_from = documents.name_of(old)
            if forgotten:
                file.tally.left_out[FORGOTTEN_PASSAGE] += forgotten
            return _Document(
                file=file,
                version=version,
                previous=old,
                passages=len(items),
                items=[],
                products=frozenset(version.kept),
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


def _dated(date_us: int | None, text: DocumentText, now_us: int) -> tuple[int, str]:
    """When a document was written, and what says so."""
    if date_us is not None:
        return date_us, "front_matter"
    if text.date_us is not None:
        return text.date_us, "header"
    named = date_in(text.label)
    # a day to come is what the document is about
    if named is not None and named <= now_us:
        return named, "file_name"
    return (now_us, "now") if text.file_us is None else (text.file_us, "file_time")


# --- a document as text, the documents of a store, one that is forgotten ----------------------


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


def list_documents(session: Session, asked: DocumentsRequest) -> DocumentList:
    """The newest version of each document, the newest first."""
    with session.operation("documents"), session.ledger.read() as view:
        histories = documents.histories(view, session.namespace)
        newest = [history[-1] for history in reversed(histories)]
        standing = documents.product_counts(view, session.namespace, newest)
        found = [
            _document(source, standing.get(source.id, 0))
            for source in newest
            if not documents.has_ended(source)
            and (asked.scope is None or documents.name_of(source).scope == asked.scope)
            and (asked.source is None or documents.is_at(source.path, asked.source))
        ]
    return DocumentList(documents=tuple(found[: asked.limit]), total=len(found))


def forget_document(session: Session, asked: ForgetDocumentRequest) -> ForgetReport:
    """Removes all versions of a document and their passages for good.

    Raises:
        NotFoundError: no document has this id.
        ValidationError: several fit it.
    """
    space = session.in_namespace(asked.namespace)
    with session.operation("forget", without_store="make"), session.ledger.read() as view:
        histories = documents.histories(view, space)
        by_id = {
            source.id: history
            for history in histories
            for source in history
            if session.may_name(documents.name_of(source).scope)
        }
        id = unambiguous_id([one for one in by_id if one.startswith(asked.id)], "id", asked.id)
        if id is None:
            raise NotFoundError("Document", asked.id)
        chosen = by_id[id]
        ids = view.products_of(space, [source.id for source in chosen])
    request = ForgetRequest(
        ids=tuple(ids),
        force=asked.force,
        dry_run=asked.dry_run,
        actor=asked.actor,
        namespace=asked.namespace,
    )
    gone = tuple(source.id for source in chosen)
    return forget(session, request, document=gone)


def _by_line(name: str, lines: int, passages: int) -> str:
    """The warning about a list of statements that is cut as a text is."""
    each = by_caller(
        f"store.commit_many(Path({name!r}).read_text().splitlines())",
        f"`jq -Rc '{{content: .}}' {shell_word(name)} | vestig import --format memories -`",
    )
    return (
        f"{name}: {lines} lines became {count_of(passages, 'passage')}; one memory a line: {each}"
    )


def _chat_lines(text: str) -> int:
    """How many lines begin with a day, a time and a name; 0 where fewer than two do, or not half of
    the lines that are not blank."""
    count = len(_CHAT_LINE.findall(text))
    return count if count > 1 and 2 * count >= len(_FILLED_LINE.findall(text)) else 0


def _as_chat(name: str, turns: int, passages: int) -> str:
    """The warning about a chat that is read as a text, without its times and speakers."""
    given = by_caller('format="messages"', "`vestig import --format messages FILE`")
    return (
        f"{name}: {turns} lines begin with a day, a time and a name, as in a chat, and became"
        f" {count_of(passages, 'passage')} of a document; speakers and times are read from lines"
        ' such as {"speaker": "Ann", "text": "…", "timestamp": "2026-01-05T10:00:00"} with ' + given
    )


def _document(source: Source, passages: int) -> Document:
    fields = source.metadata
    return Document(
        id=source.id,
        path=source.path,
        title=fields.get("title", ""),
        format=fields.get("format", ""),
        scope=fields.get("scope"),
        size=fields.get("size", 0),
        passages=passages,
        created_at=source.created_at,
        ingested_at=source.ingested_at,
    )

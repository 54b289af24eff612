"""Anchors as they are taken: what a file holds when a memory is stored that speaks of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from vestig.calls.anchors import GivenAnchor
from vestig.changes import NewAnchor
from vestig.errors import ValidationError
from vestig.memories.anchors import Look
from vestig.repository.files import (
    OpenFolder,
    UnreadableFileError,
    lines_of,
    span_of,
)
from vestig.session.session import Session, cleaned
from vestig.types import AnchorKind

if TYPE_CHECKING:
    from vestig.repository.branches import Branches


def taken(session: Session, namespace: str, given: Iterable[GivenAnchor]) -> tuple[NewAnchor, ...]:
    """The anchors of a memory to come.

    Raises:
        ValidationError: a file that is not there, lies outside of the repository or cannot be read,
            or lines that it does not have.
        NotFoundError: a memory that the namespace does not hold.
    """
    with Look(session) as look:
        return tuple(_taken(session, look, namespace, given))


def _taken(
    session: Session, look: Look, namespace: str, given: Iterable[GivenAnchor]
) -> Iterator[NewAnchor]:
    now_us = session.now_us()
    for at, one in enumerate(given):
        field = f"anchor[{at}]"
        # what is masked would be another one
        if cleaned(session, {field: one.target}).rules:
            if one.optional:
                continue
            raise ValidationError(field, "text with a secret", "an anchor without secrets")
        new = NewAnchor(memory_id="", taken_us=now_us, kind=one.kind.value, target=one.target)
        if one.kind is AnchorKind.MEMORY:
            with session.ledger.read() as view:
                memory = session.memory(view, namespace, one.target)
            yield msgspec.structs.replace(new, target=memory.id)
        elif one.kind is AnchorKind.URL:
            yield msgspec.structs.replace(new, digest=hash_digest(one.hash))
        else:
            try:
                yield _of_file(session, look, field, one, new)
            except ValidationError:
                if not one.optional:
                    raise


def hash_digest(hash: str) -> bytes:
    """The digest under which the hash of a caller is kept."""
    return sha256(hash.encode()).digest()


def _of_file(
    session: Session, look: Look, field: str, given: GivenAnchor, new: NewAnchor
) -> NewAnchor:
    repository = look.repository
    if repository is None:
        raise ValidationError(
            field,
            given.target,
            "a folder in which files are looked at",
            "this server works in none: set anchors.folder",
        )
    folder = session.working_folder() or repository.root
    path = repository.path_of(folder, given.target)
    if path is None or path == ".":
        raise ValidationError(field, given.target, f"a file within {repository.root}")
    commit = look.commit
    try:
        if given.branch is None:
            span = taken_span(look.folder(), path, given.lines, new.taken_us)
        else:
            assert look.branches is not None, "it has a repository"
            commit, data = _on_branch(look.branches, given.branch, path)
            span = span_fields(data, given.lines)
    except FileNotFoundError:
        raise ValidationError(
            field, given.target, "a file that is there", f"looked for {path} in {repository.root}"
        ) from None
    except UnreadableFileError as error:
        raise ValidationError(field, given.target, f"a file that can be read: {error}") from None
    except ValueError as error:
        lines = "" if given.lines is None else f":{given.lines[0]}-{given.lines[1]}"
        raise ValidationError(field, f"{given.target}{lines}", str(error)) from None
    return msgspec.structs.replace(
        new,
        target=path,
        project=repository.name,
        commit=commit,
        committed=given.committed,
        **span,
    )


def taken_span(
    opened: OpenFolder, path: str, lines: tuple[int, int] | None, now_us: int
) -> dict[str, Any]:
    """The fields of an anchor that say what a file holds.

    Raises:
        ValueError: it is no text, or does not have these lines; says what is expected.
        FileNotFoundError, UnreadableFileError: as `OpenFolder.read`.
    """
    data, stamp = opened.read(path, now_us)
    return {
        **span_fields(data, lines),
        "size": stamp.size if stamp.ns is not None else None,
        "mtime_ns": stamp.ns,
    }


def _on_branch(branches: Branches, branch: str, path: str) -> tuple[str, bytes]:
    """The head of a branch, and the bytes that a file has there.

    Raises:
        FileNotFoundError: it has none.
    """
    head = branches.heads.get(branch)
    data = b"" if head is None else branches.file(head, path)
    if head is None or not data:
        raise FileNotFoundError(path)
    return head, data


def span_fields(data: bytes, lines: tuple[int, int] | None) -> dict[str, Any]:
    """The fields of an anchor that say which lines of a file it is.

    Raises:
        ValueError: it is no text, or does not have these lines; says what is expected.
    """
    if b"\0" in data:
        raise ValueError("a file of text: it holds NUL bytes")
    text = lines_of(data)
    if lines is not None and lines[1] > len(text):
        raise ValueError(f"lines up to {len(text)}, the last of the file")
    first, last = (1, len(text)) if lines is None else lines
    span = span_of(text, first, last)
    return {
        "first_line": None if lines is None else span.first,
        "last_line": None if lines is None else span.last,
        "digest": span.digest,
        "ends": span.ends,
        "place": span.place,
        "equal": span.equal,
    }

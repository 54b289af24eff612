"""Documents of a folder whose files are gone: which they are, and their ends.

Invariant: a document ends only after every file of the folder was read, so that none is taken for
gone that stands elsewhere in it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Container, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from vestig.commit.document_version import DocumentEnds
from vestig.errors import ValidationError
from vestig.exchange.inputs import escaped, file_of
from vestig.exchange.shared_titles import SharedTitles
from vestig.session.session import Session
from vestig.store.records import documents
from vestig.types import Source

# Of one transaction.
_DOCUMENTS: Final = 100


class Folders(NamedTuple):
    """The absolute paths of the folders that an import names; `recursive`: with those in them."""

    paths: tuple[str, ...]
    recursive: bool

    def hold(self, path: str) -> bool:
        """Return whether a path lies below one of them, however deep."""
        return any(path.startswith(os.path.join(one, "")) for one in self.paths)

    def read(self, path: str) -> bool:
        """Return whether an import looks where a document lies whose file is gone."""
        if self.recursive or os.path.dirname(path) in self.paths:
            return True
        # in an archive, or a file of mails, that was read
        return file_of(path) is not None


def _named(files: Any) -> Sequence[Any]:
    return files if isinstance(files, (list, tuple)) else [files]


def folders_of(files: Any, *, recursive: bool) -> Folders:
    """The folders among what was named."""
    paths = [Path(one).expanduser() for one in _named(files) if isinstance(one, (str, os.PathLike))]
    found = tuple(escaped(os.path.abspath(path)) for path in paths if path.is_dir())
    return Folders(found, recursive)


def check_mirror(files: Any) -> None:
    """Checks that nothing but folders is named, and none of them empty, as one is that is not
    mounted.

    Raises:
        ValidationError: one is, or something else.
    """
    for one in _named(files):
        if not isinstance(one, (str, os.PathLike)) or not Path(one).expanduser().is_dir():
            got = str(one) if isinstance(one, (str, os.PathLike)) else type(one).__name__
            raise ValidationError("mirror", got, "a folder", "nothing ends by other files")
        path = Path(one).expanduser()
        with suppress(OSError):
            if not any(path.iterdir()):
                raise ValidationError(
                    "mirror", f"an empty folder, {escaped(str(path))}", "a folder with files",
                    "no document ended; `vestig document forget` takes one out",
                )  # fmt: skip


def gone_documents(
    session: Session, folders: Folders, scope: str | None, read: Container[str]
) -> list[Source]:
    """The newest versions of the documents below the folders whose file is gone, oldest first.

    Args:
        read: paths of the files and members of archives that the import reads, and of the archives
            and files of mails that hold them. A document that lay in one of the latter is gone when
            it is not among them.
    """
    with session.ledger.read() as view:
        newest = documents.newest_versions(view, session.namespace)
    found = []
    for name, version in newest.items():
        path = name.path
        if path is None or name.scope != scope or path in read:
            continue
        if documents.has_ended(version) or version.metadata.get("file") is not True:
            continue
        if folders.hold(path):
            holder = file_of(path)
            if holder is None or (holder != path and holder in read):
                found.append(version)
    return found


def end_documents(
    session: Session, gone: Sequence[Source], *, dry_run: bool, texts: Collection[str]
) -> Iterator[tuple[str, int]]:
    """Ends documents; yields the path of each and how many passages ended with it.

    Args:
        dry_run: nothing is written.
        texts: hashes of the texts that the files hold, in a dry run.
    """
    if dry_run:
        with session.ledger.read() as view:
            ended = DocumentEnds(session.namespace, gone).lost(view, texts)
            yield from ((str(version.path), len(passages)) for version, passages, _ in ended)
        return
    for start in range(0, len(gone), _DOCUMENTS):
        ends = DocumentEnds(session.namespace, gone[start : start + _DOCUMENTS])
        titles = SharedTitles(session)
        for version, passages, said in ends.write(session):
            titles.lost([one.id for one in said])
            yield str(version.path), len(passages)
        titles.write()

"""What SQLite reports, in the words of Vestig."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw
import msgspec

from vestig.errors import StoreDamagedError, StoreLockedError, VestigError

__all__ = ["damaged", "store_faults"]


def damaged(where: str, fact: str) -> StoreDamagedError:
    """The error for a failed check; `fact` completes "expected an intact ledger, found …"."""
    return StoreDamagedError(
        f"{where}: expected an intact ledger, found {fact}; run `vestig doctor`"
    )


@contextmanager
def store_faults(where: str) -> Iterator[None]:
    """Turns SQLite's exceptions into those of `vestig.errors`.

    Constraint failures pass: only the writer knows which constraint means what.
    """
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError) as error:
        # SQLError: the statements are fixed, so it is the schema in the file that changed.
        raise damaged(where, f"a damaged file ({type(error).__name__})") from error
    except (UnicodeDecodeError, OverflowError, msgspec.MsgspecError) as error:
        raise damaged(where, f"an unreadable value ({type(error).__name__})") from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreLockedError(
            f"{where}: expected a free store, another process keeps it locked;"
            " retry, or close the other process"
        ) from error
    except (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError) as error:
        raise StoreLockedError(
            f"{where}: expected a writable store, writing is not permitted;"
            " check the owner of the folder or open it read-only"
        ) from error
    except apsw.FullError as error:
        raise VestigError(
            f"{where}: expected room to write, the disk is full; nothing was changed,"
            " free some space and repeat"
        ) from error
    except (apsw.IOError, apsw.CantOpenError) as error:
        raise VestigError(
            f"{where}: expected a working disk, the system refused a file operation"
            f" ({type(error).__name__}); nothing was changed"
        ) from error
    except apsw.NoMemError as error:
        raise VestigError(f"{where}: expected enough memory, none was left") from error

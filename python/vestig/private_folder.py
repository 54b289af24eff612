"""Folders for their owner only, whatever the umask."""

from __future__ import annotations

TYPE_CHECKING = False  # as in `vestig`

if TYPE_CHECKING:
    from pathlib import Path


def make_private_folder(folder: Path) -> list[Path]:
    """Makes the folder, with those above it, 0700; those that were made. A folder that exists keeps
    its mode.

    A umask may take the owner's own rights: without them nothing could be made inside, so each
    folder gets its mode before the next one.

    Raises:
        OSError: not permitted, or something else stands there.
    """
    made = []
    for place in (*reversed(folder.parents), folder):
        if place.is_dir():
            continue
        try:
            place.mkdir(mode=0o700)
        except FileExistsError:
            if place.is_dir():
                continue  # another process was first
            raise
        place.chmod(0o700)
        made.append(place)
    return made

"""Keys that act when documents are imported, each with what can be seen of it."""

from __future__ import annotations

import io
from typing import Any, Final

from world import Act, World

from vestig.exchange import converter

__all__ = ["DOCUMENTS"]

# A converter whose text says how it is confined; it takes its time.
_CONFINED: Final = (
    "import resource, sys, time; sys.path[:] = sys.argv[3:]\n"
    "from vestig.exchange import converter_process as it\n"
    "class Confined:\n"
    "    def markdown(self, data, ending):\n"
    "        if data != it._WARM_UP:\n"
    "            time.sleep(float(data))\n"
    "        return f'It may take {resource.getrlimit(resource.RLIMIT_DATA)[0]} bytes.'\n"
    "it._Xberg = Confined\n"
    "it.serve(sys.stdin.buffer, sys.stdout.buffer, int(sys.argv[1]), int(sys.argv[2]))\n"
)


def passages(world: World) -> Any:
    text = "Larch floats for a hundred years, and oak for eighty of them at the most. " * 4
    return world.open().import_(io.BytesIO(text.encode()), format="document").passages


def converted(world: World, seconds: float) -> Any:
    """The text of a file for whose conversion so much time is needed, or why it is refused."""
    world.monkeypatch.setattr(converter, "_PROGRAM", _CONFINED)
    world.monkeypatch.setattr(converter, "find_spec", lambda _: True)
    path = world.folder / "file.pdf"
    path.write_text(str(seconds))
    store = world.open()
    report = store.import_(path)
    return [error.message for error in report.errors] or [one.content for one in store.list()]


DOCUMENTS: Final[dict[str, Act]] = {
    "documents.passage_chars": Act(200, passages),
    "documents.timeout_s": Act(1, lambda world: converted(world, 1.5)),
    "documents.memory_mb": Act(512, lambda world: converted(world, 0)),
}

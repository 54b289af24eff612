"""The process that converts documents: bytes on standard input, Markdown on standard output.

A request is a line `{"ending": ".pdf", "bytes": 3}` and these bytes, an answer a line with `text`,
the bytes of the text that follow, and `left_out`, what is not shown by kind; or with `fault`.

Invariant: from its first request on it can open neither a file nor a connection, writes no file,
and takes no more memory than it was given.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import resource
import signal
import sys
from contextlib import suppress
from typing import IO, Any, Final

from vestig.errors import ValidationError
from vestig.exchange.shown_package import shown_package

# An alarm ends what its parent cannot end, being gone itself.
_AFTER_PARENT_S: Final = 5
# Of names and pages in packages; none is loaded later.
_ENCODINGS: Final = ("cp437", "utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252")
_WARM_UP: Final = b"<p>text</p>"
_LOCKED: Final = ("password", "encrypt")
_DEEP: Final = ("levels", "too deep")
_BOUNDS: Final = ("limit", "exceed", "security", "bomb", "too large", "too many")


class _Xberg:
    """The converter of the package `xberg`, with everything off that reads more than the bytes."""

    def __init__(self) -> None:
        import xberg

        self._xberg = xberg
        self._loop = asyncio.new_event_loop()
        self._config = xberg.ExtractionConfig(
            use_cache=False,
            disable_ocr=True,
            enable_quality_processing=False,
            output_format="markdown",
            escape_markdown=False,
            extraction_timeout_secs=None,
            max_archive_depth=0,
            concurrency=xberg.ConcurrencyConfig(max_threads=1),
            pdf_options=xberg.PdfConfig(extract_metadata=False, reading_order=True),
            html_options=xberg.ConversionOptions(
                extract_metadata=False, skip_images=True, compact_tables=True
            ),
            images=xberg.ImageExtractionConfig(
                extract_images=False, inject_placeholders=False, run_ocr_on_images=False
            ),
        )

    def markdown(self, data: bytes, ending: str) -> str:
        """The text of a file."""
        given = self._xberg.ExtractInput(kind="bytes", bytes=data, filename=f"document{ending}")
        found = self._loop.run_until_complete(self._xberg.extract(given, self._config))
        return "\n\n".join(one.content for one in found.results)


def serve(requests: IO[bytes], answers: IO[bytes], timeout_s: int, memory_mb: int) -> None:
    """Answers requests until there are no more."""
    converter = _Xberg()
    converter.markdown(_WARM_UP, ".html")
    for name in _ENCODINGS:
        codecs.lookup(name)
    with suppress(ValidationError):
        raise ValidationError("document", "a warm-up", "one")
    _confine(memory_mb)
    while line := requests.readline():
        asked = json.loads(line)
        signal.alarm(timeout_s + _AFTER_PARENT_S)
        data, answer = b"", dict[str, Any]()
        try:
            shown = shown_package(requests.read(asked["bytes"]), asked["ending"])
            text = converter.markdown(shown.data, asked["ending"])
            data = text.encode("utf-8", "replace")
            answer = {"text": len(data), "left_out": shown.left_out}
        except MemoryError:
            answer["fault"] = "memory"
        except Exception as error:  # of the converter, whose kinds are not told apart by type
            answer["fault"] = _fault(str(error).lower())
        signal.alarm(0)
        answers.write(json.dumps(answer).encode() + b"\n" + data)
        answers.flush()


def _fault(message: str) -> str:
    """The kind of a failure by what the converter says of it."""
    if any(word in message for word in _DEEP):
        return "deep"
    if any(word in message for word in _LOCKED):
        return "encrypted"
    return "bounds" if any(word in message for word in _BOUNDS) else "damaged"


def _confine(memory_mb: int) -> None:
    """Takes from this process the means to open, to write and to grow."""
    memory = memory_mb << 20
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    unused = os.dup(0)
    os.close(unused)
    resource.setrlimit(resource.RLIMIT_NOFILE, (unused, unused))


if __name__ == "__main__":
    answering = os.fdopen(os.dup(1), "wb")
    # nothing that a library says gets between the answers
    os.dup2(2, 1)
    serve(os.fdopen(0, "rb"), answering, int(sys.argv[1]), int(sys.argv[2]))

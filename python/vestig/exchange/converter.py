"""Documents of other programs to Markdown, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from contextlib import suppress
from importlib.util import find_spec
from types import TracebackType
from typing import IO, Any, Final, NamedTuple, cast

from vestig.config.schema import DocumentSettings
from vestig.errors import ValidationError
from vestig.hints import install_line

_PACKAGE: Final = "xberg"
# Modules are looked for where this process finds them, never in the current folder.
_PROGRAM: Final = (
    "import runpy, sys; sys.path[:] = sys.argv[3:];"
    " runpy.run_module('vestig.exchange.converter_process', run_name='__main__')"
)
_NO_TEXT: Final = "it holds no text, such as a scan"
_FAULTS: Final = {
    "encrypted": ("it is encrypted", "save it without a password"),
    "deep": ("its elements are nested too deep", "save its text"),
    "bounds": ("it grows beyond what is converted", "import it in parts, or as text"),
    "damaged": ("it is damaged, or its name has another ending than what it holds", "save it anew"),
}


class ConvertedText(NamedTuple):
    """Markdown; `left_out`: what is not shown, by kind."""

    text: str
    left_out: dict[str, int]


class Converter:
    """A process that converts files one after the other; it starts with the first and is replaced
    after a fault. A context: the process ends with it."""

    def __init__(self, settings: DocumentSettings) -> None:
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Converter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process. Idempotent."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()
            process.wait()

    def markdown(self, data: bytes, ending: str) -> ConvertedText:
        """The text of a file, without what its program does not show.

        Args:
            data: its bytes.
            ending: that of its name, such as `.pdf`.

        Raises:
            ValidationError: the package is not installed, the file is damaged, encrypted or without
                text, or it takes more time or memory than it may.
        """
        if find_spec(_PACKAGE) is None:
            raise _refused(
                f"{ending} needs the converter",
                f"install Vestig with its extra docs: {install_line('docs')}",
            )
        process = self._process or self._started()
        timeout_s = self._settings.timeout_s
        is_late = threading.Event()

        def end() -> None:
            is_late.set()
            process.kill()

        timer = threading.Timer(timeout_s, end)
        timer.daemon = True
        timer.start()
        try:
            answer, text = _answered(process, data, ending)
        except (OSError, ValueError):
            answer, text = {"fault": "ended"}, b""
        finally:
            timer.cancel()
        fault = answer.get("fault")
        if fault is not None or is_late.is_set():
            message = self._message(process, fault, is_late=is_late.is_set())
            self.close()
            raise message
        if not text.strip():
            raise _refused(_NO_TEXT, "make its text readable first")
        return ConvertedText(text.decode("utf-8"), answer.get("left_out", {}))

    def _message(
        self, process: subprocess.Popen[bytes], fault: Any, *, is_late: bool
    ) -> ValidationError:
        settings = self._settings
        if is_late:
            return _refused(
                f"it takes longer than {settings.timeout_s} s",
                "raise documents.timeout_s, or import it in parts",
            )
        if fault in _FAULTS:
            return _refused(*_FAULTS[fault])
        said = b""
        if fault == "ended":
            process.wait()
            said = cast("IO[bytes]", process.stderr).read(4_096)
        if fault == "memory" or b"memory" in said:
            return _refused(
                f"it takes more than {settings.memory_mb} MiB of memory",
                "raise documents.memory_mb, or import it in parts",
            )
        return _refused(*_FAULTS["damaged"])

    def _started(self) -> subprocess.Popen[bytes]:
        numbers = (str(self._settings.timeout_s), str(self._settings.memory_mb))
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _PROGRAM, *numbers, *filter(None, sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        return self._process


def _answered(
    process: subprocess.Popen[bytes], data: bytes, ending: str
) -> tuple[dict[str, Any], bytes]:
    """The answer to one request.

    Raises:
        OSError, ValueError: the process has ended.
    """
    requests, answers = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
    requests.write(json.dumps({"ending": ending, "bytes": len(data)}).encode() + b"\n")
    requests.write(data)
    requests.flush()
    answer = json.loads(answers.readline())
    text = answers.read(answer.get("text", 0))
    if len(text) < answer.get("text", 0):
        raise ValueError("the answer was cut")
    return answer, text


def _refused(fact: str, advice: str) -> ValidationError:
    return ValidationError(
        "document", "", "", message=f"the document cannot be converted: {fact}; {advice}"
    )

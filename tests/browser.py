"""A browser without a window, spoken to over its own pipe."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

__all__ = ["Browser", "Page", "browser", "browser_path"]

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")
_WAIT_S: Final = 60.0


def browser_path() -> str | None:
    """Where a browser of this machine is; None: there is none."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


class Browser:
    """Messages of the DevTools protocol, each ended by a zero byte."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._unread = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Asks, and waits for the answer; what else comes meanwhile is kept in `events`."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + _WAIT_S
        while True:
            found = self._next(deadline)
            if found.get("id") == self._number:
                assert "error" not in found, (method, found)
                result: dict[str, Any] = found["result"]
                return result
            self.events.append(found)

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._read], [], [], max(0, deadline - time.monotonic()))
            assert ready, "the browser did not answer"
            part = os.read(self._read, 1 << 20)
            assert part, "the browser ended"
            self._unread += part
        one, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(one)
        return message

    def page(self, width: int = 1400, height: int = 1000, dark: bool = False) -> Page:
        """A page of its own."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        found = self.call("Target.attachToTarget", targetId=target, flatten=True)
        return Page(self, found["sessionId"], width, height, dark)


class Page:
    """One page: what it asked for, what it complained of, what it shows."""

    def __init__(self, browser: Browser, session: str, width: int, height: int, dark: bool) -> None:
        self._browser, self._session = browser, session
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)

    def value(self, expression: str) -> Any:
        """The value of an expression, awaited."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, expression: str, seconds: float = 30) -> None:
        """Waits until an expression is true, of an element that it is there."""
        deadline = time.monotonic() + seconds
        while not self.value(f"Boolean({expression})"):
            assert time.monotonic() < deadline, (expression, self.text())
            time.sleep(0.02)

    def open(self, address: str) -> None:
        """Loads an address, and waits until its first view stands."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        self.wait("location.href !== 'about:blank' && document.readyState === 'complete'")
        self.settled()

    def settled(self) -> None:
        self.wait(
            "document.querySelector('#view')?.childElementCount > 0"
            " && !document.querySelector('#view noscript')"
            " && !document.querySelector('#view[aria-busy]')"
        )

    def text(self) -> str:
        return str(self.value("document.body.innerText"))

    def press(self, *keys: str) -> None:
        """Presses keys, one after the other."""
        for key in keys:
            code = {"Enter": 13, "Tab": 9, "End": 35, "Home": 36, "ArrowRight": 39}.get(key, 0)
            text = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
            given = {"key": key, "code": key, "windowsVirtualKeyCode": code}
            self.call("Input.dispatchKeyEvent", type="keyDown", **given, **text)
            self.call("Input.dispatchKeyEvent", type="keyUp", **given)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def shot(self, path: Path, *, whole: bool = False) -> None:
        """A picture of what is shown, or of the whole page."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    @property
    def _events(self) -> Iterator[dict[str, Any]]:
        self.value("0")  # what happened before comes first
        return (one for one in self._browser.events if one.get("sessionId") == self._session)

    @property
    def requests(self) -> list[str]:
        """Addresses that the page asked for."""
        sent = [e["params"] for e in self._events if e["method"] == "Network.requestWillBeSent"]
        found = [one["request"]["url"] for one in sent]
        return [url for url in found if not url.startswith("about:")]

    @property
    def received_bytes(self) -> int:
        """Bytes of all answers, heads among them."""
        ended = [e["params"] for e in self._events if e["method"] == "Network.loadingFinished"]
        return int(sum(one["encodedDataLength"] for one in ended))

    @property
    def complaints(self) -> list[Any]:
        """Errors, and what was written to the console."""
        names = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [one["params"] for one in self._events if one["method"] in names]


@contextmanager
def browser(folder: Path, launch: Callable[..., Any] = subprocess.Popen) -> Iterator[Browser]:
    """A browser with a profile of its own below `folder`."""
    path = browser_path()
    assert path is not None, "no browser on this machine"
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()

    def descriptors() -> None:
        os.dup2(theirs_in, 3)
        os.dup2(theirs_out, 4)

    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
    flags += ["--disable-dev-shm-usage", "--no-first-run", f"--user-data-dir={folder}"]
    flags += ["--disable-background-networking", "--disable-component-update"]
    running = launch(
        [path, *flags],
        pass_fds=(3, 4, theirs_in, theirs_out),
        preexec_fn=descriptors,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Browser(ours_out, ours_in)
    finally:
        os.close(ours_out)
        os.close(ours_in)
        running.kill()
        running.wait()

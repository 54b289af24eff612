"""The inspector in a browser, at 10,000 memories: first paint, a picture of 500 nodes, requests and
bytes.

Napkin: five files of 40 kB from memory, one read of counts; 500 nodes are one walk in the core, the
rows of some 3,000 edges, 500 kB of JSON, and as many elements. Skipped where there is no browser.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator
from typing import Final

import pytest

import vestig
from browser import Browser, browser, browser_path
from conftest import fewer, note_line
from served import Site, serving_store
from vestig.api.store import Vestig
from vestig.calls.opening import OpenRequest
from vestig.config import load
from vestig.session.opening import open_session
from vestig.surfaces.inspect import application, settings_of
from vestig.testing import HashingEmbedder

MEMORIES: Final = fewer(10_000, 3_000)
PAINT_MS: Final = 500.0
PICTURE_MS: Final = 1_000.0
REQUESTS: Final = 8
BYTES: Final = 80_000
ROUNDS: Final = 5

pytestmark = pytest.mark.skipif(browser_path() is None, reason="no chromium or chrome here")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Browser, Site]]:
    """A store of visits by 60 people, under the inspector."""
    folder = tmp_path_factory.mktemp("inspector")
    chance = random.Random(5)
    names = ("Ada", "Grace", "Mary", "Hedy", "Lise", "Emmy", "Rosa", "Omar", "Kofi", "Yuki")
    people = [
        f"{a} {b}son" for a in names for b in ("Ander", "Peter", "Jack", "Robin", "Har", "Wil")
    ]
    things = ("pump", "crane", "boiler", "archive", "ferry", "turbine", "depot", "ledger")
    texts = [
        f"{chance.choice(people)} saw to the {chance.choice(things)} with {chance.choice(people)},"
        f" visit {number}"
        for number in range(MEMORIES)
    ]
    with vestig.open(folder / "store", init=True, embedder=HashingEmbedder()) as store:
        store.commit_many(texts)
        store.admin.compact()
    config = load(environ={}, overrides={"store.path": str(folder / "store")})
    asked = OpenRequest(config=config, embedder=HashingEmbedder(), read_only=True)
    settings = settings_of(config.settings.serve, 0)
    with (
        Vestig(open_session(asked)) as store,
        serving_store(store, settings, application) as site,
        browser(folder / "profile") as found,
    ):
        yield found, site


def say(name: str, found: float, bar: float, unit: str) -> None:
    met = "met" if found <= bar else "MISSED"
    note_line(f"inspector, {name}: {found:,.0f} {unit} · bar {bar:,.0f} {unit} {met}")


def test_first_paint_requests_and_bytes(shown: tuple[Browser, Site]) -> None:
    found, site = shown
    paints = []
    for _ in range(ROUNDS):
        page = found.page()
        page.open(f"http://127.0.0.1:{site.port}/#recall?q=who+saw+to+the+ferry")
        entry = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
        paints.append(float(page.value(entry)))
        requests, size = len(page.requests), page.received_bytes
    say("first paint", statistics.median(paints), PAINT_MS, "ms")
    say("requests with a recall", requests, REQUESTS, "")
    say("bytes with a recall", size, BYTES, "bytes")


def test_a_picture_of_500_nodes(shown: tuple[Browser, Site]) -> None:
    found, site = shown
    page = found.page()
    page.open(f"http://127.0.0.1:{site.port}/#list")
    taken = []
    for number in range(ROUNDS):
        place = f"graph?ids=Ada+Anderson&limit=500&depth=2&round={number}"
        began = time.perf_counter()
        page.value(f"location.hash = {place!r}")
        page.wait("document.querySelectorAll('svg.rings a').length === 500")
        page.value("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))")
        taken.append((time.perf_counter() - began) * 1e3)
        page.value("location.hash = 'list'")
        page.wait("!document.querySelector('svg.rings')")
    say("500 nodes drawn, with reading", statistics.median(taken), PICTURE_MS, "ms")

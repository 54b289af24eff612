"""The page in a browser: texts stay text, contrast, keys, narrow and dark, nothing from outside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inspected_store import HOSTILE, filled, inspecting

import vestig
from browser import Browser, Page, browser, browser_path
from served import Site
from vestig.testing import HashingEmbedder

pytestmark = pytest.mark.skipif(
    browser_path() is None, reason="no chromium or chrome on this machine: the page is not shown"
)
# Colours of every text that is shown, against the nearest background behind it.
CONTRASTS = """(() => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const linear = (one) => (one <= .03928 ? one / 12.92 : ((one + .055) / 1.055) ** 2.4);
  const light = ([r, g, b]) =>
    .2126 * linear(r / 255) + .7152 * linear(g / 255) + .0722 * linear(b / 255);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const found = parts(getComputedStyle(at).backgroundColor);
      if (found[3] !== 0) return found;
    }
    return [255, 255, 255];
  };
  const low = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent, node = walker.currentNode.parentElement;
    if (!text.trim() || !node.checkVisibility()) continue;
    const style = getComputedStyle(node), svg = node.ownerSVGElement;
    const own = parts(svg ? style.fill : style.color), back = behind(svg ?? node);
    const [a, b] = [light(own), light(back)].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) low.push([text, own, back]);
  }
  return JSON.stringify(low);
})()"""
VIEWS = (
    "recall",
    "recall?q=which+gauge+of+the+ward&limit=20&profile=default&beside=reference",
    "list",
    "keys",
    "store",
)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Browser, Site, list[str]]]:
    folder = tmp_path_factory.mktemp("page")
    ids = filled(folder / "store")
    with inspecting(folder / "store") as site, browser(folder / "profile") as found:
        yield found, site, ids


def address(site: Site, place: str) -> str:
    return f"http://127.0.0.1:{site.port}/#{place}"


def opened(shown: Any, place: str, **options: Any) -> Page:
    found, site, _ = shown
    page: Page = found.page(**options)
    page.open(address(site, place))
    return page


def test_every_hostile_text_in_every_field_stays_text(shown: Any) -> None:
    _, site, ids = shown
    page = opened(shown, "list")
    places = ["recall?q=ward+today&limit=50&profile=reference", f"graph?ids={ids[0]}&limit=100"]
    places += [f"memory?id={id}" for id in ids]
    for place in places:
        page.value(f"location.hash = {place!r}")
        page.value("new Promise((done) => setTimeout(done, 0))")
        page.settled()
        if place.startswith("memory"):
            text = HOSTILE[ids.index(place.removeprefix("memory?id="))]
            # direction marks are in the text, and not in what is seen of it
            assert page.value("document.querySelector('.stored').textContent") == text
    assert page.value("window.hit ?? null") is None
    assert page.value("document.title") == "Memory – Vestig inspector"
    assert (
        page.value("document.querySelectorAll('iframe, img, style, base, meta[http-equiv]').length")
        == 0
    )
    assert page.value("document.scripts.length") == 1
    assert page.value(
        "[...document.querySelectorAll('a')].every((a) => a.getAttribute('href').startsWith('#'))"
    )
    assert page.complaints == []
    assert {url.split("/")[2] for url in page.requests} == {f"127.0.0.1:{site.port}"}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1400, 420])
def test_contrast_and_width(shown: Any, dark: bool, width: int) -> None:
    page = opened(shown, VIEWS[0], width=width, dark=dark)
    places = [*VIEWS, f"memory?id={shown[2][0]}", f"graph?ids={shown[2][1]}"]
    for place in places:
        page.value(f"location.hash = {place!r}")
        page.value("new Promise((done) => setTimeout(done, 0))")
        page.settled()
        assert page.value(CONTRASTS) == "[]", place
        assert page.value("document.documentElement.scrollWidth <= innerWidth"), place
    back = page.value("getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(20, 24, 26)") == dark
    assert page.complaints == []


def test_a_page_asks_little_and_nothing_outside(shown: Any) -> None:
    for view in VIEWS[:2]:  # the first page, and two profiles side by side
        page = opened(shown, view)
        assert len(page.requests) <= 8, page.requests
        assert page.received_bytes <= 160_000


def test_the_first_page_leads_to_what_is_stored(tmp_path: Path) -> None:
    """Newest memories, keys, and the versions of one, each a link away."""
    folder = tmp_path / "store"
    with vestig.open(folder, init=True, embedder=HashingEmbedder()) as store:
        for text in ("Ann lives in Oslo", HOSTILE[0], "Ann lives in Bergen"):
            store.commit(text, key="home/ann", scope="user/ann")
        for number in range(9):
            store.commit(f"The shelf number {number} holds the pumps of year {number}")
    with inspecting(folder) as site, browser(tmp_path / "profile") as found:
        page = found.page()
        page.open(address(site, ""))
        rows = "[...document.querySelectorAll('tbody tr')].map((one) => one.cells[0].textContent)"
        assert page.value(rows)[0] == "The shelf number 8 holds the pumps of year 8"
        assert len(page.value(rows)) == 8
        links = "[...document.querySelectorAll('a')]"
        page.value(f"{links}.find((one) => one.textContent === 'home/ann').click()")
        page.wait("location.hash.startsWith('#keys') && document.querySelector('tbody')")
        page.settled()
        assert page.value(rows) == ["Ann lives in Bergen", HOSTILE[0], "Ann lives in Oslo"]
        page.value("document.querySelector('tbody a').click()")
        page.wait("location.hash.startsWith('#memory')")
        page.settled()
        assert "Versions of home/ann" in page.text()
        assert "SUPERSEDED" in page.text()
        assert page.complaints == []


def test_everything_is_done_with_keys(shown: Any) -> None:
    """Question, result, memory, picture and a node of it, without a pointer."""
    page = opened(shown, VIEWS[0])

    def tab_to(test: str, most: int = 60) -> None:
        for _ in range(most):
            page.press("Tab")
            if page.value(f"((one) => {test})(document.activeElement)"):
                return
        raise AssertionError(test)

    tab_to("one.className === 'skip'", 1)
    tab_to("one.name === 'q'")
    page.type("which lamp of the ward?")
    page.press("Enter")
    page.wait("document.querySelector('article')")
    assert page.value("location.hash.startsWith('#recall?q=which+lamp')")
    page.settled()
    tab_to("one.tagName === 'SUMMARY'")
    page.press("Enter")
    assert page.value("document.activeElement.parentElement.open")
    tab_to("one.textContent === 'Neighbourhood'")
    page.press("Enter")
    page.wait("document.querySelector('svg.rings')")
    page.settled()
    tab_to("one.closest('svg') !== null")
    first = page.value("document.activeElement.getAttribute('aria-label')")
    page.press("ArrowRight")
    second = page.value("document.activeElement.getAttribute('aria-label')")
    assert "0 away" in first
    assert second != first
    assert page.value("document.querySelectorAll('svg a[tabindex=\"0\"]').length") == 1
    page.press("End")
    assert page.value("document.activeElement === [...document.querySelectorAll('svg a')].at(-1)")
    page.press("Home", "Enter")
    page.wait("location.hash.startsWith('#memory')")
    page.settled()
    assert "Validity" in page.text()


def test_a_result_says_why(shown: Any) -> None:
    _, _, ids = shown
    page = opened(shown, f"recall?q=which+gauge&limit=5&expect={ids[-1]}")
    ranks = page.value("[...document.querySelectorAll('.rank')].map((one) => one.textContent)")
    assert [rank for rank in ranks if rank != "+"] == ["1.", "2.", "3.", "4.", "5."]
    first = "document.querySelector('article')"
    assert page.value(f"{first}.querySelector('ol.path').textContent").startswith("which gauge")
    groups = page.value(f"[...{first}.querySelectorAll('.bars > span:first-child')].length")
    assert groups >= 1
    assert "Why not" in page.text()
    assert "A filter leaves it out." in page.text()


def test_an_empty_store_and_a_wrong_id_are_told(tmp_path: Path, shown: Any) -> None:
    with vestig.open(tmp_path / "store", init=True, embedder=HashingEmbedder()) as store:
        id = store.commit("The pump failed at night").memory_id
        store.forget(id)
    with inspecting(tmp_path / "store") as site:
        page = shown[0].page()
        for place, told in (
            ("recall", "holds no memories yet"),
            ("recall?q=pump", "No memories found"),
            ("list", "No memories found"),
            ("graph?ids=Nobody", "Nothing found"),
            ("memory?id=mem_00000000", "mem_00000000"),
        ):
            page.open(address(site, place))
            assert told in page.text()


def test_the_token_is_asked_for_once(
    tmp_path: Path, shown: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with vestig.open(tmp_path / "store", init=True, embedder=HashingEmbedder()) as store:
        store.commit("The pump failed at night")
    monkeypatch.setenv("TOKEN", "a-token-of-sixteen")
    given = {"serve.token_env": "TOKEN", "environ": {"TOKEN": "a-token-of-sixteen"}}
    with inspecting(tmp_path / "store", **given) as site:
        page = shown[0].page()
        page.open(address(site, "list"))
        assert page.value("document.querySelector('#token').checkVisibility()")
        page.value("document.querySelector('#token input').focus()")
        page.type("a-token-of-sixteen")
        page.press("Enter")
        page.wait("document.querySelector('table')")
        assert "The pump failed at night" in page.text()
        assert not page.value("document.querySelector('#token').checkVisibility()")

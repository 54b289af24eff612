"""Keys that act when something is stored, each with what can be seen of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from world import CALLS, REQUESTS, Act, HttpCall, World

from calls import committing
from vestig.errors import ConfigError, ProviderError, StoreLockedError, ValidationError, VestigError
from vestig.recall.layouts import render
from vestig.testing import HashingEmbedder

__all__ = ["WRITING"]

OSLO = "The new office is in Oslo"
NOTED = "Note that the new office is in Oslo"
SAME = {OSLO: 1.0, NOTED: 1.0}


def outcome(store: Any, text: str, **fields: Any) -> str:
    return str(store.commit(text, **committing(fields)).outcome.value)


def memory(store: Any, text: str, **fields: Any) -> Any:
    return store.show(store.commit(text, **committing(fields)).memory_id).memory


def told_back(world: World) -> Any:
    store = world.open()
    store.commit(OSLO)
    store.commit(render(store.recall("Oslo"), "text"))
    return store.count()


def anchored(world: World) -> Any:
    world.monkeypatch.chdir(world.folder)
    (world.folder / "other").mkdir(exist_ok=True)
    (world.folder / "other" / "plan.txt").write_text("Oslo\n")
    try:
        return world.open().commit(OSLO, anchor="plan.txt").outcome.value
    except ValidationError:
        return "no such file"


def places(world: World) -> Any:
    world.open().commit(OSLO)
    return sorted(path.name for path in world.folder.iterdir())


def lock_wait(world: World) -> Any:
    first, second = world.open(), world.open()
    with first._session.ledger.write(first._session.now_us()):
        try:
            second.commit(OSLO)
        except StoreLockedError as error:
            return str(error).partition("within ")[2].partition(" s")[0]
    return "no lock"


def durability(world: World) -> Any:
    store = world.open()
    store.commit(OSLO)
    found = store.admin.doctor().findings
    return [f.detail for f in found if "durab" in f.check + f.detail]


def times(world: World) -> Any:
    world.clock.set("2026-03-18T23:30Z")
    return [w.start for w in memory(world.open(), "We meet tomorrow in the big room").times]


def dimensions(world: World) -> Any:
    store = world.open()
    shown = store.show(store.commit(OSLO).memory_id)
    return shown.embedding_dimensions, shown.embedding_head


def model(world: World) -> Any:
    return memory(world.open(), OSLO).embedding_model


def batches(world: World) -> Any:
    world.open().commit_many(["The first of some facts", "The second of some facts"])
    return [len(call) for call in CALLS if any("facts" in text for text in call)]


def requests(world: World) -> Any:
    world.monkeypatch.setattr("vestig.embedders.openai._Call", HttpCall)
    world.monkeypatch.setenv("SOME_KEY", "one")
    world.open().commit(OSLO)
    return REQUESTS[-1]


def when_embedding_fails(world: World) -> Any:
    try:
        found = world.open().commit(OSLO)
    except ProviderError:
        return "raised"
    return [entry.code for entry in found.degraded]


def queued(world: World) -> Any:
    return len(world.open().commit(OSLO).jobs)


class SlowSecondCall(HashingEmbedder):
    """Fails at first, and takes a while then."""

    def __init__(self) -> None:
        super().__init__(8)
        self.calls = 0

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        self.calls += 1
        if self.calls == 1:
            raise ProviderError("not yet")
        time.sleep(0.2)
        return super().embed(texts)


def waited_inline(world: World) -> Any:
    store = world.open(embedder=SlowSecondCall())
    store.commit(OSLO, provenance={"origin_type": "note"})
    return store.admin.stats().jobs


def restated(world: World, **fields: Any) -> Any:
    store = world.open(SAME)
    store.commit(OSLO, **committing(fields))
    return outcome(store, NOTED, **fields)


def near_but_not_equal(world: World) -> Any:
    store = world.open({OSLO: 1.0, NOTED: 0.95})
    store.commit(OSLO)
    return outcome(store, NOTED)


def strict_hook(world: World) -> Any:
    def hook(_: Any) -> None:
        raise RuntimeError("hook")

    try:
        return outcome(world.open(on_commit=hook), OSLO)
    except (RuntimeError, VestigError) as error:
        return type(error).__name__


def links(world: World) -> Any:
    texts = {"The centre of all these": 1.0, "A text on its left": 0.7, "A text on its right": 0.8}
    store = world.open(texts)
    ids = [store.commit(text).memory_id for text in reversed(texts)]
    with store._session.ledger.read() as view:
        return len(view.edges("default", ids[-1], "RELATED"))


def similar_to_it(world: World) -> Any:
    """How many older memories a new one is like; their cosine is 0.8."""
    store = world.open({OSLO: 1.0, "The old office was in Bergen": 0.8})
    store.commit(OSLO)
    return len(store.commit("The old office was in Bergen").similar)


def loaded(world: World) -> Any:
    try:
        return world.open().commit(OSLO).outcome.value
    except ConfigError as error:
        return type(error).__name__


HASHING: Final = {"embedding.provider": "hashing"}
RECORDED: Final = {"embedding.provider": "recorded"}
BUILTIN: Final = {"embedding.provider": "builtin"}
OPENAI: Final = {"embedding.provider": "openai", "embedding.model": "m", "embedding.dimension": 2}
DEFERRED: Final = {"embedding.provider": "failing", "embedding.on_failure": "defer"}
NEAR: Final = "hygiene.near_duplicate"
RELATED: Final = "links.related"

WRITING: Final[dict[str, Act]] = {
    "store.path": Act("other", places),
    "store.lock_timeout_s": Act(0.02, lock_wait, {"store.lock_timeout_s": 0.01}),
    "store.durability": Act("normal", durability),
    "namespace": Act("work", lambda w: w.open().commit(OSLO).namespace),
    "time.zone": Act("Pacific/Kiritimati", times),
    "embedding.provider": Act("recorded", model, HASHING),
    "embedding.model": Act("mine", model, RECORDED),
    "embedding.dimension": Act(16, dimensions, HASHING),
    "embedding.normalize": Act(False, dimensions, BUILTIN),
    "embedding.timeout_s": Act(7, requests, OPENAI),
    "embedding.batch_size": Act(1, batches, RECORDED),
    "embedding.on_failure": Act("defer", when_embedding_fails, {"embedding.provider": "failing"}),
    "embedding.base_url": Act("http://localhost:1/other", requests, OPENAI),
    "embedding.api_key_env": Act("SOME_KEY", requests, OPENAI),
    "hygiene.min_chars": Act(3, lambda w: outcome(w.open(), "tiny")),
    "hygiene.max_chars": Act(20, lambda w: outcome(w.open(), OSLO)),
    "hygiene.normalize_whitespace": Act(
        False, lambda w: memory(w.open(), "Two  spaces  between  words").content_hash
    ),
    "firewall.secrets": Act(
        "off", lambda w: memory(w.open(), "The password of the router is Kx9!mmQ2").content
    ),
    "firewall.echo": Act(False, told_back),
    f"{NEAR}.enabled": Act(False, restated),
    f"{NEAR}.threshold": Act(0.99, near_but_not_equal),
    f"{NEAR}.on_near_dup": Act("insert", restated),
    "similar.min_score": Act(0.85, similar_to_it),
    "keywords.stopwords": Act(["oslo"], lambda w: memory(w.open(), OSLO).keywords),
    "enrichment.mode": Act("off", queued, DEFERRED),
    "enrichment.inline_timeout_s": Act(
        0.01, waited_inline, {"embedding.on_failure": "defer", "enrichment.mode": "inline"}
    ),
    "hooks.strict": Act(True, strict_hook),
    "anchors.folder": Act("other", anchored),
    f"{RELATED}.enabled": Act(False, links),
    f"{RELATED}.similarity_threshold": Act(0.75, links),
    f"{RELATED}.max_edges_per_memory": Act(1, links),
    "lifecycle.default_policy": Act(
        "session", lambda w: memory(w.open(), OSLO).retention_policy.value
    ),
}

"""Claude against a server on this machine: what is sent, and what each fault ends in."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

import vestig
from installed_extra import line_for
from loopback_messages import FAULTS, LoopbackMessages
from vestig import registry
from vestig.config import built_in
from vestig.errors import ConfigError, ModelCallError, ProviderError, ProviderTimeoutError
from vestig.llms.anthropic import AnthropicModel
from vestig.ports import ANSWER_BYTES_MAX, ModelRequest
from vestig.session.model_calls import ModelCalls, ParsedAnswer
from vestig.session.observer import Metrics
from vestig.testing import HashingEmbedder

KEY: Final = "sk-secret-of-the-test"
TEXT: Final = "Ada Lovelace lives in Oslo."


class Entity(msgspec.Struct):
    name: str
    type: str


class Entities(msgspec.Struct):
    entities: list[Entity]


GOOD: Final = {"entities": [{"name": "Ada Lovelace", "type": "PERSON"}]}
WANTED: Final = Entities([Entity("Ada Lovelace", "PERSON")])


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


@pytest.fixture(scope="module", autouse=True)
def imported() -> None:
    """The package takes seconds to import; no deadline below counts them."""
    import anthropic

    assert anthropic.Anthropic


def calls(server: LoopbackMessages, **keys: Any) -> ModelCalls:
    """As a session makes them, without waits of our own."""
    given = {"provider": "anthropic", "base_url": server.base_url, **keys}
    settings = built_in({f"llm.{name}": value for name, value in given.items()}).settings
    return ModelCalls(settings, AnthropicModel(settings.llm), metrics=Metrics())


def ask(models: ModelCalls, **more: Any) -> ParsedAnswer[Entities]:
    return models.ask("extract_entities", {"content": TEXT}, answer=Entities, **more)


@pytest.mark.slow
def test_what_is_sent() -> None:
    with LoopbackMessages(lambda _: GOOD) as server:
        asked = ask(calls(server), model="claude-haiku-5-5")
    assert asked.value == WANTED
    [request] = server.requests
    assert (request.method, request.path) == ("POST", "/v1/messages")
    assert sorted(request.body) == ["max_tokens", "messages", "model", "output_config", "system"]
    assert request.body["model"] == "claude-haiku-5-5"
    assert request.body["max_tokens"] == 4096
    assert request.body["output_config"]["format"]["type"] == "json_schema"
    assert request.body["output_config"]["format"]["schema"]["required"] == ["entities"]
    assert TEXT in request.body["messages"][0]["content"]
    assert TEXT not in str(request.body["system"])
    assert "set" in (request.headers.get("authorization"), request.headers.get("x-api-key"))
    assert asked.usage.input_tokens > 100


def test_plain_text_is_asked_for_without_a_schema() -> None:
    with LoopbackMessages("just text") as server:
        asked = calls(server).ask("classify_stability", {"content": TEXT}, answer=str)
    assert asked.value == "just text"
    assert "output_config" not in server.requests[0].body


def test_only_long_instructions_are_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen on the wire: the mark, and what the server then says it read from its cache."""
    with LoopbackMessages(lambda _: GOOD) as server:
        with monkeypatch.context() as patch:
            patch.setattr("vestig.llms.anthropic._CACHED_FROM_TOKENS", 300)
            first, second = (ask(calls(server)) for _ in range(2))
        ask(calls(server))
    marks = ["cache_control" in request.body["system"][0] for request in server.requests]
    assert marks == [True, True, False]
    assert first.usage.cache_write_tokens > 300
    assert first.usage.cache_read_tokens == 0
    assert second.usage.cache_read_tokens == first.usage.cache_write_tokens


# Each fault for three calls in turn, then none: the fault-free result after so many calls, or the
# named error.
RIGHT_AWAY: Final = frozenset(
    ("content_type", "no_usage", "absurd_usage", "unknown_stop", "fences", "prose", "text_lists",
     "text_bad_item")
)  # fmt: skip
AT_ONCE: Final = {
    "redirect": 307,
    "status_400": 400,
    "status_401": 401,
    "status_403": 403,
    "status_404": 404,
    "status_413": 413,
    "refusal": None,
}
LATE: Final = frozenset(("silence", "drip", "drip_headers"))


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_ends_in_the_result_without_faults_or_in_the_named_error(fault: str) -> None:
    assert len(FAULTS) >= 26
    tries, limit = 1, 1.0 if fault in LATE else 5.0
    with LoopbackMessages(lambda _: GOOD, failures=[fault]) as server:
        models = calls(server, timeout_s=limit)
        started = time.monotonic()
        if fault in AT_ONCE:
            with pytest.raises(ModelCallError, match="tries: 1") as caught:
                ask(models)
            assert caught.value.status == AT_ONCE[fault]
            assert not caught.value.retryable
        else:
            asked = ask(models)
            assert asked.value == WANTED
            tries = asked.calls
            # on a busy machine a good answer may be late as well
            assert tries >= 2 if fault in LATE else tries == (1 if fault in RIGHT_AWAY else 2)
            assert asked.dropped == (1 if fault == "text_bad_item" else 0)
        assert time.monotonic() - started < tries * limit + 20
    assert [request.path for request in server.requests] == ["/v1/messages"] * len(server.requests)


@pytest.mark.slow
@pytest.mark.parametrize("fault", sorted(set(FAULTS) - RIGHT_AWAY - AT_ONCE.keys()))
def test_a_fault_that_stays_ends_in_the_named_error(fault: str) -> None:
    limit = 0.3 if fault in LATE else 5.0
    with LoopbackMessages(lambda _: GOOD, failures=[fault] * 9) as server:
        started = time.monotonic()
        with pytest.raises(ProviderError, match="tries: 3") as caught:
            ask(calls(server, timeout_s=limit))
        assert time.monotonic() - started < 3 * limit + 20
    expected = ProviderTimeoutError if fault in LATE else ModelCallError
    assert type(caught.value) is expected
    assert len(server.requests) == 3
    for hidden in (TEXT, KEY, server.base_url):
        assert hidden not in str(caught.value)


@pytest.mark.parametrize("fault", ["status_429_seconds", "status_429_date"])
def test_a_provider_says_how_long_to_wait(fault: str) -> None:
    with LoopbackMessages(lambda _: GOOD, failures=[fault]) as server:
        server.retry_after_s = 7
        model = AnthropicModel(built_in({"llm.base_url": server.base_url}).settings.llm)
        with pytest.raises(ModelCallError, match="rate_limit_error") as caught:
            model.complete(request())
    assert caught.value.status == 429
    assert caught.value.retry_after_s == pytest.approx(7, abs=1)


def request(**fields: Any) -> ModelRequest:
    plain = {
        "purpose": "test", "model": "claude-sonnet-5-5", "system": "", "user": TEXT,
        "schema": None, "max_tokens": 10, "timeout_s": 5.0,
    }  # fmt: skip
    return ModelRequest(**{**plain, **fields})


def test_an_answer_is_read_up_to_its_limit() -> None:
    with LoopbackMessages("x" * (ANSWER_BYTES_MAX - 1000)) as server:
        settings = built_in({"llm.base_url": server.base_url}).settings.llm
        assert len(AnthropicModel(settings).complete(request()).text) == ANSWER_BYTES_MAX - 1000
    with LoopbackMessages("x" * ANSWER_BYTES_MAX) as server:
        settings = built_in({"llm.base_url": server.base_url}).settings.llm
        with pytest.raises(ModelCallError, match="more than 1048576 bytes"):
            AnthropicModel(settings).complete(request())


# Batches


def test_a_batch_goes_its_way() -> None:
    with LoopbackMessages(lambda _: GOOD, polls=1, expired=["job_c"]) as server:
        models = calls(server, batch="auto")
        sent = [
            (own, models.request("extract_entities", {"content": TEXT}, answer=Entities)[0])
            for own in ("job_a", "job_b", "job_c")
        ]
        batch = models.submit(sent)
        with pytest.raises(ModelCallError, match="still worked on") as caught:
            models.find("job_a")
        assert caught.value.retryable
        assert models.answers(batch) is None
        outcomes = models.answers(batch)
        assert outcomes is not None
        assert models.find("job_b") == batch
        assert models.find("job_z") is None
    states = {outcome.id: outcome.state for outcome in outcomes}
    assert states == {"job_a": "succeeded", "job_b": "succeeded", "job_c": "expired"}
    [first] = [outcome.answer for outcome in outcomes if outcome.id == "job_a"]
    assert first is not None
    assert models.read(first, Entities) == (WANTED, 0)
    assert models.costs()[0].calls == 2, "what expired was never worked on"
    items = server.requests[0].body["requests"]
    assert [item["custom_id"] for item in items] == ["job_a", "job_b", "job_c"]
    assert "output_config" in items[0]["params"]


@pytest.mark.parametrize("fault", ["reset", "status_500", "endless_body", "page", "wrong_types"])
def test_a_batch_that_fails_is_named(fault: str) -> None:
    with LoopbackMessages(lambda _: GOOD, failures=[fault] * 9) as server:
        models = calls(server, batch="auto", timeout_s=5)
        for act in (
            lambda: models.submit([("job_a", request())]),
            lambda: models.find("job_a"),
            lambda: models.answers("msgbatch_1"),
        ):
            with pytest.raises(ModelCallError) as caught:
                act()
            assert caught.value.retryable


def test_an_unknown_batch_is_no_batch_to_wait_for() -> None:
    with LoopbackMessages() as server, pytest.raises(ModelCallError) as caught:
        calls(server, batch="auto").answers("msgbatch_9")
    assert (caught.value.status, caught.value.retryable) == (404, False)


# Keys and secrets


def test_a_missing_key_is_named_without_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with LoopbackMessages() as server:
        with pytest.raises(ConfigError, match=r"llm\.api_key_env.*ANTHROPIC_API_KEY"):
            ask(calls(server))
        monkeypatch.setenv("OTHER", f"{KEY}\nX: y")
        with pytest.raises(ConfigError, match="OTHER to hold a key") as caught:
            ask(calls(server, api_key_env="OTHER"))
        monkeypatch.setenv("OTHER", f"{KEY}\n")
        with LoopbackMessages(lambda _: GOOD) as good:
            assert ask(calls(good, api_key_env="OTHER")).value == WANTED
    assert KEY not in str(caught.value)
    assert server.requests == []


@pytest.mark.parametrize("url", ["localhost:1", "ftp://x", "http://", "http://x:y"])
def test_a_wrong_address_is_refused_when_the_store_is_opened(url: str) -> None:
    config = {"llm.provider": "anthropic", "llm.base_url": url}
    with pytest.raises(ConfigError, match=r"llm\.base_url: expected a URL"):
        vestig.open(":memory:", embedder=HashingEmbedder(8), config=config)


@pytest.mark.parametrize("fault", [None, "status_500", "reset"])
def test_nothing_of_a_call_is_logged(fault: str | None, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with LoopbackMessages(lambda _: GOOD, failures=[fault]) as server:
        ask(calls(server))
    assert TEXT not in caplog.text
    assert KEY not in caplog.text
    assert [record.name for record in caplog.records if record.name.startswith("anthropic")] == []


@pytest.mark.slow
def test_the_sdk_does_not_warn() -> None:
    code = f"""
import os, sys, warnings
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
warnings.simplefilter("error")
os.environ["ANTHROPIC_API_KEY"] = "k"
from loopback_messages import LoopbackMessages
from vestig.config import built_in
from vestig.llms.anthropic import AnthropicModel
from vestig.ports import ModelRequest
import anthropic.resources.messages.messages as sdk
with LoopbackMessages("x") as server:
    model = AnthropicModel(built_in({{"llm.base_url": server.base_url}}).settings.llm)
    old = sorted(sdk.DEPRECATED_MODELS)[0]
    request = ModelRequest(purpose="p", model=old, system="", user="u", schema=None, max_tokens=9,
                           timeout_s=20.0)
    print(model.complete(request).text)
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (run.stdout, run.stderr) == ("x\n", "")


# What loads what


def test_shipped_models_equal_the_entry_points() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"][registry.LLMS] == dict(registry.SHIPPED_LLMS)
    [needed] = project["optional-dependencies"]["claude"]
    assert needed in project["optional-dependencies"]["dev"]


def test_the_package_is_imported_when_it_is_first_called() -> None:
    code = """
import sys, vestig
from vestig.testing import HashingEmbedder
with vestig.open(":memory:", embedder=HashingEmbedder(8),
                 config={"llm.provider": "anthropic"}) as store:
    store.commit("The office is in Oslo.")
    store.recall("Where is the office?")
    store.admin.doctor()
    print(sorted(name for name in sys.modules if name.split(".")[0] == "anthropic"))
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout == "[]\n"


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)


@pytest.mark.usefixtures("without_package")
def test_without_the_package_the_error_says_how_to_install_it() -> None:
    config = {"llm.provider": "anthropic"}
    with vestig.open(":memory:", embedder=HashingEmbedder(8), config=config) as store:
        store.commit("The office is in Oslo.")
        assert len(store.recall("Where is the office?")) == 1, "nothing else needs it"
        with pytest.raises(ConfigError, match=re.escape(line_for("claude"))):
            store._session.models.ask("classify_stability", {"content": TEXT}, answer=str)

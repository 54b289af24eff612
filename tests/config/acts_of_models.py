"""Keys of the language model and its prompts, each with what can be seen of it."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, Final

import msgspec
from world import Act, World

from vestig.config.service_sections import PROMPT_VALUES
from vestig.errors import ModelBudgetError, ProviderError
from vestig.ports import ModelAnswer, ModelRequest, ModelUsage
from vestig.testing import ScriptedModel

__all__ = ["MODELLED"]


class Echo:
    """A model that answers with what it was made from and asked."""

    provider = "echo"

    def __init__(self, settings: Any) -> None:
        names = ("base_url", "api_key_env")
        self.made_from = {name: getattr(settings, name) for name in names}

    def complete(self, request: ModelRequest) -> ModelAnswer:
        text = msgspec.json.encode([self.made_from, request]).decode()
        usage = ModelUsage(input_tokens=1_000_000)
        return ModelAnswer(text=text, model=request.model, usage=usage)


def asked(world: World, prompt: str = "classify_stability") -> Any:
    """What a provider is made from and asked."""
    models = world.open()._session.models
    if models.provider is None:
        return "no model"
    values = dict.fromkeys(PROMPT_VALUES[prompt], "text")
    return models.ask(prompt, values, answer=str).value


def money(world: World) -> Any:
    store = world.open()
    store._session.models.ask("classify_stability", {"content": "text"}, answer=str)
    return store._session.models.costs()[0].money


def patience(world: World) -> Any:
    def slow(_: ModelRequest) -> str:
        time.sleep(0.5)
        return "late"

    world.monkeypatch.setattr("vestig.session.model_calls.TRIES_MAX", 1)
    try:
        return (
            world.open(llm=ScriptedModel(slow))
            ._session.models.ask("classify_stability", {"content": "text"}, answer=str)
            .value
        )
    except ProviderError as error:
        return type(error).__name__


def batched(world: World) -> Any:
    return world.open(llm=ScriptedModel({}))._session.models.takes_batches(100)


def budget(world: World) -> Any:
    """How many of three calls a day holds."""
    store = world.open(llm=ScriptedModel({"classify_stability": "x"}))
    store.commit("The new office is in Oslo")
    sent = 0
    for _ in range(3):
        with suppress(ModelBudgetError):
            store._session.models.ask("classify_stability", {"content": "text"}, answer=str)
            sent += 1
    return sent


ECHO: Final = {"llm.provider": "echo", "store.path": ":memory:"}
PRICED: Final = {"claude-sonnet-5-5": {"input": 3, "output": 15}}
MODELLED: Final[dict[str, Act]] = {
    "llm.provider": Act("echo", asked, {"store.path": ":memory:"}),
    "llm.model": Act("claude-haiku-5-5", asked, ECHO),
    "llm.timeout_s": Act(0.1, patience),
    "llm.api_key_env": Act("OTHER_KEY", asked, ECHO),
    "llm.max_calls_per_day": Act(2, budget),
    "llm.base_url": Act("http://localhost:1", asked, ECHO),
    "llm.prices": Act(PRICED, money, ECHO),
    "llm.batch": Act("auto", batched),
    **{
        f"prompts.{name}": Act(
            {"system": "Read {{entity_type_list}}.", "user": f"Mine: {{{{{values[0]}}}}}"},
            lambda world, name=name: asked(world, name),
            ECHO,
        )
        for name, values in PROMPT_VALUES.items()
    },
}

"""A language model whose answers a test gives: `vestig.testing.ScriptedModel`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from vestig.errors import ModelCallError
from vestig.ports import BatchAnswer, ModelAnswer, ModelRequest, ModelUsage


class ScriptedModel:
    """Answers from a function or a table, and records what it is asked. It takes batches too.

    Args:
        answers: a function of the request, or a table by purpose (the name of the prompt; of a
            request with several prompts, their answers are put together). An answer is text, a
            whole `ModelAnswer`, or anything that JSON can hold.
        failures: what each call in turn does: an exception is raised, None answers. When they are
            used up, every call answers.
        polls: how often a batch says that it is still worked on.

    Attributes:
        requests: every request, those of batches too, in order.
        batches: own ids of the requests of every batch, by the batch's id.

    Raises:
        ModelCallError: from a call whose purpose the table does not have.

    Example:
        >>> import vestig
        >>> from vestig.testing import HashingEmbedder
        >>> model = ScriptedModel({"classify_stability": {"stability": "static"}})
        >>> with vestig.open(":memory:", embedder=HashingEmbedder(), llm=model) as store:
        ...     store.commit("Ada was born in London").outcome.value
        'INSERTED_NEW'
    """

    def __init__(
        self,
        answers: Callable[[ModelRequest], Any] | Mapping[str, Any],
        *,
        failures: Iterable[BaseException | None] = (),
        polls: int = 0,
    ) -> None:
        self._answers = answers
        self._failures: Iterator[BaseException | None] = iter(failures)
        self._polls = polls
        self._lock = threading.Lock()
        self.requests: list[ModelRequest] = []
        self.batches: dict[str, tuple[str, ...]] = {}
        self._outcomes: dict[str, list[BatchAnswer]] = {}
        self._polled: dict[str, int] = {}

    @property
    def provider(self) -> str:
        """`scripted`."""
        return "scripted"

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """The answer that the test gives, or the failure whose turn it is."""
        with self._lock:
            self.requests.append(request)
            failure = next(self._failures, None)
        if failure is not None:
            raise failure
        return self._answer(request)

    def submit(self, requests: Sequence[tuple[str, ModelRequest]]) -> str:
        """Takes a batch, or the failure whose turn it is."""
        with self._lock:
            self.requests += [request for _, request in requests]
            failure = next(self._failures, None)
            if failure is not None:
                raise failure
            batch = f"batch_{len(self.batches) + 1}"
            self.batches[batch] = tuple(own for own, _ in requests)
        self._outcomes[batch] = [self._outcome(own, request) for own, request in requests]
        return batch

    def find(self, own_id: str) -> str | None:
        """The batch that holds this request."""
        return next((batch for batch, own in self.batches.items() if own_id in own), None)

    def answers(self, batch_id: str) -> list[BatchAnswer] | None:
        """The outcomes, once it was asked `polls` times."""
        if batch_id not in self._outcomes:
            raise ModelCallError(f"scripted model: there is no batch {batch_id}", status=404)
        with self._lock:
            polled = self._polled.get(batch_id, 0)
            self._polled[batch_id] = polled + 1
        return None if polled < self._polls else self._outcomes[batch_id]

    def _outcome(self, own_id: str, request: ModelRequest) -> BatchAnswer:
        try:
            answer = self._answer(request)
        except ModelCallError as error:
            return BatchAnswer(id=own_id, state="failed", error=str(error))
        return BatchAnswer(id=own_id, state="succeeded", answer=answer)

    def _answer(self, request: ModelRequest) -> ModelAnswer:
        if callable(self._answers):
            given = self._answers(request)
        else:
            given = _together([self._of(purpose) for purpose in request.purpose.split("+")])
        if isinstance(given, ModelAnswer):
            return given
        text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
        # four characters are about one token
        usage = ModelUsage(
            input_tokens=(len(request.system) + len(request.user)) // 4,
            output_tokens=len(text) // 4,
        )
        return ModelAnswer(text=text, model=request.model, usage=usage)

    def _of(self, purpose: str) -> Any:
        assert not callable(self._answers)
        if purpose not in self._answers:
            raise ModelCallError(f"scripted model: no answer for {purpose}; add one to the table")
        return self._answers[purpose]


def _together(answers: list[Any]) -> Any:
    if len(answers) == 1:
        return answers[0]
    return {name: value for answer in answers for name, value in dict(answer).items()}

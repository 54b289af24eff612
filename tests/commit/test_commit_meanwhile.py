"""What others do to a store while a commit embeds its text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scripted import Opener
from vestig.testing import HashingEmbedder
from vestig.types import CommitOutcomeKind as Kind


class Interrupted(HashingEmbedder):
    """Does something else while it makes its next vectors."""

    def __init__(self) -> None:
        super().__init__(64)
        self.meanwhile: Callable[[], object] | None = None

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        act, self.meanwhile = self.meanwhile, None
        if act is not None:
            act()
        return super().embed(texts)


def test_a_text_that_ids_and_went_while_it_was_embedded(opener: Opener) -> None:
    embedder = Interrupted()
    store, other = opener(embedder=embedder), opener()
    ids: list[str] = []

    def meanwhile() -> None:
        ids.append(str(other.commit("The gasket was ordered by telephone").memory_id))
        other.deprecate(ids[0])

    embedder.meanwhile = meanwhile
    outcome = store.commit("The gasket was ordered by telephone")
    assert (outcome.outcome, outcome.revives) == (Kind.INSERTED_NEW, ids[0])

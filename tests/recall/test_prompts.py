"""Prompts that ask nothing: tasks, statements, topics, and values looked up by a noun phrase.

The small stores of `benches/prompts`, written by hand, say which memory helps with each, if any.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from labelled_stores import labelled_stores

PROMPTS = Path(__file__).parents[2] / "benches" / "prompts"


@pytest.mark.slow
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.torture)])
def test_what_helps_is_brought_and_most_of_the_rest_is_not(step: int) -> None:
    """By recall and, as the hooks of editors ask, with a silence and for a block."""
    helped, unhelped = list[bool](), list[bool]()
    shown = right = 0
    for store, ids, asked in labelled_stores(PROMPTS, step):
        for query in asked:
            found = store.recall(query.text)
            block = store.recall(query.text, silence=0.2, context=True)
            for each in (found, block):
                brought = {ids[hit.id] for hit in each}
                shown += len(brought)
                right += len(brought & query.relevant)
                if query.relevant:
                    helped.append(not brought.isdisjoint(query.relevant))
                else:
                    unhelped.append(bool(brought))
    assert (len(helped), len(unhelped)) == {1: (1032, 864), 4: (264, 224)}[step]
    assert sum(helped) >= 0.6 * len(helped)
    assert sum(unhelped) <= 0.2 * len(unhelped)
    assert right >= 0.5 * shown

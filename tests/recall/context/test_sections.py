"""Passages of several sections: where they are said to stand, and from where they are cut."""

from __future__ import annotations

import pytest

import vestig
from vestig.printed import headings
from vestig.types import CommitOutcomeKind

GEARBOX = """# Gearbox

## Oil

Gearbox oil is Mobilgear.

```
# no heading
```

### Sampling

Open valve V-17, and run the turbine for half an hour before you do.

## Alarms

Alarm 2213 means that the oil is too hot.
"""


@pytest.fixture
def store() -> vestig.Vestig:
    found = vestig.open(":memory:")
    found.add_document(GEARBOX, source="gearbox.md")
    return found


def test_headings_in_code_are_none() -> None:
    names = [name for _, name in headings(GEARBOX)]
    assert names == ["Gearbox", "Oil", "Sampling", "Alarms"]


def test_a_passage_is_cited_with_the_headings_of_all_its_sections(store: vestig.Vestig) -> None:
    text = store.recall("what does alarm 2213 mean?", context=True, budget=400).context.text
    assert "“Gearbox; Oil; Sampling; Alarms”: # Gearbox" in text


@pytest.mark.parametrize(
    ("question", "begins"),
    [
        ("what does alarm 2213 mean?", ": …## Alarms Alarm 2213"),
        ("which valve is opened for sampling?", ": …### Sampling Open valve"),
        ("which oil is in the gearbox?", ": # Gearbox ## Oil"),
    ],
)
def test_a_passage_that_does_not_fit_is_cut_from_the_section_that_answers(
    question: str, begins: str, store: vestig.Vestig
) -> None:
    block = store.recall(question, context=True, budget=45).context
    assert begins in block.text
    assert block.tokens <= 45
    # what was shown is no memory when it comes back
    assert store.commit(block.text).outcome is CommitOutcomeKind.EXACT_DUPE
    assert store.count() == 1

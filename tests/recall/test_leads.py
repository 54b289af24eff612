"""Groups of what a score is made of, as leads over the mean of the pool."""

from __future__ import annotations

import pytest
from msgspec import UNSET

import vestig
from scan_rows import MadeRow, explainer
from scripted import Opener
from vestig import _core
from vestig.config.weights import METADATA
from vestig.recall.reason import GROUPS

TALK = [
    ("Ada Lovelace", "Which valve of the boiler leaks?"),
    ("Grace Hopper", "The left one, since the storm of last Tuesday."),
    ("Ada Lovelace", "Then I order a gasket for the boiler tomorrow."),
    ("Grace Hopper", "The canoe is back in the shed, painted green."),
    ("Ada Lovelace", "Did anybody pay the invoice of the boiler makers?"),
]
NOTES = [
    "The boiler of the harbour office was made in 1953 by Brown & Sons",
    "Invoices of the boiler makers are paid by Mary Somerville",
    "A canoe needs a coat of varnish every second spring",
    "The left valve of the boiler has a gasket of graphite",
]
QUERIES = (
    "the year of the boiler made by Brown",
    "what did Ada Lovelace order last week?",
    "canoe",
)


@pytest.fixture
def office(opener: Opener) -> vestig.Vestig:
    """Turns of a conversation and notes about the same."""
    store = opener(config={"hygiene.near_duplicate.enabled": False})
    for place, (author, text) in enumerate(TALK):
        store.commit(text, author=author, session_id="s1", sequence=place)
    for text in NOTES:
        store.commit(text)
    return store


def group_of(name: str) -> str:
    """The group of a term."""
    return next(group for group, names in GROUPS.items() if name in names)


def test_every_term_is_in_one_group() -> None:
    listed = [name for names in GROUPS.values() for name in names]
    assert sorted(listed) == sorted({*_core.SIGNALS, *METADATA, "bias", "semantic"})


@pytest.mark.parametrize("query", QUERIES)
def test_leads_are_what_is_above_the_mean_of_all_terms(office: vestig.Vestig, query: str) -> None:
    """Everything is in the pool and is returned, so the mean follows from the results."""
    found = office.recall(query, limit=50)
    assert len(found) == len(TALK) + len(NOTES)
    added: list[dict[str, float]] = []
    for hit in found:
        groups = dict.fromkeys(GROUPS, 0.0)
        for name, term in hit.reason.signals.items():
            groups[group_of(name)] += term.raw * term.weight
        added.append(groups)
    for hit, own in zip(found, added, strict=True):
        mean = {group: sum(one[group] for one in added) / len(added) for group in GROUPS}
        expected = {group: own[group] - mean[group] for group in GROUPS}
        leads = hit.reason.leads
        assert {**dict.fromkeys(GROUPS, 0.0), **leads} == pytest.approx(expected, abs=1e-9)
        assert list(leads.values()) == sorted(leads.values(), reverse=True)
        assert all(abs(lead) > 1e-9 for lead in leads.values())


@pytest.mark.parametrize("profile", ["default", "reference", "baseline"])
@pytest.mark.parametrize("query", QUERIES)
def test_leads_add_up_to_that_of_the_start_score(
    office: vestig.Vestig, profile: str, query: str
) -> None:
    whole = {"ranking.pool": "all"}
    found = office.recall(query, limit=50, profile=profile, seed=3, config=whole)
    levels = [hit.reason.start_score for hit in found]
    for hit in found:
        lead = hit.reason.start_score - sum(levels) / len(levels)
        assert sum(hit.reason.leads.values()) == pytest.approx(lead, abs=1e-9)


def test_the_mean_is_that_of_the_pool_alone(office: vestig.Vestig) -> None:
    few = office.recall(QUERIES[0], limit=2, config={"ranking.pool": 2})
    levels = [hit.reason.start_score for hit in few]
    assert len(levels) == 2
    for hit in few:
        lead = hit.reason.start_score - sum(levels) / 2
        assert sum(hit.reason.leads.values()) == pytest.approx(lead, abs=1e-9)


def test_what_stands_for_pieces_that_were_not_compared_is_meaning() -> None:
    """The constant of such a row is its bias and the least that pieces add to one of the pool."""
    made = explainer(linear=True, pool_means={"bias": -3.0, "late": 1.0, "words": 0.5})
    row = MadeRow(values={"words": 0.25}, weights={"words": 4.0, "bias": -2.75}, constant=-2.75)
    row.bias = -3.0
    assert made.leads(row) == {"words": 0.5, "meaning": -0.75}


def test_leads_are_scores_that_may_be_left_out(office: vestig.Vestig) -> None:
    settings = {"recall.reasons.include_scores": False}
    hit = office.recall(QUERIES[0], config=settings)[0]
    assert hit.reason.leads is UNSET
    assert "leads" not in hit.reason.to_dict()

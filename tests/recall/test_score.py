"""The score of a result: the probability that it is part of the answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import vestig
from recomputed_scores import score
from scripted import Opener, without_vectors
from vestig.answers import ScoreFormula
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.recall.confidence import fits, score_formula, scored
from vestig.recall.layouts import render
from vestig.surfaces.cli import cli

TEXTS = (
    "The red key opens the shed behind the greenhouse",
    "Tomatoes need watering every second evening",
    "The greenhouse window sticks when it rains",
    "Compost goes into the wooden box near the gate",
    "We sold forty pumpkins at the autumn market",
    "The gate hinge was oiled last Sunday",
    "Beans climb the fence along the road",
    "The green key belongs to the tool cupboard",
    "The market closes at noon on Saturdays",
    "Rain water is collected in two barrels",
    "The shed roof was tarred in spring",
    "Pumpkins are stored in the cellar",
)
KNOWN = "Which key opens the shed behind the greenhouse?"


@pytest.fixture
def garden(opener: Opener) -> vestig.Vestig:
    store = opener()
    for text in TEXTS:
        store.commit(text)
    return store


def test_scores_recompute_from_json(garden: vestig.Vestig) -> None:
    for options in ({}, {"limit": 12}, {"silence": 0.02}, {"profile": "reference"}):
        found = json.loads(json.dumps(garden.recall(KNOWN, **options).to_dict(explain=True)))  # type: ignore[arg-type]
        hits = found["results"] + found["nearest"] + found["associated"]
        assert hits
        for hit in hits:
            assert score(hit, found) == pytest.approx(hit["score"], rel=1e-9)
            assert hit["final"] == hit["reason"]["final_score"]


def test_the_constant_is_of_the_best(garden: vestig.Vestig) -> None:
    found = garden.recall(KNOWN, limit=12)
    given = found.formula.score
    assert isinstance(given, ScoreFormula)
    assert given == score_formula(
        fits().without_pieces.score, found.confidence, [hit.final for hit in found]
    )
    assert [hit.score for hit in found] == scored([hit.final for hit in found], given)


def test_the_order_is_that_of_the_final_score(garden: vestig.Vestig) -> None:
    found = garden.recall(KNOWN, limit=12)
    assert found[0].content == TEXTS[0]
    finals = [hit.final for hit in found]
    scores = [hit.score for hit in found]
    assert finals == sorted(finals, reverse=True)
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= one <= 1 for one in scores)


@pytest.mark.parametrize("limit", [1, 2, 5, 11])
def test_a_hit_has_one_score_whatever_the_limit(garden: vestig.Vestig, limit: int) -> None:
    whole = garden.recall(KNOWN, limit=12)
    some = garden.recall(KNOWN, limit=limit)
    assert [hit.score for hit in some] == [hit.score for hit in whole][:limit]


def test_together_and_alone_they_are_the_same(garden: vestig.Vestig) -> None:
    asked = [KNOWN, "Where do pumpkins go?"]
    for one, other in zip(garden.recall_many(asked), map(garden.recall, asked), strict=True):
        assert isinstance(one, vestig.RecallResult)
        assert [hit.score for hit in one] == [hit.score for hit in other]
        assert one.formula.score == other.formula.score


@pytest.mark.parametrize("profile", ["reference", "baseline"])
def test_without_a_confidence_it_is_the_final_score(garden: vestig.Vestig, profile: str) -> None:
    found = garden.recall(KNOWN, profile=profile)
    assert found.formula.score is None
    assert [hit.score for hit in found] == [hit.final for hit in found]


def test_without_a_vector_it_is_the_final_score(opener: Opener) -> None:
    store = without_vectors(opener, TEXTS)
    found = store.recall(KNOWN)
    assert (found.confidence, found.formula.score) == (None, None)
    assert [hit.score for hit in found] == [hit.final for hit in found]


def test_a_final_score_of_0_has_score_0(garden: vestig.Vestig) -> None:
    # e to the power of −1000 is 0
    found = garden.recall(KNOWN, config={"ranking.weights.all.bias": -1_000.0})
    assert [(hit.final, hit.score) for hit in found] == [(0.0, 0.0)] * 5


def test_the_least_score_acts_on_it(garden: vestig.Vestig) -> None:
    whole = garden.recall(KNOWN, limit=12)
    least = whole[1].score
    assert whole[2].score < least < whole[0].score
    assert whole[1].final != least, "on the score, not on the final score"
    found = garden.recall(KNOWN, limit=12, config={"recall.min_score": least})
    assert [hit.id for hit in found] == [hit.id for hit in whole[:2]]
    assert [hit.score for hit in found] == [hit.score for hit in whole[:2]]
    assert found.counts.below_min_score == 10
    assert found.best_score is None
    none = garden.recall(KNOWN, config={"recall.min_score": 0.9999})
    assert (len(none), none.counts.below_min_score) == (0, 5)
    assert none.best_score == whole[0].score
    assert render(none, "text").startswith("no score above 0.9999 (best 0.")


def test_why_not_names_the_least_score_that_lets_it_in(garden: vestig.Vestig) -> None:
    third = garden.recall(KNOWN)[2]
    cut = {"recall.min_score": (third.score + garden.recall(KNOWN)[1].score) / 2}
    (entry,) = garden.recall(KNOWN, config=cut, expect=[third.id]).why_not or ()
    assert (entry.stage, entry.rank, entry.score) == ("below_min_score", 3, third.score)
    assert entry.last_returned is not None
    assert entry.last_returned.score == garden.recall(KNOWN)[1].score
    assert entry.change is not None
    assert (entry.change.key, entry.change.after) == ("recall.min_score", third.score)
    lower = garden.recall(KNOWN, config={"recall.min_score": entry.change.after})
    assert lower[2].id == third.id


def test_layouts_and_json_of_the_command_line(tmp_path: Path) -> None:
    where = ["--store", str(tmp_path / "store")]
    run: Callable[..., Any] = CliRunner().invoke
    for text in TEXTS[:4]:
        assert run(cli, [*where, "add", text]).exit_code == 0
    shown = run(cli, [*where, "--json", "recall", KNOWN, "--explain"])
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.output)
    first = found["results"][0]
    assert score(first, found) == pytest.approx(first["score"], rel=1e-9)
    assert first["score"] != first["final"] == first["reason"]["final_score"]
    text = run(cli, [*where, "recall", KNOWN]).output
    assert f"(score={first['score']:.4f}, method=" in text
    assert text.startswith("likely (confidence 0.")
    listed = run(cli, [*where, "search", KNOWN])
    assert listed.exit_code == 0
    assert f"Score: {first['score']:.4f}\n" in listed.output


NOTES = (
    "Maria lives in Lisbon with her two dogs",
    "The boiler is serviced every October",
    "Tom prefers green tea in the morning",
    "The wifi password of the office is on the fridge",
    "Ana's flight leaves on Friday at nine",
    "The library closes at eight on weekdays",
    "Peter is allergic to peanuts",
    "The car needs new winter tyres",
)


def test_in_a_store_of_eight_notes_a_match_is_probable(opener: Opener) -> None:
    store = opener(embedder=BuiltinEmbedder())
    for text in NOTES:
        store.commit(text)
    found = store.recall("where does Maria live?")
    assert (found[0].content, found[0].score >= 0.4) == (NOTES[0], True)
    for foreign, most in (("qwertz zuiop", 0.05), ("how tall is Mount Kenya?", 0.05)):
        assert store.recall(foreign, all=True)[0].score <= most


@pytest.mark.slow
def test_right_notes_read_as_probable_and_nonsense_does_not(opener: Opener) -> None:
    """With the built-in embedder and the notes of a team."""
    given = json.loads(Path(__file__).with_name("team_notes.json").read_text(encoding="utf-8"))
    store = opener(embedder=BuiltinEmbedder())
    ids = {}
    for one in given["notes"]:
        ids[store.commit(one["text"], t_ref=one["t_valid"]).memory_id] = one["id"]
    right = []
    for one in given["questions"]:
        first = store.recall(one["text"], limit=1, all=True)[0]
        if ids[first.id] in one.get("relevant", ()):
            right.append(first.score)
    assert sorted(right)[len(right) // 2] >= 0.2
    for nonsense in ("qwertz zuiop", "asdf jkl", "Who won the battle of Hastings?"):
        assert store.recall(nonsense, all=True)[0].score <= 0.06

"""Final score and score again, from the JSON of a result alone."""

from __future__ import annotations

import math
from typing import Any

META = ("keyword", "temporal", "entity", "recency")


def semantic(reason: dict[str, Any], formula: dict[str, Any]) -> float:
    """S_query."""
    content = reason["similarity"] if reason["similarity"] is not None else 0.0
    best = reason.get("hypothetical")
    prior = formula["summary_prior"] if reason.get("kind") == "SUMMARY" else 0.0
    if best is None:
        return content + prior
    mixed = formula["content_weight"] * content + formula["query_weight"] * best["cosine"]
    return mixed + prior


def linear(reason: dict[str, Any]) -> float:
    """L: the sum of weight · value, the bias among them."""
    return math.fsum(one["weight"] * one["raw"] for one in reason["signals"].values())


def blended(reason: dict[str, Any], formula: dict[str, Any]) -> float:
    """S of metadata and meaning."""
    assert set(reason["signals"]) <= set(META)
    alpha = reason.get("alpha_used") or 0.0
    meta = math.fsum(one["weight"] * one["raw"] for one in reason["signals"].values())
    plain = semantic({**reason, "kind": None}, formula)
    return alpha * meta + (1 - alpha) * plain


def base(hit: dict[str, Any], formula: dict[str, Any]) -> float:
    """What the score starts from."""
    reason = {**hit["reason"], "kind": hit["kind"]}
    prior = formula["summary_prior"] if hit["kind"] == "SUMMARY" else 0.0
    if formula["base"] == "linear":
        return 1 / (1 + math.exp(-(linear(reason) + prior)))
    if formula["base"] == "semantic":
        return max(0.0, semantic(reason, formula))
    if formula["base"] == "blend":
        return max(0.0, blended(reason, formula) + prior)
    return float(hit["similarity"])


def final(hit: dict[str, Any], formula: dict[str, Any]) -> float:
    """The final score by the formula: of a memory that the order of statements moved, its own."""
    reason = hit["reason"]
    own = base(hit, formula) * reason["path_score"] ** formula["path_power"]
    if reason["retrieval_method"] == "graph_traversal":
        assert reason["hops"] >= 1
        share = formula["association"] * reason["signal_strength"] * reason["start_base"]
        own = max(own, share)
    factor = float(reason["tracerank_boost"]["multiplier"] ** formula["tracerank_power"])
    bound = formula["tracerank_bound"]
    if bound is not None:
        factor = min(max(factor, math.exp(-bound / 2)), math.exp(bound / 2))
    return own * factor


def score(hit: dict[str, Any], result: dict[str, Any]) -> float:
    """The probability that a hit is part of the answer; without a confidence the final score."""
    given, value = result["formula"]["score"], hit["final"]
    if given is None:
        assert result["confidence"] is None
        return float(value)
    if value <= 0:
        return 0.0
    inside = min(value, 1 - 2**-53)
    x = math.log(inside / (1 - inside))
    behind = math.sqrt(max(0.0, given["best"] - x))
    level = given["bias"] + given["level"] * x + given["behind"] * behind
    return float(given["confidence"] / (1 + math.exp(-level)))

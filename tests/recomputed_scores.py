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
    """L: bias, then every term of weight · normalised; on the scale of all origins."""
    signals = dict(reason["signals"])
    rerank = signals.pop("rerank", None)
    level = math.fsum(one["weight"] * one["normalised"] for one in signals.values())
    given = reason.get("origin_evidence")
    if given is not None:
        assert math.isclose(level, given["level"], abs_tol=1e-9)
        named = (given[name] for name in ("cosine", "lexical", "best", "mean"))
        total = given["constant"] + math.fsum(one["value"] * one["weight"] for one in named)
        assert math.isclose(total, given["sum"], abs_tol=1e-9)
        level = given["scale"] * level + total
    return level + (0.0 if rerank is None else rerank["weight"] * rerank["normalised"])


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
    """The final score of the formula."""
    reason = hit["reason"]
    own = base(hit, formula) * reason["path_score"] ** formula["path_power"]
    if reason["retrieval_method"] == "graph_traversal":
        assert reason["hops"] >= 1
        share = formula["association"] * reason["signal_strength"] * reason["start_base"]
        own = max(own, share)
    if reason.get("newer_than") is not None:
        return float(reason["newer_than"]["final"])
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
    sure = min(max(result["confidence"], 1e-6), 1 - 1e-6)
    odds = given["a"] + given["b"] * math.log(value) + given["c"] * math.log(sure / (1 - sure))
    return 1 / (1 + math.exp(-odds))

"""The final score again, from the JSON of a result alone."""

from __future__ import annotations

import math
from typing import Any

META = ("keyword", "temporal", "entity", "recency")


def semantic(reason: dict[str, Any], formula: dict[str, Any]) -> float:
    """S_query."""
    content = reason["similarity"] if reason["similarity"] is not None else 0.0
    best = reason["hypothetical"]
    prior = formula["summary_prior"] if reason.get("kind") == "SUMMARY" else 0.0
    if best is None:
        return content + prior
    mixed = formula["content_weight"] * content + formula["query_weight"] * best["cosine"]
    return mixed + prior


def linear(reason: dict[str, Any]) -> float:
    """L: bias, then every term of weight · normalised."""
    terms = (one for one in reason["signals"].values() if one["weight"] is not None)
    return math.fsum(one["weight"] * one["normalised"] for one in terms)


def blended(reason: dict[str, Any], formula: dict[str, Any]) -> float:
    """S of metadata and meaning."""
    shares = {name: reason["signals"][name] for name in META}
    used = [one for one in shares.values() if one["raw"] is not None and one["weight"] is not None]
    alpha = reason["alpha_used"] or 0.0
    meta = math.fsum(one["weight"] * one["raw"] for one in used)
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
    """R-12."""
    reason = hit["reason"]
    own = base(hit, formula) * reason["path_score"] ** formula["path_power"]
    if reason["retrieval_method"] == "graph_traversal":
        assert reason["hops"] >= 1
        share = formula["association"] * reason["signal_strength"] * reason["start_base"]
        own = max(own, share)
    return own * float(reason["tracerank_boost"]["multiplier"] ** formula["tracerank_power"])

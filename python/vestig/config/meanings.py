"""What each key means, and the specification IDs that use it (K-06)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vestig.config.profiles import ORIGINS
from vestig.config.schema import EventWeights

__all__ = ["MEANINGS"]

_TRACE = "m3.tracerank."

MEANINGS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "store.path": (
        "Directory of the store; :memory: keeps everything in memory. A relative path counts from"
        " the file that names it, else from the working directory; the default from the user data"
        " directory.",
        ("D-09",),
    ),
    "store.lock_timeout_s": ("Seconds that a writer waits for the write lock.", ("D-12",)),
    "store.durability": (
        "full: a commit survives a loss of power; normal: only the death of the process.",
        ("D-09",),
    ),
    "namespace": ("The wall inside which every call acts unless it names another one.", ("D-11",)),
    "time.zone": ("Time zone in which words such as yesterday are read.", ("T-05",)),
    "embedding.provider": ("Which embedder makes the vectors.", ("D-13",)),
    "embedding.model": ("Model of the provider; null: the provider's own.", ("D-13",)),
    "embedding.dimension": ("Length of a vector; null: the model's own.", ("D-13",)),
    "embedding.normalize": ("Scale every vector to length 1.", ("D-13",)),
    "embedding.max_length": (
        "Characters of a text that a remote embedder is sent; null: all.",
        ("D-13", "C-06"),
    ),
    "embedding.timeout_s": ("Seconds that one call of a remote embedder may take.", ("B-15",)),
    "embedding.batch_size": ("Texts per call of the embedder.", ("C-06",)),
    "embedding.on_failure": (
        "error: a commit whose embedding fails is refused; defer: it is stored without a vector"
        " and embedded later.",
        ("C-06",),
    ),
    "embedding.base_url": ("Address of a remote embedder.", ("C-06",)),
    "embedding.api_key_env": (
        "Name of the environment variable that holds the embedder's key.",
        ("C-06", "K-05"),
    ),
    "hygiene.min_chars": ("Shortest text that is kept, in code points.", ("C-04",)),
    "hygiene.max_chars": ("Longest text that is kept, in code points.", ("C-04",)),
    "hygiene.normalize_whitespace": (
        "Every run of white space becomes one space before anything else.",
        ("C-03",),
    ),
    "hygiene.near_duplicate.enabled": ("Recognise restatements of a known fact.", ("C-07",)),
    "hygiene.near_duplicate.threshold": (
        "Cosine from which a memory is a candidate for a restatement (inclusive).",
        ("C-07",),
    ),
    "hygiene.near_duplicate.skip_manual_source": (
        "Do not look for restatements of commits with source manual.",
        ("C-07",),
    ),
    "hygiene.near_duplicate.max_candidates": ("Candidates that are compared.", ("C-07",)),
    "hygiene.near_duplicate.guard": (
        "Classes in which two texts must agree to state the same fact.",
        ("C-08",),
    ),
    "hygiene.near_duplicate.on_near_dup": (
        "reinforce: count the restatement for the known memory; link: keep it and link both;"
        " insert: only keep it.",
        ("C-07",),
    ),
    "keywords.max_per_memory": ("Keywords kept per memory.", ("C-09",)),
    "keywords.stopwords": ("Words that are no keywords, added to the built-in ones.", ("C-09",)),
    "enrichment.mode": (
        "deferred: jobs wait for a worker; inline: the commit works its own jobs; off: no jobs.",
        ("C-12",),
    ),
    "enrichment.max_attempts": ("Attempts before a job has failed for good.", ("C-12",)),
    "enrichment.lease_s": ("Seconds after which a running job is taken as lost.", ("C-12",)),
    "enrichment.backoff_base_s": (
        "Seconds before the second attempt; doubled for each further one.",
        ("C-12",),
    ),
    "enrichment.backoff_cap_s": ("Longest wait between two attempts in seconds.", ("C-12",)),
    "hooks.strict": ("Raise what a commit hook raised, after all is done.", ("C-11",)),
    **{
        f"m3.event_weights.{name}": (f"Weight of a {name} event in TraceRank.", ("T-07",))
        for name in EventWeights.__struct_fields__
    },
    f"{_TRACE}enabled": ("Multiply scores by TraceRank; false: by 1.", ("T-08", "R-16")),
    f"{_TRACE}tau_days": ("Days in which the trace of an event falls to 1/e.", ("T-08",)),
    f"{_TRACE}cooldown_hours": (
        "An event with a newer one less than this many hours later is part of a burst.",
        ("T-08",),
    ),
    f"{_TRACE}burst_discount": ("Weight of an event inside a burst.", ("T-08",)),
    f"{_TRACE}k": ("Strength of reinforcement.", ("T-08",)),
    f"{_TRACE}temporal_decay_enabled": ("Let unstable facts lose weight by age.", ("T-09",)),
    f"{_TRACE}dynamic_tau_days": ("Days in which a dynamic fact falls to 1/e.", ("T-09",)),
    f"{_TRACE}ephemeral_tau_days": (
        "Days in which an ephemeral fact falls to 1/e; null: a quarter of dynamic_tau_days,"
        " between 3 and 7.",
        ("T-09",),
    ),
    f"{_TRACE}static_boost": ("Factor of static facts.", ("T-09",)),
    f"{_TRACE}clip_min": ("Least value of the multiplier.", ("T-11",)),
    f"{_TRACE}clip_max": ("Greatest value of the multiplier.", ("T-11",)),
    f"{_TRACE}spacing.enabled": ("Let spaced repetitions count more.", ("T-08",)),
    f"{_TRACE}spacing.bonus": ("Most that spacing adds to an event.", ("T-08",)),
    f"{_TRACE}spacing.spacing_days": ("Gap in days that earns the whole bonus.", ("T-08",)),
    "m3.retrieval.include_expired": (
        "Recall superseded and deprecated memories too, unless the call says otherwise.",
        ("R-02",),
    ),
    "m4.edge_creation.related.enabled": ("Link a new memory to similar ones.", ("G-07",)),
    "m4.edge_creation.related.similarity_threshold": (
        "Cosine from which two memories are linked.",
        ("G-07",),
    ),
    "m4.edge_creation.related.max_edges_per_memory": ("Links made per new memory.", ("G-07",)),
    "m5.enabled": (
        "false: every eligible memory is scored by max(0, cosine) · TraceRank.",
        ("R-16",),
    ),
    "m5.start_node.direct_pool": (
        "How many of the best memories by start score compete: auto = max(50, 5 · limit).",
        ("R-12",),
    ),
    "m5.signals.cosine.enabled": ("Use meaning in the linear score.", ("Q-03",)),
    "m5.signals.lexical.enabled": ("Use words (BM25) in the linear score.", ("Q-10",)),
    **{
        f"m5.signals.weights.{origin}.{name}": (f"{text} for memories of {origin}.", ("Q-03",))
        for origin in ORIGINS
        for name, text in (
            ("bias", "Constant of the linear score"),
            ("cosine", "Weight of meaning"),
            ("lexical", "Weight of words"),
        )
    },
    "m5.final.base": (
        "What is ranked: linear = fused signals, semantic = max(0, cosine), cosine = as it is.",
        ("R-12",),
    ),
    "m5.final.tracerank_power": ("Power to which TraceRank enters the final score.", ("R-12",)),
    "m5.explainability.enabled": (
        "false: results carry method, similarity and final score only.",
        ("R-16",),
    ),
    "m5.explainability.include_path": ("Give path and hops of each result.", ("R-16",)),
    "m5.explainability.include_scores": ("Give the scores behind each result.", ("R-16",)),
    "recall.default_limit": ("Results when the call names no limit.", ("R-01",)),
    "recall.profile": ("The set of ranking values in effect.", ("R-15",)),
    "recall.profiles": ("Further profiles: name to keys of m3, m5 and recall.", ("R-15",)),
    "recall.format": ("Layout that recall prints.", ("R-18",)),
    "recall.min_score": ("Results below this final score are left out; null: none.", ("R-13",)),
    "recall.max_query_chars": ("Characters of a query that are used.", ("R-01",)),
    "lifecycle.default_policy": ("Retention policy of a commit that names none.", ("L-07",)),
}

"""What each key means, and the specification IDs that use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vestig.config.schema import EventWeights
from vestig.config.signals import ORIGINS, SWITCHES

__all__ = ["MEANINGS"]

_TRACE = "usage."
_META = "reference."
_WALK = "walk."

# what a term is, and the ID that defines it
_TERMS: Final[Mapping[str, tuple[str, str]]] = {
    "cosine": ("meaning", "Q-03"),
    "keyword": ("shared keywords", "R-06"),
    "temporal": ("the times that the query names", "R-06"),
    "entity": ("the entities that the query names", "R-06"),
    "recency": ("recency", "R-06"),
    "lexical": ("words (BM25)", "Q-10"),
    "context.words": ("words of the memory and its neighbours as one text", "Q-11"),
    "context.vector": ("meaning of the memory and its neighbours as one text", "Q-11"),
    "context.soft": ("words of five memories around it, near ones more", "Q-11"),
    "context.wide": ("words of five memories around it as one text", "Q-11"),
    **{
        f"neighbours.{of}.{place}": (f"{what} of the memory at {place} in the session", "Q-12")
        for of, what in (("lexical", "words"), ("cosine", "meaning"))
        for place in ("-2", "-1", "+1", "+2", "+3")
    },
    "answer.lexical": ("words of the assistant's answer that follows", "Q-13"),
    "answer.cosine": ("meaning of the assistant's answer that follows", "Q-13"),
    "role": ("being said by the user", "Q-14"),
    "questions": ("words of the questions that its statements answer", "Q-15"),
    "person": ("the author being named by the query (another one: minus)", "Q-16"),
    "date": ("nearness to the dates that the query names", "Q-17"),
    "when": ("expressions of time, where the query asks when", "Q-18"),
    "form.question": ("holding a question mark", "Q-19"),
    "form.length": ("length", "Q-19"),
    "form.first": ("being the first of the session", "Q-19"),
    "reply.question": ("following a question by somebody else", "Q-25"),
    "reply.lexical": ("words of the question that it follows", "Q-25"),
    "reply.late": ("tokens of the question that it follows", "Q-25"),
    "answer_type.number": ("holding a number, where the query asks how many", "Q-26"),
    "answer_type.name": ("holding names, where the query asks who, where or which", "Q-26"),
    "first_person.said": ("speaking of oneself", "Q-27"),
    "first_person.person": ("speaking of oneself as the person that the query names", "Q-27"),
    "entity_walk": ("the walk over shared entities", "Q-21"),
    "pair.pair": ("words of the query in it or in one of the best that shares a name", "Q-28"),
    "pair.gain": ("words that it adds to one of the best that shares a name", "Q-28"),
    "title": ("its title being a name in the query or in one of the best memories", "Q-29"),
    "late.mean": ("tokens (MaxSim)", "Q-20"),
    "late.idf": ("tokens, rare ones more", "Q-20"),
    "late.window": ("tokens of it and its neighbours", "Q-20"),
    "late.window_idf": ("tokens of it and its neighbours, rare ones more", "Q-20"),
    "rerank": ("what a cross-encoder says of query and text", "Q-23"),
}
# what a signal of several terms is
_SIGNALS: Final[Mapping[str, tuple[str, str]]] = {
    "context": ("the memory with its neighbours in the session", "Q-11"),
    "neighbours": ("the neighbours in the session", "Q-12"),
    "answer": ("the assistant's answer that follows", "Q-13"),
    "form": ("question mark, length, place in the session", "Q-19"),
    "reply": ("the question that a memory answers", "Q-25"),
    "answer_type": ("the kind of answer that the query asks for", "Q-26"),
    "first_person": ("speaking of oneself", "Q-27"),
    "pair": ("memories that answer together with a best one", "Q-28"),
    "late": ("tokens (late interaction)", "Q-20"),
    **{name: found for name, found in _TERMS.items() if "." not in name},
}

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
    "reranker.provider": (
        "Which cross-encoder reads the best memories, where signals.rerank is on; null: none.",
        ("Q-23",),
    ),
    "reranker.model": ("Model of the provider; for onnx, a folder.", ("Q-23",)),
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
        f"usage.event_weights.{name}": (f"Weight of a {name} event in TraceRank.", ("T-07",))
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
    f"{_TRACE}graph_connectivity_enabled": (
        "Let memories with more links weigh more.",
        ("T-10",),
    ),
    f"{_TRACE}graph_k": ("Strength of connectivity.", ("T-10",)),
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
    "recall.include_expired": (
        "Recall superseded and deprecated memories too, unless the call says otherwise.",
        ("R-02",),
    ),
    "entities.ontology": (
        "Own entity types with description, tier, synonyms and examples, or insight; null:"
        " allowed_types decides.",
        ("G-01",),
    ),
    "entities.allowed_types": ("Names of the entity types.", ("G-01",)),
    "entities.enabled": ("Find the entities that a memory names.", ("G-03",)),
    "entities.min_confidence": (
        "Confidence from which an entity counts (inclusive).",
        ("G-03", "G-04"),
    ),
    "entities.max_per_memory": (
        "Entities kept per memory, the surest first.",
        ("G-03", "G-04"),
    ),
    "entities.store_low_confidence": (
        "Keep less certain entities too; recall ignores them.",
        ("G-04",),
    ),
    "entities.max_evidence_length": (
        "Characters of the quoted evidence of an entity.",
        ("G-03",),
    ),
    "links.mentions.enabled": (
        "Link a memory to the entities that it names.",
        ("D-03",),
    ),
    "links.related.enabled": ("Link a new memory to similar ones.", ("G-07",)),
    "links.related.similarity_threshold": (
        "Cosine from which two memories are linked.",
        ("G-07",),
    ),
    "links.related.max_edges_per_memory": ("Links made per new memory.", ("G-07",)),
    "links.expansion.max_expand_via_entities": (
        "Memories that expansion adds by shared entities.",
        ("G-09",),
    ),
    "links.expansion.max_expand_via_related": (
        "Memories that expansion adds by RELATED edges.",
        ("G-09",),
    ),
    "links.expansion.min_confidence": (
        "Confidence from which a mention counts in expansion.",
        ("G-09",),
    ),
    "ranking.enabled": (
        "false: every eligible memory is scored by max(0, cosine) · TraceRank.",
        ("R-16",),
    ),
    "questions.enabled": ("Make and use stored questions of a memory.", ("C-13", "R-05")),
    "questions.allowed_triggers": ("Triggers of commits that get stored questions.", ("C-13",)),
    "questions.max_per_memory": ("Stored questions per memory.", ("C-13",)),
    "questions.offline": (
        "Who makes the questions without a model: none, or templates from rules.",
        ("C-13",),
    ),
    "questions.content_weight": (
        "Weight of the content beside the best stored question.",
        ("R-05",),
    ),
    "questions.question_weight": ("Weight of the best stored question.", ("R-05",)),
    "walk.start.enabled": (
        "false: memories are ordered by cosine where the walk starts and the pool is cut.",
        ("R-09", "R-16"),
    ),
    "walk.start.limit": ("Memories at which the walk starts.", ("R-09",)),
    "reference.alpha_meta": (
        "Share of the metadata in the start score (base semantic and blend).",
        ("R-07", "R-08"),
    ),
    "ranking.pool": (
        "How many of the best memories by start score compete: auto = max(50, 5 · limit),"
        " starts = the start nodes only.",
        ("R-12",),
    ),
    **{
        f"{_META}{name}_weight": (f"Weight of {_TERMS[name][0]} in the metadata.", ("R-07",))
        for name in ("keyword", "temporal", "entity", "recency")
    },
    f"{_META}recency_tau_days": ("Days in which recency falls to 1/e.", ("R-06",)),
    f"{_META}keyword_mode": (
        "jaccard: shared of all keywords; weighted: rare keywords count more.",
        ("R-06",),
    ),
    f"{_META}entity_mode": (
        "overlap: share of the query's entities; weighted: by match and confidence.",
        ("R-06",),
    ),
    f"{_WALK}enabled": ("Walk from the best memories along edges.", ("R-10", "R-16")),
    f"{_WALK}mode": (
        "probabilistic: edges are drawn by the seed; deterministic: by a threshold.",
        ("R-10",),
    ),
    f"{_WALK}order": ("best: the strongest offer first; dfs: depth first.", ("R-10",)),
    f"{_WALK}max_nodes": ("Memories that one walk may reach.", ("R-10",)),
    f"{_WALK}exploration_factor": ("Factor of the probability of every step.", ("R-10",)),
    f"{_WALK}signal_decay": ("Factor of the signal at every step.", ("R-10",)),
    f"{_WALK}normalize_weights": (
        "Stretch RELATED weights from the linking threshold to 1 before drawing.",
        ("R-10",),
    ),
    f"{_WALK}seed": ("Seed of the walk; null: derived from query and state.", ("R-11",)),
    f"{_WALK}edge_types": ("Edges that are walked.", ("R-10",)),
    f"{_WALK}min_signal": ("Weaker offers are not admitted.", ("R-10",)),
    f"{_WALK}max_hops": ("Longest path; null: no bound.", ("R-10",)),
    f"{_WALK}max_entity_degree": (
        "Entities with more mentions are not walked through.",
        ("R-10",),
    ),
    f"{_WALK}use_tracerank": ("Prefer reinforced memories at each step.", ("R-10",)),
    f"{_WALK}deterministic_threshold": (
        "Probability from which deterministic mode takes a step.",
        ("R-10",),
    ),
    "ranking.base": (
        "What is ranked: linear = fused signals, semantic = max(0, meaning), blend = max(0, start"
        " score), cosine = as it is.",
        ("R-12",),
    ),
    "ranking.association": (
        "Share of the start's base that a walked memory inherits by its signal.",
        ("R-12",),
    ),
    "ranking.path_power": ("Power to which the path score enters the final score.", ("R-12",)),
    "ranking.tracerank_power": ("Power to which TraceRank enters the final score.", ("R-12",)),
    "recall.reasons.enabled": (
        "false: results carry method, similarity and final score only.",
        ("R-16",),
    ),
    "recall.reasons.include_path": ("Give path and hops of each result.", ("R-16",)),
    "recall.reasons.include_scores": ("Give the scores behind each result.", ("R-16",)),
    **{
        f"signals.{name}.enabled": (
            f"Part of the linear score: {_SIGNALS[name][0]}.",
            (_SIGNALS[name][1], "Q-03"),
        )
        for name in SWITCHES
    },
    "signals.late.pool": (
        "How many of the best memories by all other terms, of origins that weigh late terms, are"
        " compared token by token.",
        ("Q-20", "Q-03"),
    ),
    "signals.rerank.pool": (
        "How many of the best memories by all other terms a cross-encoder reads.",
        ("Q-23", "Q-03"),
    ),
    **{
        f"ranking.weights.{origin}.bias": (
            f"Constant for memories of {origin} in the linear score.",
            ("Q-03",),
        )
        for origin in ORIGINS
    },
    **{
        f"ranking.weights.{origin}.{name}": (
            f"Weight for memories of {origin}: {text}.",
            ("Q-03",) if id == "Q-03" else (id, "Q-03"),
        )
        for origin in ORIGINS
        for name, (text, id) in _TERMS.items()
    },
    "index.mode": (
        "auto: large stores use an index of candidates; exact: everything is compared.",
        ("R-20",),
    ),
    "index.approximate_above": ("Memories above which auto uses the index.", ("R-20",)),
    "recall.default_limit": ("Results when the call names no limit.", ("R-01",)),
    "recall.profile": ("The set of ranking values in effect.", ("R-15",)),
    "recall.profiles": (
        "Further profiles: name to keys of m3, links.expansion, m5 and recall.",
        ("R-15",),
    ),
    "recall.format": ("Layout that recall prints.", ("R-18",)),
    "recall.min_score": ("Results below this final score are left out; null: none.", ("R-13",)),
    "recall.max_query_chars": ("Characters of a query that are used.", ("R-01",)),
    "recall.temporal_open_scale_days": (
        "Days in which nearness to a window that is open at one end falls to 1/e.",
        ("T-06",),
    ),
    "recall.entity_similarity_threshold": (
        "Cosine from which a query's name matches an entity of another name; null: never.",
        ("G-27",),
    ),
    "recall.expand_summaries": (
        "Memories covered by a pooled summary compete too.",
        ("R-12",),
    ),
    "recall.summary_prior": ("Added to the scores of summaries.", ("R-12",)),
    "search.limit": ("Hits of search when the call names no number.", ("G-20",)),
    "search.graph_depth": ("Hops that search expands when the call names none.", ("G-20",)),
    "search.decay.enabled": ("Let search hits lose weight by age.", ("G-24",)),
    "search.decay.floor": ("Search hits that decayed below this drop out.", ("G-24",)),
    "decay.basis": ("Age counts from the last access or from creation.", ("T-12",)),
    "decay.reference_access_count": ("Accesses that make full heat.", ("T-12",)),
    "decay.frequency": ("Let frequent access slow decay.", ("T-12",)),
    "lifecycle.default_policy": ("Retention policy of a commit that names none.", ("L-07",)),
    **{
        f"lifecycle.retention.{policy}_half_life_days": (
            f"Half-life in days of memories with the policy {policy}.",
            ("L-07", "T-12"),
        )
        for policy in ("decision", "standard", "ephemeral", "session")
    },
}

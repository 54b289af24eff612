"""Words that other programs have for the arguments of calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vestig.other_words import by_caller, meaning_in

_EXPIRY: Final = (
    "ttl expires expires_at expires_in expire_at expiry expiration expiration_date expiry_date"
)
# An argument → the words that others have for it.
ARGUMENTS: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(words.split())
    for name, words in {
        "limit": "k n top_k topk top_n num count"
        " number num_results n_results max max_results size page_size top",
        "query": "q question search prompt text input search_query query_text query_texts"
        " keywords content",
        "content": "text body memory fact note message value data document",
        "text": "content body memory fact note message value",
        "messages": "conversation history chat turns dialogue message",
        "where": "filter filters filter_by conditions",
        "key": "id name memory_id custom_id external_id",
        "silence": "min_confidence",
        "id": "memory_id mem_id uid uuid ids",
        "ids": "id memory_ids memory_id",
        "old": "old_id id memory_id",
        "new": "new_id replacement by",
        "tags": "tag label labels category categories topic topics",
        "author": "speaker by username user_name author_name name authors sender",
        "authors": "author speaker by username sender",
        "role": "speaker_role",
        "roles": "role",
        "statuses": "status state states",
        "session_id": "session conversation conversation_id thread thread_id chat_id run_id",
        "session_ids": "session_id session sessions conversation"
        " conversation_id thread thread_id chat_id run_id",
        "scope": "user user_id userid users customer customer_id"
        " project channel channel_id workspace group group_id collection folder scopes",
        "namespace": "tenant database index collection",
        "source": "origin src",
        "artifact_ref": "url uri link ref reference",
        "t_valid": "date timestamp time created_at when valid_from valid_at at occurred_at"
        " event_time event_date happened_at",
        "entities": "entity about person people mentions mentioning",
        "include_vectors": "include_embeddings with_vectors include_embedding",
        "descending": "reverse desc newest_first",
        "valid_from": "date timestamp time created_at when t_valid valid_at at",
        "timestamp": "date time created_at when",
        "t_invalid": "valid_until valid_to end_date ends valid_till",
        "retention_until": "keep_until",
        "expires": _EXPIRY,
        "valid_at": "at when date as_of",
        "as_of": "at when",
        "query_time": "now t_ref reference_time current_time today",
        "start": "from from_ after begin since",
        "end": "to before until",
        "dry_run": "dry plan preview",
        "since": "from start after newer_than date_from start_date from_date days",
        "until": "to end before older_than date_to end_date to_date",
        "created_since": "created_after",
        "created_until": "created_before",
        "include_expired": "include_superseded include_old include_outdated include_inactive"
        " include_history include_deprecated include_invalid",
        "metadata": "meta extra properties attributes payload metadata_filter metadatas",
        "min_similarity": "similarity_threshold",
        "query_vector": "vector embedding query_embedding",
        "offset": "skip start from_ page",
        "supersedes": "replaces supersede replace update updates",
        "reason": "why because comment",
        "budget": "max_tokens token_budget tokens token_limit",
        "explain": "reasons why debug verbose",
        "pinned": "pin important starred",
        "title": "name heading subject",
        "format": "layout style",
        "order_by": "sort sort_by order",
        "max_facts": "limit k n top_k max_results",
        "path": "store directory dir folder location db file url persist_directory",
        "target": "path file filename output out destination",
        "files": "path file filename folder source_path paths",
        "config": "settings options configuration config_file config_path",
        "read_only": "mode",
        "embedder": "embedding embeddings encoder embedding_model embedding_function",
        "llm": "language_model",
        "when": "condition conditions if_",
    }.items()
}

_LEAST_SCORE: Final = "threshold min_score score_threshold cutoff min_relevance"
_RECALLS: Final = {
    'config={"recall.min_score": …}': _LEAST_SCORE,
    "result[0].reason, which every result has": "explain reasons debug verbose",
    "result[0].score, which every result has": "with_scores with_score return_scores"
    " include_scores",
    "result[0].metadata, which every result has": "include_metadata with_metadata",
    "valid_at (a time; what does not hold then is left out)": "current only_valid only_current"
    " valid_only active_only",
    'where={"include_expired": True}, or store.history(key)': "history with_history",
    'where={"include_expired": True} (what was forgotten is gone)': "include_deleted"
    " include_forgotten",
    'config={"signals.rerank.enabled": …}': "rerank reranking use_reranker",
    "since and until": "between date_range time_range",
    "context=True": "as_text as_context as_prompt",
    "store.list(order_by=…)": "order_by sort sort_by order",
}
_ENDS: Final = {
    "t_invalid (marks it as ended from then on), retention_until (the next admin.prune after it"
    " deletes it), or store.items.put(key, value, text=…, expires=…) (hides it from then on)": (
        _EXPIRY
    ),
}
_HOLDS: Final = {"t_valid": "start since as_of start_date", "t_invalid": "until end"}
_STATES: Final = (
    _ENDS
    | _HOLDS
    | {
        "tags or metadata": "kind memory_type",
        "tags, metadata or, of a message, role": "type",
        'provenance={"agent": …}': "agent agent_id agent_name",
        "anchor (a file that it speaks of), or store.import_(file)": "file filename file_path",
        "store.rules.add(text)": "rule is_rule",
        "on_near_dup": "dedupe dedup deduplicate on_duplicate skip_duplicates",
        "key, whose new value takes the place of the one before": "overwrite on_conflict upsert",
        "store.commit_many(items), whose items take content and key": "documents texts items ids"
        " memories records facts contents batch",
        "metadata (kept with it; nothing ranks by it)": "importance priority weight salience"
        " confidence language lang parent parent_id",
        'provenance={"artifact_ref": …}': "url source_url uri link",
        "t_ref (when it was said) or t_valid (from when it holds)": "reference_time reference_date"
        " said_at created_at timestamp time date datetime when",
        "store.commit_many, whose items take content and role": "messages turns",
        'anchor in store.scoped("auto") (keeps it on the branch that changed the file)': "branch",
    }
)
# How the value begins of an argument that nothing takes the place of.
LEAVE_OUT: Final = "leave it out"
_NO_DEFAULT: Final = (
    "a key without a value raises vestig.NotFoundError, and `key in store` asks for one"
)
# A call that lacks an argument, or has one too many by place → what more is said of it.
MORE_OF_CALLS: Final[Mapping[str, str]] = {
    "Vestig.get": f"; {_NO_DEFAULT}",
    "Vestig.events": "; store.diff(start) for the whole store",
    "Vestig.commit": "; what a call wrote is stored when it returns",
}
# A call with too many arguments by place → what stands by name.
BY_NAME: Final[Mapping[str, str]] = {
    "Vestig.commit": " (a text with its key is store.commit(text, key=…))",
}
_OTHER_NAMESPACE: Final = {"vestig.open(path, namespace=…).import_(file)": "namespace ns tenant"}
_OF_KEYS: Final = {
    'where={"keys": [key]}, or where={"key_prefix": beginning} for all that begin so': (
        "key pattern prefix"
    )
}
_WORDS_IN_TEXTS: Final = {
    "store.search(query), which finds by words and meaning": "text query q content contains search"
    " match keyword keywords"
}
# What one call alone has a word for: name of the call → what is given in its place.
_OF_CALLS: Final[Mapping[str, Mapping[str, str]]] = {
    "open": {
        "store.scoped(…)": "user user_id scope session session_id customer project",
        'path=":memory:"': "in_memory memory ephemeral",
        "read_only=True, which raises NotFoundError where no store is": "must_exist must_exists"
        " exists",
        f"{LEAVE_OUT}: the first memory makes the store; with read_only=True a path without one"
        " raises NotFoundError": "create create_if_missing exist_ok",
        'config={"store.lock_timeout_s": …}': "timeout lock_timeout",
        'config={"embedding.model": …}': "embedding_model embedding_model_name",
        'config={"embedding.model": …}, or {"llm.model": …}': "model model_name",
    },
    "commit": _STATES,
    "commit_structured": _STATES,
    "update": _ENDS
    | _HOLDS
    | {"id (store.get(key).id), or store.commit(text, key=…) for a new value of a key": "key"},
    "the filter": {"ids, which store.search(query) finds": "text query q content search contains"},
    "entities": {"store.graph.entity(name)": "name query q search prefix id"},
    "count": _WORDS_IN_TEXTS | _OF_KEYS,
    "list": _WORDS_IN_TEXTS
    | _OF_KEYS
    | {"order_by (the field) or descending (True or False)": "order direction ascending asc"},
    "get": {
        f"{LEAVE_OUT}: {_NO_DEFAULT}": "default",
        'store.list(where={"keys": [key]}, known_at=…)': "known_at",
    },
    "import_": _OTHER_NAMESPACE,
    "import": _OTHER_NAMESPACE,
    "forget": {"ids, which store.search(query) finds": "query q text search"},
    "restore": {
        f"{LEAVE_OUT}: no store is written over, and path names a folder that is not there yet": (
            "overwrite force replace exist_ok merge"
        ),
        "path": "to target dest destination into directory folder",
    },
    "keys": {"prefix": "pattern glob match startswith starts_with"},
    "commit_many": {
        "items": "documents texts messages records memories facts contents",
        "key in each item": "ids id",
        "scope in each item, or store.scoped(scope).commit_many": "scope user user_id",
        "it in each item": "tags session_id author role metadata metadatas source key keys"
        " namespace",
    },
    "recall": _RECALLS,
    "search": _RECALLS,
    "VestigRetriever": {
        'store=vestig.open(…, config={"recall.min_score": …})': _LEAST_SCORE,
        'where={"scope": …}, or store=store.scoped(…)': "scope user user_id customer project",
        "store=vestig.open(…, namespace=…)": "namespace tenant collection",
        'k (search_kwargs={"k": 3} is k=3)': "search_kwargs",
        "k": "limit n top_k topk top_n num_results n_results max_results fetch_k size",
        f"{LEAVE_OUT}: every search is by words and meaning": "search_type",
        "store": "vectorstore vector_store memory path db client",
        "query of its invoke": "query question q",
    },
}


def argument_of_call(word: str, call: str) -> str:
    """The value that a call takes in the place of an argument that it alone is thought to have.

    Example:
        >>> argument_of_call("user", "open"), argument_of_call("user", "commit")
        ('store.scoped(…)', '')
    """
    return by_caller(meaning_in(word, _OF_CALLS.get(call, {})) or "")

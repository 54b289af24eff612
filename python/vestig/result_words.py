"""Words that other programs, and people, have for the attributes of results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

DICTIONARY: Final[Mapping[str, str]] = {
    "to_dict": "to_json json dict as_dict model_dump asdict dump"
}
LISTED: Final = "items results hits rows records data entries"
# The class of a result → an attribute of it → the words that others have for that.
RESULTS: Final[Mapping[str, Mapping[str, str]]] = {
    "RecallHit": {
        "content": "value page_content body fact document message string snippet chunk",
        "id": "uuid uid",
        "t_valid": "timestamp time when valid_from valid_at event_time datetime",
        "created_at": "created stored_at",
        "reason.explanation": "why explain explanation explanations because reasons",
        "score": "confidence probability prob relevance",
        "similarity": "distance cosine",
        "memory.key": "memory_key",
        "reason.flags": "expired current is_current outdated is_expired is_valid flags",
    },
    "Memory": {
        "content": "text value body fact page_content message string snippet",
        "id": "memory_id uuid uid",
        "t_valid": "timestamp time date when valid_from event_date",
        "t_invalid": "valid_until valid_to",
        "created_at": "created stored_at inserted_at",
        "author": "speaker sender user_name by",
        "tags": "labels",
        "metadata": "meta",
        "scope": "user user_id",
        "session_id": "session",
        "pinned": "pin",
    },
    "RecallResult": {
        "results": "memories documents matches",
        "result[0], or result[:n] for several": "first top best",
        "result[0].content": "answer reply response",
        "[hit.content for hit in result]": "texts contents text content",
        "[hit.id for hit in result]": "ids",
        "result[0].reason": "why explain reasons explanation",
        "recall(query, context=True).context": "to_prompt as_text prompt as_context to_context"
        " context_text to_string render",
        "len(result)": "count total",
        "list(result)": "to_list",
        "[hit.to_dict() for hit in result]": "to_df to_pandas to_dataframe",
        "why_not": "expected",
        "[hit.score for hit in result]": "scores",
        "confidence": "score",
        "bool(result)": "found empty is_empty any",
        "recall(…, offset=…)": "next next_page has_more",
    },
    "RetrieveResult": {
        "facts": "memories hits results documents",
        "'\\n'.join([*result.facts, *result.messages])": "context text prompt to_prompt as_text"
        " to_string content answer",
    },
    "RuleCheck": {
        "decision, which is None where no rule fires": "allowed denied ok action verdict result"
        " is_allowed blocked permitted allow deny",
        "fired": "rules matches matched hits violations",
    },
    "DoctorReport": {
        "exit_code, which is 0 where nothing is wrong": "ok healthy is_ok is_healthy clean status"
        " success passed valid",
        "findings": "issues errors problems checks results messages warnings",
    },
    "MemoryPage": {
        "list(…, offset=…)": "next next_page has_more",
    },
    "CommitOutcome": {
        "memory_id": "id memory ids uid new_id",
        "memory_id, of which store.show gives the text": "content text",
        "outcome": "ok stored saved status state success result kind inserted accepted"
        " created duplicate is_duplicate is_new rejected",
        "hygiene_reasons": "reason reasons error errors why message",
    },
    "ContextBlock": {
        "text, which is a str": "splitlines split strip lower upper replace startswith endswith"
        " find encode format join content value string render prompt",
    },
    "ForgetReport": {"memory_ids": "ids deleted forgotten removed"},
    "FrozenClock": {
        "move": "advance tick shift forward sleep step travel add increment elapse",
        "set": "freeze set_time move_to travel_to jump goto",
        "clock(), which gives the time": "now utcnow time current_time get",
    },
    "Entity": {"canonical_name": "name", "entity_type": "type kind"},
}

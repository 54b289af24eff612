"""Words that other programs, and people, have for what Vestig has; and the spelling that a word is
near to.

A hint that names the wrong thing is worse than none. So a word is only near to a name where a slip
of the fingers explains it, or where a table says that it means the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextvars import ContextVar
from functools import lru_cache
from types import ModuleType
from typing import Final, NoReturn

from vestig.lazy_pattern import lazy_pattern
from vestig.result_words import DICTIONARY, LISTED, RESULTS

TYPE_CHECKING = False  # as in `vestig`

# Whether messages are read at a command line, which has flags in the place of arguments.
AT_COMMAND_LINE: Final[ContextVar[bool]] = ContextVar("at_command_line", default=False)
# What says over HTTP, or to who calls tools over MCP, what a text says in Python; None: no program
# that sends requests reads it.
IN_REQUESTS: Final[ContextVar[Callable[[str], str] | None]] = ContextVar(
    "in_requests", default=None
)

# Of a longer word no more is compared: it is no misspelt name.
_WORD_CHARS_MAX: Final = 100
_BEFORE_CAPITAL: Final = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])")
# Shorter words are no slip for one another; in longer ones a letter may be another one; in still
# longer ones there may be two slips.
_SLIP_CHARS_MIN: Final = 4
_OTHER_LETTER_CHARS_MIN: Final = 6
_TWO_SLIPS_CHARS_MIN: Final = 8
_FAR: Final = 4
# Names that are compared again and again are kept without their dividers.
_WORDS_KEPT: Final = 4_096


def by_caller(python: str, command: str | None = None, request: str | None = None) -> str:
    """The way to say something to who reads the message: a caller in Python, at a command line, or
    over HTTP or MCP.

    Args:
        command: None = as in Python.
        request: None = what a server makes of the way in Python.

    Example:
        >>> by_caller("merge=True", "--merge")
        'merge=True'
    """
    if AT_COMMAND_LINE.get() and command is not None:
        return command
    said = IN_REQUESTS.get()
    if said is None:
        return python
    return said(python) if request is None else request


def is_request() -> bool:
    """Return whether a program that sends requests reads what is said."""
    return IN_REQUESTS.get() is not None


# --- spelling ----------------------------------------------------------------------------------


def nearest(word: str, names: Iterable[str]) -> str:
    """The name that a word is a misspelling of; "" where there is none, or more than one.

    The same letters in other case, or with other dividers, are the name. So is its plural. Else one
    letter is missing, too many, or changed places with its neighbour; from 6 letters on one may
    also be another, and from 8 on there may be two such slips.

    Example:
        >>> names = ["limit", "read_only", "hygiene.max_chars", "hygiene.min_chars", "stats"]
        >>> [nearest(one, names) for one in ("limt", "readOnly", "hygene.min_chars", "stash", "x")]
        ['limit', 'read_only', 'hygiene.min_chars', '', '']
    """
    typed = _letters(word[:_WORD_CHARS_MAX])
    best, found = _FAR, set[str]()
    for name in names:
        far = _apart(typed, _letters(name))
        if far < best:
            best, found = far, {name}
        elif far == best:
            found.add(name)
    return found.pop() if best < _FAR and len(found) == 1 else ""


@lru_cache(_WORDS_KEPT)
def _letters(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _apart(typed: str, name: str) -> int:
    """How far apart two words are: 0 the same, 1 a plural, then the slips and one more; `_FAR`
    where no slips make one of the other. The first letter is seldom another one."""
    if typed == name:
        return 0
    if not typed or not name:
        return _FAR
    if name in (f"{typed}s", f"{typed}es") or typed in (f"{name}s", f"{name}es"):
        return 1
    chars = min(len(typed), len(name))
    most = 2 if chars >= _TWO_SLIPS_CHARS_MIN else 1
    if chars < _SLIP_CHARS_MIN or abs(len(typed) - len(name)) > most:
        return _FAR
    if typed[0] != name[0] and typed[:2] != name[1::-1]:
        return _FAR
    slips = _distance(typed, name, 1 if chars >= _OTHER_LETTER_CHARS_MIN else _FAR)
    return slips + 1 if slips <= most else _FAR


def _distance(one: str, other: str, substitution: int) -> int:
    """Letters that are missing, too many, or swapped with their neighbour, each 1; and others."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            least = min(last[j] + 1, row[-1] + 1, last[j - 1] + (a != b and substitution))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                least = min(least, before[j - 2] + 1)
            row.append(least)
        before, last = last, row
    return last[-1]


# --- meaning -----------------------------------------------------------------------------------


def meaning_in(word: str, table: Mapping[str, str]) -> str | None:
    """The name in a table that has the word, however it is divided and in whichever case."""
    letters = _letters(word[:_WORD_CHARS_MAX])
    rows = ((ours, words.split()) for ours, words in table.items())
    return next((ours for ours, words in rows if letters in map(_letters, words)), None)


OPEN_ASYNC: Final = "vestig.aio.open(path)"
_AND_AWAIT: Final = f"{OPEN_ASYNC}, and await its "
# How a meaning begins that no call has, and that says so.
NO_CALL: Final = "there is no such call: "
_IN_SESSION: Final = 'session_id=… of store.commit, and where={"session_ids": …} of what reads'
_EVERY_MEMORY: Final = (
    'store.forget(where={"kinds": ["MEMORY", "SUMMARY"]}, all=True) for every memory, and the'
    " command vestig destroy PATH for the whole store"
)
_FORGET: Final = 'store.forget(id), or store.forget(where={"keys": [key]}) for all that a key had'
_TAGS: Final = "store.update(id, tags=…), whose tags replace all that it has"
_MODEL: Final = (
    "store.cognify, where llm.provider and llm.model name a language model (docs/models.md)"
)
_LISTED_ALL: Final = "store.list(limit=…) for a page, or list(store) for every memory"
_OF_GIT: Final = "git for branches, and store.branches.list() for those with memories"
_STORED: Final = f"{NO_CALL}what a call wrote is stored when it returns"
# A call, or what does the same → single words for it, and such of several as say more than their
# parts do.
STORE: Final[Mapping[str, str]] = {
    "store.commit": "remember store note insert write create learn memorize memorise"
    " append new record capture persist_memory keep",
    "store.commit(text), or store.commit_many(messages) for several; store.scoped(scope) has both"
    " for one user": "add",
    "store.commit(text, key=…), or store.commit_many for several": "upsert",
    "store.commit(text, key=…); store.items.put is for values of JSON": "put",
    'store.commit(text, role="user", session_id=…)': "add_user_message add_human_message",
    'store.commit(text, role="assistant", session_id=…)': "add_ai_message add_assistant_message",
    "store.commit_many, whose items take content, role and session_id": "save_context commit_turn"
    " add_messages commit_messages",
    f"{NO_CALL}nothing calls at a time, and store.recall finds a text by the day that it names": (
        "remind reminder schedule notify alarm"
    ),
    "store.rules, or store.admin.prune for what is past its retention": "policy policies triggers",
    "store.commit(text), after which it is stored, and store.admin.backup(folder) for a copy of the"
    " store": "save",
    "store.commit(text, key=…)": "set set_key",
    "{memory.session_id for memory in store}": "sessions",
    'store.list(where={"session_ids": [session_id]}, descending=False)': "turns messages dialogue"
    " conversation chat_history get_messages load_messages transcript",
    _IN_SESSION: "session",
    "store.commit(text, entities=…)": "add_node create_node",
    "store.commit_many": "batch extend bulk",
    f"{NO_CALL}outcome.similar of a commit names what was alike then, and store.supersede(old, new)"
    " ends one of two": "dedupe dedup deduplicate duplicates find_duplicates",
    "store.recall(query, limit=…)": "query",
    "store.recall, whose hits have a score": "similarity_search_with_score"
    " similarity_search_with_relevance_scores search_with_score",
    "store.recall": "ask find lookup answer match nearest invoke knn ask_question",
    "store.recall(text, all=True); the text of a stored memory is store.get(id).content": "similar"
    " similar_to find_similar get_similar more_like_this",
    "VestigRetriever(store=store) from vestig.integrations.langchain": "retriever as_retriever"
    " get_retriever to_retriever",
    "store.recall(query, context=True)": "context prompt load_memory_variables",
    "store.recall(query, context=True).context, as the text of a message": "to_messages"
    " as_messages",
    "store.recall(query)[0].reason, and store.recall(query, expect=id).why_not for what is"
    " missing": "explain explain_recall why",
    "store.recall(query, expect=id).why_not": "why_not",
    "store.recall(query, as_of=…)": "at as_of time_travel at_time",
    "store.search": "grep",
    "for memory in store": "iter each iterate stream",
    "store.list(where=…)": "filter where",
    "store.list(limit=…), the newest first": "recent latest last newest",
    "store.list(descending=False, limit=1)": "first oldest",
    _LISTED_ALL: "all memories values",
    "store.list": "peek browse entries head objects",
    "list(store), or [memory.to_dict() for memory in store]": "to_list as_list",
    "[memory.to_dict() for memory in store]": "to_df to_pandas to_dataframe to_dict as_dict",
    "key in store, or id in store": "exists has contains",
    "store.get": "fetch read value current",
    "store.get(key), or store.show(id)": "memory",
    "store.get(key).metadata": "metadata",
    "[store.get(key) for key in keys]": "mget hmget multi_get",
    'store.get(key), and then store.forget(where={"keys": …}) for all values it had': "pop",
    "store.count": "size length len total is_empty",
    "store.scoped": "user view tenant scope bind partition project user_view collection"
    " get_collection create_collection get_or_create_collection",
    _FORGET: "delete remove erase purge discard drop rm unremember",
    _EVERY_MEMORY: "clear reset wipe truncate empty flushdb flushall",
    'store.forget(where={"scope": …}) for what stands in a scope of somebody\'s own, which'
    ' store.scoped(scope) writes, and where={"entities": […]} for what mentions somebody': (
        "forget_person delete_person erase_person remove_person forget_user delete_user erase_user"
        " remove_user forget_customer delete_customer forget_about"
    ),
    "store.deprecate": "retract withdraw invalidate revoke mark_wrong",
    "store.deprecate(id) for what was added by mistake; what was replaced is committed again, with"
    " its key, and what was forgotten is gone": "undo revert",
    "store.commit(text) again, with its key: what was deprecated or forgotten stays so": "undelete"
    " undeprecate unforget recover restore_memory",
    "store.update(id, t_invalid=…), and store.deprecate(id) where it is wrong": "end mark_outdated",
    "store.update(store.get(key).id, t_invalid=…) (marks it as ended from then on) or"
    " retention_until=… (the next admin.prune after it deletes it)": "expire",
    "store.update(id, text), or store.supersede(old, new) for two that are stored": "replace"
    " core_memory_replace",
    "store.update(id, scope=…)": "move set_scope change_scope",
    "store.archive, which store.unarchive undoes": "soft_delete",
    "the command vestig destroy PATH": "destroy delete_store destroy_store remove_store",
    "store.unarchive": "unhide",
    "store.unarchive(id) for what is archived, and store.commit(text) again, with its key, for what"
    " was deprecated": "reactivate activate revive",
    "repr(store), which names its folder": "path directory dir folder location",
    "store.archive": "hide",
    "store.update": "edit modify change patch amend correct",
    _TAGS: "tag untag add_tag add_tags remove_tag set_tags",
    "store.confirm": "approve accept verify_memory",
    "store.pin": "star favorite protect pin_memory",
    "store.diff(start) for the store, and store.events(id) for one memory": "log audit journal"
    " audit_log event_log",
    "store.events(id)": "blame",
    "store.history": "versions revisions history_of key_history",
    "store.keys(prefix=…)": "scan",
    "store.items.get": "hget",
    "store.diff": "timeline changes changelog since",
    "store.import_": "load ingest bulk_load load_from",
    "store.add_document": "",
    "store.documents": "docs document",
    "store.export": "dump",
    "store.close": "disconnect shutdown quit stop dispose",
    "store.close at the end: what a call wrote is stored when it returns": "flush persist fsync",
    "with vestig.open(path): a call after its end raises ConflictError": "closed is_closed is_open",
    f"{_MODEL}: it stores claims and entities": "consolidate reflect extract extract_facts",
    f"{_MODEL}: it sums up documents, and stores claims of conversations": "summarize summarise",
    f"{_STORED}; store.deprecate(id) is for what was added by mistake": "rollback",
    _STORED: "begin transaction atomic",
    f"{NO_CALL}store.commit and store.recall embed what they are given": "embed embed_query"
    " embed_documents",
    f"{NO_CALL}store.recall ranks, and with signals.rerank.enabled a reranker reads the best": (
        "rerank"
    ),
    f"{NO_CALL}store.confirm(id, by=…) stands for what an assistant said, store.deprecate(id)"
    " withdraws what is wrong": "feedback",
    f"{NO_CALL}a store takes no SQL; store.list(where=…) filters": "execute sql",
    f"{NO_CALL}store.recall(query, context=True, budget=…) keeps a text within so many tokens": (
        "count_tokens"
    ),
    f"{NO_CALL}the command vestig mcp serves an agent its tools": "tools get_tools as_tools"
    " to_tools",
    "store.items.put": "kv hset",
    "store.rules.add": "rule",
    "store.rules.check": "may check_rules check_action",
    "store.anchors.stale": "stale_anchors",
    "store.anchors.refresh": "refresh_anchor",
    "store.commit(text, anchor=…); what is stored gets no further anchor": "anchor add_anchor",
    _OF_GIT: "branch checkout switch create_branch",
    "store.branches.merge": "merge_branch",
    "store.admin.stats": "status info describe summary statistics usage",
    "store.admin.doctor": "check verify health validate fsck is_healthy ping",
    "store.admin.backup": "snapshot clone copy copy_to",
    "store.admin.doctor, and store.admin.rebuild for the projection": "repair fix",
    "store.admin.prune": "cleanup expire_old delete_expired",
    "store.admin.rebuild": "reindex reembed rebuild_index",
    "store.admin.compact": "vacuum optimize defragment",
    "store.admin.gc": "collect_garbage garbage_collect",
    "store.admin.enrich": "process run_jobs",
    "store.admin.secrets": "find_secrets scan_secrets",
    "store.graph.search": "graph_search search_graph",
    "store.graph.neighbourhood": "neighbours neighbors neighborhood related related_to traverse",
    "store.graph.entities": "people persons nodes",
    "store.graph.link": "relate",
    "store.graph.edges": "links relations relationships triples",
    "{memory.scope for memory in store}": "scopes users",
    "{tag for memory in store for tag in memory.tags}": "tags",
    "vestig.open(…, config=…) to set a key; the command vestig config show prints them": "config"
    " configure settings set_config get_config",
    "vestig.open(…, namespace=…), or namespace=… in a call": "namespace with_namespace in_namespace"
    " use_namespace",
    "store.admin.stats().namespaces": "namespaces list_namespaces",
    "the command vestig serve": "serve run_server",
    "vestig.open(…, on_commit=…)": "on on_commit subscribe watch on_change add_listener listen",
    "vestig.open(path)": "open reopen",
    "vestig.__version__, which is that of the package": "version get_version",
    "vestig.restore(backup, path) for a backup; what was deprecated or forgotten is committed"
    " again": "restore",
    "vestig.restore(backup, path)": "from_backup",
    OPEN_ASYNC: "aio",
    # calls of one group, whose names say something else of a store
    "": "merge test refresh suggest",
}
# Of a name of several words: what is done, and with what.
_VERBS: Final[Mapping[str, str]] = {
    "write": "add store put insert log remember persist keep commit create record new upsert"
    " memorize build index append",
    "save": "save write",
    "find": "search find query lookup retrieve recall ask match",
    "read": "get load read show fetch",
    "list": "list iter browse all",
    "erase": "delete remove forget erase purge del wipe clear reset drop destroy flush discard",
    "change": "update edit set modify change patch",
    "replace": "supersede replace",
    "count": "count num",
    "import": "import ingest upload",
    "export": "export dump",
    "to": "to",
    "from": "from",
    "within": "for with as in per use by",
    "check": "check verify validate test",
    "restore": "restore",
    "backup": "backup snapshot archive",
}
_OBJECTS: Final[Mapping[str, str]] = {
    "one": "memory entry fact text note content message one turn episode",
    "many": "memories entries facts texts turns episodes notes records messages many all batch bulk"
    " list",
    "near": "relevant similar best top nearest similarity semantic vector"
    " keyword hybrid full fuzzy",
    "context": "context prompt",
    "key": "key",
    "value": "value",
    "keys": "keys",
    "id": "id ids",
    "item": "item",
    "dialogue": "conversation conversations chat dialogue thread",
    "session": "session",
    "sessions": "sessions threads",
    "old": "old older",
    "user": "user scope namespace project tenant",
    "users": "users scopes",
    "tags": "tags",
    "tag": "tag",
    "field": "metadata",
    "store": "db database store",
    "entity": "entity entities people persons nodes",
    "edge": "edge edges relation relations relationship relationships link links triples"
    " triple triplet triplets",
    "log": "log logs events event audit",
    "version": "version versions history revisions",
    "stats": "stats statistics info",
    "number": "count total",
    "document": "doc docs document documents markdown",
    "file": "file files folder json jsonl csv data",
    "backup": "backup snapshot",
    "rule": "rule rules",
    "health": "health integrity",
}
_SAYING_NOTHING: Final = frozenset(
    ("a", "by", "of", "where", "the", "from", "to", "my", "for", "archival", "core", "recall")
)
# What is done, with what: the call. The words of a name may stand in any order.
_CALLS: Final[Mapping[str, str]] = {
    "store.commit": "write/one save/one",
    "store.commit_many": "write/many save/many write/dialogue save/dialogue",
    "store.commit(text, entities=…)": "write/entity",
    "store.commit(text, session_id=…)": "write/session",
    "store.list(session_ids=…)": "read/dialogue list/dialogue read/dialogue/version read/session"
    " list/session",
    "{memory.session_id for memory in store}": "list/sessions read/sessions",
    'store.forget(where={"session_ids": …})': "erase/dialogue erase/session",
    'store.forget(where={"until": …})': "erase/old",
    "store.graph.expire_entity": "erase/entity",
    "store.add_document": "write/document save/document",
    "store.import_(files), or store.add_document(text)": "import/document",
    "store.graph.link": "write/edge",
    "store.items.put": "write/item save/item change/item write/value change/value",
    "store.commit(text, key=…)": "write/key change/key",
    "store.list(tags=…)": "read/tag list/tag find/tag",
    'store.list(where={"metadata": …})': "list/field find/field",
    "store.list(scope=…)": "list/user find/user",
    "store.items.get": "read/item",
    "store.rules.add": "write/rule",
    "store.rules.list": "read/rule list/rule",
    "store.recall": "find/one find/many find/near read/near find/document find/dialogue",
    "store.recall(query, context=True)": "read/context find/context write/context to/context",
    "store.get": "read/key read/key/one find/key read/value find/value",
    "store.show": "read/one read/id read/id/one find/id find/id/one",
    _LISTED_ALL: "list/one list/many read/many",
    "store.count": "count/one count/many read/number",
    "store.keys": "list/keys read/keys list/key",
    "store.history": "read/version list/version read/key/version",
    "store.events": "read/log list/log",
    _FORGET: "erase erase/one",
    "store.forget": "erase/many erase/id erase/id/one",
    'store.forget(where={"scope": …})': "erase/user",
    'store.forget(where={"keys": …})': "erase/key",
    "store.update": "change/one change/field change/tags change/tag write/tags write/tag"
    " write/field change/id"
    " change/id/one",
    "store.supersede": "replace/one",
    "store.documents": "list/document read/document",
    "store.forget_document": "erase/document",
    "store.graph.entities": "list/entity read/entity find/entity",
    "store.graph.edges": "list/edge read/edge find/edge",
    "store.graph.unlink": "erase/edge",
    "store.scoped": "within/user write/user",
    _IN_SESSION: "within/session",
    "store.import_": "import import/file import/many import/one read/file from/file write/file",
    "store.export": "export export/file export/many export/one to/file save/file export/document"
    " backup/file to/document",
    "store.admin.backup": "write/backup save/backup export/backup backup backup/many backup/store",
    "store.admin.stats": "read/stats",
    "store.admin.doctor": "check/health",
    "vestig.restore(backup, path)": "restore restore/backup read/backup from/backup",
    "{memory.scope for memory in store}": "list/users read/users",
    "{tag for memory in store for tag in memory.tags}": "list/tags read/tags",
}

# The groups of calls of a store → words for what they have.
GROUPS: Final = ("items", "rules", "anchors", "branches", "graph", "admin")
_GROUPS: Final[Mapping[str, Mapping[str, str]]] = {
    "items": {
        "store.items.put": "set add update upsert save",
        "store.items.get": "read fetch load exists has",
        "store.items.delete": "remove forget pop discard clear",
        "store.items.list": "all keys values items",
        "store.recall": "search query find",
    },
    "rules": {
        "store.rules.remove": "delete forget drop",
        "store.rules.list": "all rules",
        "store.rules.edit": "update change modify",
        "store.rules.show": "get",
        "store.rules.add": "create new put",
        "store.rules.check": "evaluate match for_action for_tool matching applicable test allowed",
    },
    "anchors": {
        "store.commit(text, anchor=…)": "add create set",
        "store.anchors.stale() for sources that changed, store.anchors.show(id) for those of a"
        " memory": "list check all",
        "store.anchors.stale": "changed",
    },
    "branches": {
        "store.branches.drop": "delete remove",
        "store.branches.show": "get",
        _OF_GIT: "create new add checkout switch branch",
    },
    "graph": {
        "store.graph.entities": "nodes list_entities people",
        "store.graph.search": "query find",
        "store.graph.entity": "get_entity show_entity",
        "store.graph.edge": "get_edge show_edge",
        "store.commit(text, entities=…)": "add_entity add_node create_entity create_node",
        "store.graph.link": "add_edge connect relate add_relation",
        "store.graph.unlink": "remove_edge delete_edge",
        "store.graph.neighbourhood": "neighbours neighbors neighborhood related",
        "store.graph.edges": "links relations",
    },
    "admin": {
        "vestig.restore(backup, path)": "restore",
        "store.admin.doctor": "check verify health",
        "store.admin.compact": "vacuum optimize",
        "store.admin.backup": "snapshot copy clone",
        "store.admin.rebuild": "reindex",
        "store.admin.stats": "status info size usage",
    },
}


def missing_attribute(name: str, owner: str, meant: str) -> AttributeError:
    """The error of an attribute that an object does not have.

    It has the attribute's name and no object, so that Python adds no likeness of its own to it.

    Example:
        >>> str(missing_attribute("remember", "a store", "store.commit"))
        "a store has no attribute 'remember'; use store.commit"
    """
    return AttributeError(f"{owner} has no attribute {name!r}{clause_of(meant)}", name=name)


def clause_of(meant: str) -> str:
    """The clause of a message that names what does what was meant; "" where nothing is known.

    Example:
        >>> clause_of("store.commit"), clause_of("there is no such call: a store takes no SQL")
        ('; use store.commit', '; there is no such call: a store takes no SQL')
    """
    own = meant.startswith(("there is no such call: ", "there is none: "))
    return f"; {meant}" if own else f"; use {meant}" if meant else ""


def attribute_of_store(name: str, names: Collection[str], group: str) -> str:
    """The call that does what an unknown attribute of a store is thought to do; "" = none.

    Args:
        names: the attributes that it has.
        group: the one group whose call has this name; "" = none, or several.

    Example:
        >>> attribute_of_store("remember", ["commit"], ""), attribute_of_store("gc", [], "admin")
        ('store.commit', 'store.admin.gc')
    """
    if (found := meaning_in(name, STORE)) is not None:
        return found
    if group:
        return f"store.{group}.{name}"
    plain = "_".join(word for word in words_apart(name).split("_") if word != "async")
    for other in (name.removeprefix("a"), plain):
        if other == words_apart(name):
            continue
        if other in names or call_of_words(other):
            return f"{_AND_AWAIT}{other}"
        meant = re.match(r"store\.(\w+)(?![\w.])", meaning_in(other, STORE) or "")
        if meant and meant[1] not in GROUPS:
            return f"{_AND_AWAIT}{meant[1]}"
    if near := nearest(name, names):
        return f"store.{near}"
    return call_of_words(name)


def said_of_awaited(message: str) -> str:
    """The message of a call that a store does not have, for a store whose calls are awaited.

    Example:
        >>> said_of_awaited("no aclose; use vestig.aio.open(path), and await its close")
        'no aclose; use store.close, and await it'
    """
    head, found, call = message.rpartition(_AND_AWAIT)
    return f"{head}store.{call}, and await it" if found else message


def meaning_of_word(name: str) -> str:
    """The call that does what a word says, whichever object it is asked of; "" = none.

    Example:
        >>> meaning_of_word("remember"), meaning_of_word("search-memories")
        ('store.commit', 'store.recall')
    """
    return meaning_in(name, STORE) or call_of_words(name)


def call_of_words(name: str) -> str:
    """The call that a name of several words describes: what is done, and with what; "" where a word
    of it is unknown, or nothing does that.

    Example:
        >>> names = ("deleteAllMemories", "get_user", "relevant_notes_search")
        >>> [call_of_words(one) for one in names]
        ['store.forget', '', 'store.recall']
    """
    words = [word for word in words_apart(name).split("_") if word]
    for place in {0, len(words) - 1} if len(words) > 1 else ():
        rest = [w for w in (*words[:place], *words[place + 1 :]) if w not in _SAYING_NOTHING]
        objects = {meaning_in(word, _OBJECTS) for word in rest}
        for done in (verb for verb, said in _VERBS.items() if words[place] in said.split()):
            if found := _call_of(done, objects):
                return found
    return ""


def _call_of(done: str, objects: set[str | None]) -> str:
    """The call that does such a thing with these; how many they are counts last."""
    if None in objects:
        return ""
    kinds = ["near"] if "near" in objects else sorted(str(one) for one in objects)
    for left_out in ({""}, {"one"}, {"many"}, {"one", "many"}):
        said = "/".join((done, *(kind for kind in kinds if kind not in left_out)))
        if said != done or not kinds:
            for call, forms in _CALLS.items():
                if said in forms.split():
                    return call
    return ""


def words_apart(name: str) -> str:
    """The words of a name, divided by underscores.

    Example:
        >>> words_apart("addMemory"), words_apart("delete-all")
        ('add_memory', 'delete_all')
    """
    return _BEFORE_CAPITAL.sub("_", name[:_WORD_CHARS_MAX]).replace("-", "_").lower()


def attribute_of_group(
    group: str, name: str, names: Collection[str], of_store: Iterable[str]
) -> str:
    """Return what `attribute_of_store` returns, of a group of calls.

    Args:
        names: the attributes that the group has.
        of_store: those that the store has.

    Example:
        >>> attribute_of_group("rules", "delete", ["remove"], [])
        'store.rules.remove'
    """
    if found := meaning_in(name, _GROUPS.get(group, {})):
        return found
    if name[:1] == "a" and name[1:] in names:
        return f"{_AND_AWAIT}{group}.{name[1:]}"
    if near := nearest(name, names):
        return f"store.{group}.{near}"
    # what is asked of the whole store may be asked of its upkeep
    return (
        f"store.{name}" if name in of_store else meaning_of_word(name) if group == "admin" else ""
    )


# A group of calls → the call that lists what it has.
_LISTS: Final[Mapping[str, str]] = {
    "anchors": "store.anchors.stale()",
    "graph": "store.graph.entities()",
    "admin": "store.admin.stats()",
    "items": "store.items.list(), or {memory.key: memory.content"
    " for memory in store if memory.key}",
}


def of_every_scope(scope: str, name: str) -> str:
    """The hint of a view, which has one scope, that was asked for others.

    Args:
        name: the field of the filter that asked for them.

    Example:
        >>> print(of_every_scope("tom", "unscoped").partition(", as in ")[2])
        store.recall(query, where={"scope": 'tom', "unscoped": True})
    """
    hint = "the store that it is a view of takes every scope"
    if name == "unscoped":
        hint += f', as in store.recall(query, where={{"scope": {scope!r}, "unscoped": True}})'
    return hint


def group_that_is_called(group: str) -> TypeError:
    """The error of a group of calls that is called itself.

    Example:
        >>> str(group_that_is_called("rules"))
        'store.rules is a group of calls; use store.rules.list()'
    """
    listing = _LISTS.get(group, f"store.{group}.list()")
    return TypeError(f"store.{group} is a group of calls; use {listing}")


class NamedAsCall(ModuleType):
    """A package that has the name of a call of a store, for which it is taken where it is called.

    Example:
        >>> NamedAsCall("vestig.recall")("when do deploys run?")
        Traceback (most recent call last):
            ...
        TypeError: vestig.recall is a module; use vestig.open(path).recall
    """

    def __call__(self, *_: object, **__: object) -> NoReturn:
        call = self.__name__.rpartition(".")[2]
        raise TypeError(f"{self.__name__} is a module; use vestig.open(path).{call}")


class NamesMissing:
    """The base of results: an attribute that they do not have, or a key of a dictionary, is an
    error with the attribute that was meant, where there is one."""

    __slots__ = ()

    if not TYPE_CHECKING:  # a type checker knows the attributes that there are

        def __getattr__(self, name: str) -> NoReturn:
            meant = "" if name.startswith("_") else _attribute(self, name)
            owner = type(self).__name__
            article = "an" if owner[0] in "AEIOU" else "a"
            raise missing_attribute(name, f"{article} {owner}", meant)

        def __getitem__(self, key: object) -> NoReturn:
            raise no_subscript(self, key)


def no_subscript(value: object, key: object) -> TypeError:
    """The error of a result that is taken for a dictionary.

    Example:
        >>> str(no_subscript(NamesMissing(), "colour"))
        "a NamesMissing takes no ['colour']"
    """
    name = key if isinstance(key, str) else ""
    own = _names(value)
    meant = name if name in own else _attribute(value, name)
    if isinstance(key, int) and "to_dict" in own:  # `dict(value)` asks for the first of its pairs
        meant = "to_dict()"
    hint = f"; use {meant}" if meant.startswith("[") else f"; use .{meant}" if meant else ""
    # what is no name may be a text that no message shows
    shown = repr(key) if isinstance(key, int) or name.isidentifier() else "…"
    return TypeError(f"a {type(value).__name__} takes no [{shown:.60}]{hint}")


def _attribute(value: object, name: str) -> str:
    """The attribute of a result that was meant, or that of the memory, entity or edge in it."""
    own = _names(value)
    if not name:
        return ""
    if found := attribute_of_result(type(value).__name__, name, own):
        return found
    for field in ("memory", "entity", "edge", "node"):
        inner = getattr(value, field) if field in own else None
        if isinstance(inner, NamesMissing):
            found = name if name in _names(inner) else _attribute(inner, name)
            return f"{field}.{found}" if found else ""
    fields: tuple[str, ...] = getattr(type(value), "__struct_fields__", ())
    return fields[0] if hasattr(type(value), "__len__") and name in LISTED.split() else ""


def _names(value: object) -> list[str]:
    known = {*dir(type(value)), *getattr(value, "__dataclass_fields__", ())}
    return [name for name in known if not name.startswith("_")]


def attribute_of_result(owner: str, name: str, names: Iterable[str]) -> str:
    """The attribute of a result, by the name of its class, that was meant by an unknown one.

    Example:
        >>> attribute_of_result("CommitOutcome", "id", []), attribute_of_result("Edge", "json", [])
        ('memory_id', 'to_dict')
    """
    table = {**DICTIONARY, **RESULTS.get(owner, {})}
    return meaning_in(name, table) or nearest(name, names)

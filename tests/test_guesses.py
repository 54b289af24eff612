"""Words that a newcomer tries before reading, and the call that does what is meant.

A word is answered right where it works, or where its error names one of the calls that the table
has for it. An error that names another call is a wrong hint, which is worse than none.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import pytest

import vestig
from vestig.api.guards import no_attribute
from vestig.calls.filter import nearest_argument
from vestig.hints import nearest_name
from vestig.surfaces.cli.commands import cli
from vestig.surfaces.cli.other_words import instead_of, options_instead_of
from vestig.testing import HashingEmbedder

RIGHT_LEAST = 0.9

# An attribute of a store → what does it; several are divided by bars.
ATTRIBUTES = {
    "add": "commit", "remember": "commit", "save": "commit", "store": "commit", "insert": "commit",
    "write": "commit", "learn": "commit", "put": "items.put", "upsert": "commit",
    "append": "commit",
    "add_many": "commit_many", "add_texts": "commit_many", "bulk_insert": "commit_many",
    "add_messages": "commit_many", "query": "recall", "ask": "recall", "find": "recall",
    "lookup": "recall", "similar": "recall|search", "similarity_search": "recall|search",
    "search_memories": "search|recall", "get_context": "recall", "context": "recall",
    "answer": "recall", "all": "list", "get_all": "list", "list_all": "list", "items_list": "",
    "keys": "keys", "history": "history", "versions": "history", "log": "events",
    "timeline": "diff",
    "changes": "diff", "delete": "forget", "remove": "forget", "delete_all": "forget",
    "clear": "forget", "drop": "forget", "purge": "forget", "reset": "forget", "edit": "update",
    "modify": "update", "set": "update|items.put", "replace": "supersede", "undo": "deprecate",
    "retract": "deprecate", "expire": "deprecate", "invalidate": "deprecate",
    "restore": "unarchive", "stats": "admin.stats", "status": "admin.stats",
    "info": "admin.stats", "size": "admin.stats|count", "length": "count", "doctor": "admin.doctor",
    "check": "admin.doctor", "health": "admin.doctor", "verify": "admin.doctor",
    "backup": "admin.backup", "compact": "admin.compact", "vacuum": "admin.compact",
    "reindex": "admin.rebuild", "prune": "admin.prune", "entities": "graph.entities",
    "edges": "graph.edges", "relations": "graph.edges", "link": "graph.link",
    "load": "import_", "ingest": "import_", "dump": "export", "user": "scoped",
    "for_user": "scoped", "with_scope": "scoped", "view": "scoped", "flush": "", "embed": "",
    "save_to_disk": "", "as_retriever": "recall", "exists": "get", "fetch": "get|recall",
    "get_memory": "show", "delete_memory": "forget", "update_memory": "update",
    "history_of": "history", "get_memories": "list", "peek": "list", "len": "count",
    "recall_all": "recall", "remember_all": "commit_many", "upsert_texts": "commit_many",
    "tag": "update", "star": "pin", "scopes": "items.scopes", "graph_search": "graph.search",
    "neighbors": "graph.neighbourhood", "clone": "admin.backup", "export_json": "export",
    "rollback": "", "execute": "", "create_collection": "", "persist": "", "merge": "",
}  # fmt: skip
# A call and an argument that it does not have → the one that is meant.
ARGUMENTS = {
    ("recall", "k"): "limit", ("recall", "top_k"): "limit", ("recall", "n_results"): "limit",
    ("recall", "max_results"): "limit", ("recall", "text"): "query", ("recall", "q"): "query",
    ("recall", "user_id"): "scope", ("recall", "user"): "scope", ("recall", "filter"): "where",
    ("recall", "filters"): "where", ("recall", "threshold"): "silence",
    ("recall", "min_score"): "silence", ("recall", "session_id"): "session_ids",
    ("recall", "tag"): "tags", ("recall", "author"): "where.authors", ("recall", "after"): "since",
    ("recall", "before"): "until", ("recall", "at"): "as_of|valid_at",
    ("recall", "max_tokens"): "budget", ("recall", "agent_id"): "", ("recall", "rerank"): "",
    ("recall", "key"): "where.keys", ("recall", "metadata_filter"): "where.metadata|where",
    ("commit", "text"): "content", ("commit", "user_id"): "scope", ("commit", "user"): "scope",
    ("commit", "date"): "t_valid", ("commit", "timestamp"): "t_valid", ("commit", "ttl"):
    "retention_until", ("commit", "expires_at"): "t_invalid|retention_until",
    ("commit", "id"): "key", ("commit", "importance"): "", ("commit", "tag"): "tags",
    ("commit", "meta"): "metadata", ("commit", "session"): "session_id",
    ("commit", "thread_id"): "session_id", ("commit", "replaces"): "supersedes",
    ("commit", "speaker"): "author", ("commit", "category"): "tags", ("commit", "url"):
    "", ("list", "page_size"): "limit", ("list", "skip"): "offset", ("list", "sort"): "order_by",
    ("list", "user_id"): "scope", ("forget", "id"): "ids", ("forget", "user_id"): "where.scope",
    ("forget", "memory_id"): "ids", ("update", "text"): "content", ("get", "id"): "key",
    ("get", "at"): "valid_at", ("get", "user_id"): "scope",
    ("recall", "run_id"): "session_ids", ("recall", "score_threshold"): "silence",
    ("recall", "start_date"): "since", ("recall", "status"): "where.statuses",
    ("recall", "kind"): "where.kinds", ("recall", "timeout"): "", ("commit", "memory"): "content",
    ("commit", "labels"): "tags", ("commit", "metadatas"): "metadata", ("commit", "infer"): "",
    ("commit", "valid_from"): "t_valid", ("list", "prefix"): "where.key_prefix",
    ("supersede", "old_id"): "old", ("forget", "dry"): "dry_run", ("diff", "from_"): "start",
    ("diff", "to"): "end", ("history", "id"): "key", ("get", "default"): "",
}  # fmt: skip
# A command → the one that does it.
COMMANDS = {
    "delete": "forget", "rm": "forget", "remove": "forget", "remember": "add", "save": "add",
    "put": "add", "insert": "add", "ask": "recall", "query": "recall", "find": "recall|search",
    "grep": "search", "context": "recall --context", "ls": "list", "all": "list",
    "keys": "keys", "history": "history", "versions": "history", "log": "events",
    "timeline": "diff", "changes": "diff", "undo": "deprecate", "edit": "update",
    "status": "stats", "info": "stats", "check": "doctor", "fsck": "doctor", "init": "add",
    "config": "config", "ingest": "import", "load": "import", "watch": "import --mirror",
    "sync": "import --mirror", "mirror": "import --mirror", "dump": "export",
    "snapshot": "backup", "restore": "restore", "ui": "inspect", "server": "serve",
    "start": "serve", "users": "", "sessions": "", "upgrade": "", "migrate": "tenant migrate",
    "login": "", "sql": "", "shell": "", "tags": "list --tags", "sources": "document list",
    "why": "search --explain|recall --explain", "explain": "config explain|recall --explain",
    "commit": "add", "upsert": "add", "notes": "list", "recent": "list", "latest": "list",
    "last": "list", "size": "count", "len": "count", "clear": "destroy", "delete-all": "destroy",
    "similar": "search", "related": "graph neighbourhood", "neighbors": "graph neighbourhood",
    "clone": "backup", "mcp-server": "mcp", "claude": "install", "new-store": "add",
    "insert-many": "import", "serach": "search", "shwo": "show",
    "tables": "", "session": "", "branch": "branch", "branches": "branch", "self-update": "",
    "schema": "", "ping": "doctor", "uninstall": "install --remove",
}  # fmt: skip
# A command and an option that it does not have → the one that is meant.
OPTIONS = {
    ("recall", "-k"): "--limit", ("recall", "--top-k"): "--limit", ("recall", "--user"): "--scope",
    ("recall", "--after"): "--since", ("recall", "--verbose"): "--explain",
    ("recall", "--output"): "--format", ("recall", "--threshold"): "--silence",
    ("recall", "--at"): "--as-of|--valid-at", ("add", "--date"): "--t-valid",
    ("add", "--user"): "--scope", ("add", "--session"): "--session-id", ("add", "--id"): "--key",
    ("forget", "-y"): "--yes", ("forget", "--force"): "--force", ("list", "--user"): "--scope",
    ("list", "--sort"): "--order-by", ("list", "--db"): "--store",
    ("import", "--watch"): "--mirror",
    ("import", "--user"): "--scope", ("export", "-o"): "",
}  # fmt: skip


@pytest.fixture
def store() -> Iterator[vestig.Vestig]:
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as opened:
        yield opened


def of_attribute(store: vestig.Vestig, word: str) -> str:
    if word in dir(store):
        return word
    with pytest.raises(AttributeError) as caught:
        no_attribute(word)
    return str(caught.value).partition("; use store.")[2]


def of_argument(store: vestig.Vestig, call: str, word: str) -> str:
    names = list(inspect.signature(getattr(store, call)).parameters)
    if word in names:
        return word
    return nearest_argument(word, names) if "where" in names else nearest_name(word, names)


def of_command(word: str) -> str:
    known = cli.list_commands(cli.make_context("vestig", ["--help"], resilient_parsing=True))
    if word in known:
        return word
    found = re.findall(r"`vestig ([^`]+)`", instead_of(word, "", known))
    return "" if not found or found[0] == "--help" else str(found[0])


def of_option(command: str, option: str) -> str:
    group = cli.make_context("vestig", ["--help"], resilient_parsing=True)
    found = cli.get_command(group, command)
    assert found is not None
    names = [name for row in found.get_params(group) for name in row.opts]
    return option if option in names else next(iter(options_instead_of(option, names)), "")


def test_of_150_first_guesses_nine_in_ten_are_led_right_and_none_wrong(
    store: vestig.Vestig,
) -> None:
    told = {
        **{
            (f"store.{word}", meant): of_attribute(store, word)
            for word, meant in ATTRIBUTES.items()
        },
        **{
            (f"{call}({word}=…)", meant): of_argument(store, call, word)
            for (call, word), meant in ARGUMENTS.items()
        },
        **{(f"vestig {word}", meant): of_command(word) for word, meant in COMMANDS.items()},
        **{
            (f"vestig {command} {word}", meant): of_option(command, word)
            for (command, word), meant in OPTIONS.items()
        },
    }
    assert len(told) >= 150
    right = {
        guess
        for (guess, meant), said in told.items()
        if said in meant.split("|") or any(said.startswith(f"{one} ") for one in meant.split("|"))
    }
    wrong = [
        (guess, meant, said) for (guess, meant), said in told.items() if said and guess not in right
    ]
    silent = [
        (guess, meant) for (guess, meant), said in told.items() if not said and guess not in right
    ]
    assert wrong == []
    assert len(right) >= RIGHT_LEAST * len(told), silent

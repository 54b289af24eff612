"""What newcomers try before they read, and the call that does what they mean.

Each table has what is meant → the guesses: words, or expressions between semicolons. What is
meant is a name that the hint must have; several are divided by bars. `works` runs; `says …` is in
the message, which has no hint; "" is silence, where nothing does it or nobody can know what is
meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

WORKS: Final = "works"
SAYS: Final = "says "

# Attributes of a store.
STORE: Final = {
    "store.commit": "add_turn archival_memory_insert core_memory_append add_episode "
    "remember store save insert write learn append set create note"
    " memorize add_memory save_memory store_memory log_fact add_fact new put_memory record"
    " add_text save_text addMemory",
    "store.commit_many": "commit_chat add_conversation "
    "add_many add_texts bulk_insert add_messages remember_all upsert_texts"
    " batch save_many insert_many add_all add_batch batch_add write_many commit_batch bulk",
    "store.commit(text, key=…)": "put upsert update_key set_key",
    'role="user", session_id=…': "add_user_message add_human_message",
    'role="assistant", session_id=…': "add_ai_message add_assistant_message",
    "whose items take content, role and session_id": "save_context",
    "store.commit_many(messages) for several|store.commit": "add",
    "session_id=… of store.commit": "session session_for for_session",
    "key in store": "exists has contains",
    "whose tags replace all": "tag untag set_tags add_tag",
    "store.recall(query, context=True)": "load_memory_variables",
    "store.recall, whose hits have a score": "similarity_search_with_score",
    "store.recall(query, limit=…)": "query",
    "store.get(key) for key in keys": "mget",
    "store.get(key), and then store.forget": "pop",
    "all=True) for every memory, and the command vestig destroy PATH": "clear reset wipe truncate"
    " flushdb flushall",
    "store.list(limit=…), the newest first": "recent latest last newest",
    "store.unarchive(id) for what is archived": "reactivate activate",
    "repr(store)": "path directory",
    "list(store)": "to_list",
    "store.scoped(scope)|store.scoped": "get_or_create_collection create_collection",
    "store.get(key), or store.show(id)": "memory",
    "store.get(key).metadata": "metadata",
    "what a call wrote is stored": "rollback begin transaction",
    "store.commit and store.recall embed": "embed embed_query",
    "a reranker reads the best": "rerank",
    "store.confirm(id, by=…)": "feedback",
    "a store takes no SQL": "execute",
    "budget=…": "count_tokens",
    "the command vestig mcp": "get_tools",
    "store.items.put": "hset set_item put_item set_value",
    "store.items.get": "get_item",
    "store.items.get|store.get": "get_value",
    "store.search": "grep",
    "store.recall|store.search": "archival_memory_search conversation_search "
    "ask find lookup similarity_search search_memories"
    " get_context context answer recall_all get_relevant"
    " get_relevant_documents semantic_search vector_search query_memories find_memories"
    " ask_question match nearest invoke",
    "store.recall(query, context=True)|store.recall": "prompt to_prompt build_context get_prompt"
    " to_messages",
    "store.recall(text, all=True)": "similar find_similar",
    "vestig.integrations.langchain": "retriever as_retriever",
    "store.list": "all get_all list_all memories get_memories peek list_memories fetch_all head"
    " browse read_all objects",
    "memory.to_dict() for memory in store": "to_df to_dict to_dataframe",
    "store.get": "read get_by_key value lookup_key current",
    "store.show": "load_memory get_memory get_by_id fetch_memory find_by_id",
    "store.count": "is_empty size length len total memory_count num_memories",
    "store.history": "versions revisions history_of get_history key_history",
    "store.events": "blame",
    "store.diff(start) for the store, and store.events": "audit audit_log event_log log",
    "store.events|store.diff": "get_events",
    "store.diff": "timeline changes since changelog",
    'store.forget(where={"scope": …}) for what stands in a scope of somebody\'s own, which'
    ' store.scoped(scope) writes, and where={"entities": […]} for what mentions somebody': (
        "forget_person delete_person erase_person forget_customer forget_about"
    ),
    'store.forget(where={"keys": [key]})': "delete remove erase purge discard drop rm delete_one",
    "store.forget": "delete remove erase purge delete_all drop delete_memory "
    " delete_many remove_all forget_all delete_user forget_user delete_scope remove_user"
    " delete_memories forget_many discard forget_scope remove_memory rm",
    "store.update": "edit modify update_memory patch add_tags update_metadata correct",
    "store.update(id, text)": "replace",
    "store.update(id, t_invalid=…)": "end",
    "store.supersede": "supersede_memory",
    "store.deprecate": "retract invalidate withdraw revoke mark_wrong undo revert",
    "store.commit(text) again": "undelete undeprecate recover",
    "vestig.restore": "restore restore_backup from_backup",
    "store.unarchive": "unhide",
    "store.pin": "star pin_memory favorite protect",
    "store.confirm": "verify_memory approve accept",
    "store.admin.stats": "stats info describe summary get_stats statistics status",
    "store.admin.metrics": "metrics",
    "store.admin.doctor": "ping doctor check health verify health_check integrity_check validate"
    " fsck is_healthy",
    "store.admin.backup": "backup_db backup_to backup_all "
    "backup snapshot copy clone save_backup create_backup",
    "store.admin.compact": "compact vacuum optimize defragment",
    "store.admin.rebuild": "reindex rebuild reembed rebuild_index",
    "store.admin.prune": "prune cleanup expire_old delete_expired",
    "store.admin.gc": "gc collect_garbage garbage_collect",
    "store.admin.enrich": "enrich process run_jobs",
    "store.admin.secrets": "secrets find_secrets scan_secrets",
    "store.graph.entities": "entities list_entities get_entities people",
    "store.graph.edges": "edges relations links list_edges get_edges relationships",
    "store.graph.link": "add_triplet link relate add_edge add_relation create_link",
    "store.graph.unlink": "unlink remove_edge",
    "store.graph.neighbourhood": "neighbors neighbours neighborhood related related_to traverse",
    "store.graph.search": "graph_search search_graph",
    "store.graph.merge_entities": "merge_entities",
    "store.import_": "load_from import_documents "
    "load ingest import_json import_file import_notes import_folder load_file"
    " import_data import_from from_json ingest_file import_csv"
    " commit_file add_file",
    "store.add_document": "add_documents add_doc ingest_document index_document add_markdown",
    "store.export": "to_markdown dump export_json to_json dump_json export_csv backup_json"
    " save_to_file"
    " export_markdown to_file",
    "store.scoped": "add_user "
    "user for_user with_scope view with_user tenant scope for_scope as_user"
    " bind user_view collection",
    "{memory.scope for memory in store}": "scopes users list_scopes list_users get_users",
    "{tag for memory in store for tag in memory.tags}": "tags list_tags get_tags all_tags",
    "vestig.open": "config configure reopen settings open set_config closed",
    "namespace=… in a call": "namespace",
    "store.admin.stats().namespaces": "namespaces list_namespaces",
    "the command vestig serve": "serve",
    "git for branches": "branch checkout switch create_branch",
    "store.commit(text, anchor=…)": "anchor",
    "store.get(key, valid_at=…)|store.recall(query, as_of=…)": "at as_of time_travel at_time",
    "expect=id).why_not for what is missing": "explain explain_recall",
    "expect": "why_not whynot",
    "reason|expect": "why",
    "vestig.aio": "aadd aremember adelete"
    " acommit arecall aio asearch aforget aget alist aclose aadd_document",
    "on_commit": "subscribe on_commit watch on_change add_listener listen",
    "store.rules.add": "add_rule rule new_rule",
    "store.rules.check": "check_rules check_action may",
    "store.rules.list": "list_rules",
    "store.anchors.stale": "stale stale_anchors",
    "store.branches.merge": "merge_branch",
    "store.cognify": "summarise summarize consolidate reflect extract_facts extract",
    "store.close": "disconnect shutdown quit stop flush persist",
    "store.keys": "list_keys get_keys all_keys",
    "store.retrieve": "retreive",
    "store.documents": "list_documents docs document",
    "": "add_pdf merge sync save_to_disk redact conflicts ttl lock train banana weather encrypt"
    " login schema migrate",
    # typing errors
    "store.recall|": "recal recalll",
    "store.supersede|": "superseed",
    "store.unarchive|": "unarchiv",
    "marks it as ended from then on": "expire",
    "store.update(id, scope=…)": "move change_scope",
    "store.archive": "soft_delete",
    "the command vestig destroy PATH": "destroy delete_store",
    "store.commit(text, session_id=…)": "add_session start_session",
    "store.commit(text, entities=…)": "add_entity add_node",
    "store.list(session_ids=…)": "get_session get_conversation get_chat_history",
    "memory.session_id for memory in store": "sessions list_sessions",
    "session_ids": "delete_session delete_conversation",
    "until": "forget_old",
    "outcome.similar of a commit": "dedupe duplicates",
    "store.keys(prefix=…)": "scan",
    "for memory in store": "iter each",
    "store.list(where=…)": "filter where",
    "store.list(descending=False": "first",
    "store.graph.expire_entity": "delete_entity",
    "store.list(tags=…)": "find_by_tag",
    "store.list(scope=…)": "list_by_user",
    "vestig.__version__": "version",
    "store.admin.doctor, and": "repair",
}

# Attributes of the module, each also as a name that is imported from it.
MODULE: Final = {
    "vestig.open": "SQLiteStore get_store open_memory from_env "
    "Store MemoryStore Client connect create init Database Vault Session"
    " VestigStore VestigClient MemoryClient Engine new start MemoryDB VectorStore Mem Brain Config"
    " Settings Connection from_path LongTermMemory configure client open_store"
    " PersistentClient MemoryLayer from_url from_config",
    "vestig.integrations.langchain": "langchain VestigRetriever",
    'vestig.open(":memory:")': "EphemeralClient",
    "the command vestig serve": "serve",
    "the command vestig mcp": "mcp",
    "vestig.aio": "AsyncVestig aopen AsyncMemory AsyncClient AsyncStore open_async async_open"
    " aconnect",
    "vestig.open(path).commit": "remember add addMemory",
    "vestig.open(path).search": "search",
    "vestig.open(path).admin.backup": "backup snapshot",
    "vestig.open(path).import_": "import_ ingest",
    "vestig.open(path).export": "export dump",
    "VestigError": "Error VestigException",
    "NotFoundError": "NotFound MemoryNotFound",
    "ValidationError": "ValidationEror InvalidArgument",
    "RecallResult": "Result Results",
    "RecallHit": "Hit",
    "CommitOutcome": "Outcome",
    "Filter": "Where MemoryFilter",
    "vestig.ports": "Embedder Reranker LanguageModel",
    "__version__": "version VERSION",
    "import_(file) for an export": "load",
    "the command vestig destroy PATH for a store, and vestig.open(path).forget": "delete",
    "read_only=True": "exists",
    "a store is a folder": "list_stores",
    "": "banana Agent models train tokenizer plugins",
    "the command vestig destroy PATH": "destroy delete_store",
    "vestig.errors": "exceptions",
}

# Names of modules, as `MODULE`, behind the module.
NAMES: Final = {
    "vestig.testing.ScriptedModel": "vestig.testing FakeLLM;vestig.testing MockLLM"
    ";vestig.testing FakeModel;vestig.testing FakeListLLM;vestig FakeLLM",
    "vestig.testing.HashingEmbedder": "vestig.testing FakeEmbedder;vestig.testing MockEmbedder"
    ";vestig.testing HashingEmbeder;vestig.testing FakeEmbeddings;vestig HashingEmbedder",
    "vestig.testing.FrozenClock": "vestig.testing FakeClock;vestig.testing FixedClock",
    "vestig.testing.WordReranker": "vestig.testing FakeReranker",
    'vestig.open(":memory:"': "vestig.testing FakeStore;vestig.testing InMemoryStore",
    "vestig.aio.open(path)": "vestig.aio AsyncVestig;vestig.aio AsyncClient",
    "vestig.aio.open": "vestig.aio opn",
    "vestig.NotFoundError": "vestig.errors NotFound",
    "vestig.errors.NotFoundError": "vestig.errors NotFoundEror",
    "vestig.integrations.langgraph.VestigStore": "vestig.integrations VestigStore",
    "vestig.integrations.langchain.VestigRetriever": "vestig.integrations.langchain"
    " VestigVectorStore;vestig.integrations.langchain VestigRetreiver"
    ";vestig.integrations VestigRetriever;vestig.integrations.langchain Retriever",
    "vestig.integrations.openai_agents.VestigSession": "vestig.integrations VestigSession"
    ";vestig.integrations.openai_agents Session",
    "vestig.integrations.anthropic_memory.MemoryTool": "vestig.integrations MemoryTool"
    ";vestig.integrations.anthropic_memory VestigMemoryTool",
    SAYS + "there is none: a checkpointer of LangGraph's own": "vestig.integrations VestigSaver"
    ";vestig.integrations.langgraph VestigCheckpointer;vestig.integrations.langgraph VestigSaver"
    ";vestig VestigSaver;vestig VestigCheckpointer",
    SAYS + "there is none: store.commit(text, role=…, session_id=…)": "vestig.integrations"
    " VestigChatMessageHistory;vestig.integrations.langchain VestigMemory",
    "": "vestig.testing banana;vestig.errors Banana;vestig.integrations crewai;vestig.aio _x",
}


# Words for none of which a name of Vestig is misspelt.
UNRELATED: Final = (
    "banana weather harbour kitchen violin mountain umbrella pencil gravity orchid lantern meadow"
    " tractor whisper velvet puzzle glacier hammer marble cinnamon jungle saddle thunder walnut"
    " anchovy blanket candle dolphin eclipse feather granite hollow island jacket kettle lemon"
    " magnet needle ocean parrot quartz ribbon shadow temple unicorn valley window yellow zebra"
    " bread cloud dance earth flute glass horse juice knife lamp moon nose piano queen river snow"
    " tiger uncle voice wheat x q zz foo bar baz qux test page home data user code main done stash"
    " threshold confirm ref host port debug cost price font width height colour border margin order"
    " item score rank last next prev first back stop wait sleep retry cache queue topic layer head"
)


def each(table: Mapping[str, str], divider: str = r"\s+") -> Iterator[tuple[str, str]]:
    """(guess, meant) of a table whose guesses are so divided."""
    for meant, guesses in table.items():
        for guess in re.split(divider, guesses):
            if guess.strip():
                yield guess.strip(), meant

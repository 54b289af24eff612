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
    "store.list(limit=…)": "recent latest",
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
    "store.list(limit=1)": "last",
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

# Whole expressions; the names in them are made by the test.
EXPRESSIONS: Final = {
    WORKS: """
vestig.open(':memory:') ; vestig.open(':memory:', namespace='ines')
vestig.open(':memory:', on_commit=print)
vestig.open(':memory:', config={'hygiene.min_chars': 3}) ; s.commit('The pump is in hall two')
s.commit('The pump is in hall three', metadata={'a': 1})
s.commit('The pump is in hall three', scope='user/a')
s.commit('The pump is in hall four', key='pump.place')
s.commit('The pump is in hall four', tags='food')
s.commit('The pump is in hall four', t_valid='2026-01-01')
s.commit('The pump is in hall four', role='human') ; s.commit('')
s.commit_many(['The lift is grey', {'content': 'The lift is old'}])
s.recall('where is the pump') ; s.recall('pump', limit=3) ; s.recall('pump', tags='food')
s.recall('pump', where={'tags': 'food'}) ; s.recall('pump', as_of='2026-01-01')
s.recall('pump', since='2026-01-01', until='2027-01-01') ; s.search('pump')
hit.text, hit.id, hit.memory_id, hit.score, hit.metadata, hit.created_at, hit.content
result.to_dict() ; len(result), bool(result), result[:1], list(result) ; s.recall_many(['pump'])
s.recall(messages=[{'role': 'user', 'content': 'where is the pump'}]) ; hit.reason.explanation
s.recall('pump', expect=id) ; s.recall('pump', trace=True).trace ; s.get(id) ; s.get('pump.place')
len(s), s.count(), next(iter(s)), id in s ; s.list(limit=1, offset=0) ; s.keys()
s.history('pump.place') ; s.history(id) ; s.get('pump.place', valid_at='2036-03-01')
s.update(new(), 'The pump is in hall six')
s.commit('The pump is in hall seven', supersedes=[new()]) ; s.forget(new())
s.forget(where={'scope': 'user/a'}) ; s.scoped('ines').count()
s.items.put('a', 1), s.items.get('a', scope='x') ; s.add_document('# A text', title='A')
s.diff('2026-01-01') ; s.rules.check(text='x') ; s.anchors.stale() ; vestig.Filter(tags='x')
s.get(key='pump.place').content ; s.recall('pump')[0].content ; s.forget([new(), new()])
s.unpin(new()) ; s.admin.stats().memories ; s.export('out.jsonl')
s.commit_many([{'text': 'The lift is old'}])
""",
    "vestig.open": """
vestig.Memory('a.db') ; vestig.Vestig('a.db') ; vestig.Memory() ; vestig.Vestig()
vestig.Memory(path='a.db') ; vestig.Vestig(path='a.db')
""",
    "store.scoped": """
vestig.open('ga', user='ines') ; vestig.open('ga', scope='user/a')
vestig.open('ga', user_id='ines') ; vestig.open('ga', session_id='a')
""",
    "tenant|namespace": """
vestig.open('ga', database='x')
""",
    "read_only": """
vestig.open('a', readonly=True) ; vestig.open('a', mode='r') ; vestig.open('a', read_ony=True)
""",
    'path=":memory:"': """
vestig.open(in_memory=True) ; vestig.open(memory=True)
""",
    "embedding.model": """
vestig.open('a', embedding_model='y') ; vestig.open('a', model='y')
""",
    SAYS + "leave it out": """
vestig.open('a', create=False) ; vestig.open('a', create_if_missing=True)
""",
    SAYS + "no value under this key; keys() lists those that have one": """
s.get('nothing.here')
""",
    SAYS + "config={'embedding.model': …} names a model": """
vestig.open('a', embedder='y')
""",
    "store.scoped(scope).commit_many": """
s.commit_many(['x'], scope='ines') ; s.commit_many(['x'], user_id='ines')
""",
    "it in each item": """
s.commit_many(['x'], tags=['a'])
""",
    "embedder": """
vestig.open('a', embedding_function=print)
vestig.open('a', encoder=print)
""",
    "store.lock_timeout_s": """
vestig.open('a', timeout=3) ; vestig.open('a', lock_timeout=3)
""",
    "path": """
vestig.open(directory='x') ; vestig.open(db='x') ; vestig.open(url='x')
vestig.open(persist_directory='x')
""",
    "config": """
vestig.open('a', settings={}) ; vestig.open('a', options={}) ; vestig.open('a', config_file='x')
""",
    "recall.silence": """
vestig.open(':memory:', config={'silence': .1})
vestig.open(':memory:', config={'recall.silense': .1})
""",
    "recall.default_limit": """
vestig.open(':memory:', config={'recall.limit': 3})
vestig.open(':memory:', config={'recall': {'limt': 3}})
""",
    "recall.min_score": """
s.recall('q', threshold=.3) ; s.recall('q', min_score=.5) ; s.recall('q', score_threshold=.5)
s.search('q', cutoff=.5) ; vestig.open(':memory:', config={'recall': {'minScore': 1}})
""",
    "hygiene.min_chars": """
vestig.open(':memory:', config={'hygene.min_chars': 3})
""",
    "store.path": """
vestig.open(':memory:', config={'store.pth': 'x'})
""",
    "content": """
s.commit(text='x') ; s.commit(memory='x') ; s.commit(message='x') ; s.update(id, text='x')
hit.value ; hit.page_content ; hit['content'] ; hit.body ; memory.text ; memory['content']
memory.value ; memory.body ; s.get('pump.place').text ; s.list()[0].text ; hit.fact ; hit.contnt
""",
    "memory.content": """
s.show(id).content ; s.show(id).text ; s.show(id)['content']
""",
    "memory.key": """
hit.key ; hit.memory_key
""",
    "memory.session_id": """
hit.session_id ; hit.session
""",
    "memory.scope": """
hit.scope ; hit.user_id
""",
    "memory.status": """
hit.status
""",
    "scope": """
s.commit('x', user='a') ; s.commit('x', user_id='a') ; s.recall('x', user='a')
s.recall('x', customer_id='a') ; s.list(user_id='a') ; memory.user ; memory.user_id
s.recall('q', where={'user_id': 'a'})
""",
    "where.scope|where": """
s.forget(user_id='a') ; s.forget(scope='a') ; s.deprecate(scope='a')
""",
    'where={"keys": [key]}': """
s.forget('price') ; s.forget(['price', 'colour'])
""",
    'where={"keys": …}': """
s.forget(key='a') ; s.recall('q', key='a') ; s.list(key='a')
""",
    "key": """
s.commit('x', id='abc') ; s.commit('x', memory_id='abc') ; s.get(id='x') ; s.history(id=id)
s.commit('x', name='abc')
""",
    "tags": """
s.commit('x', tag='a') ; s.commit('x', labels=['a']) ; s.commit('x', category='a')
s.recall('x', tag='a') ; vestig.Filter(tag='x') ; s.recall('q', where={'tag': 'x'}) ; hit.labels
memory.labels
""",
    "authors": """
vestig.Filter(author='x') ; s.recall('q', where={'author': 'x'})
s.recall('q', where={'speaker': 'x'})
""",
    'where={"authors": …}': """
s.recall('q', author='x') ; s.list(author='x')
""",
    "session_ids": """
vestig.Filter(session_id='x') ; s.recall('q', session_id='x') ; s.recall('q', session='x')
s.recall('q', thread_id='x') ; s.recall('q', where={'conversation_id': 'x'})
""",
    "session_id": """
s.commit('x', session='a') ; s.commit('x', thread_id='a') ; s.commit('x', conversation_id='a')
memory.session
""",
    "created_since": """
s.recall('q', where={'created_after': '2026-01-01'}) ; vestig.Filter(created_after='2026-01-01')
""",
    "t_valid": """
s.commit('x', timestamp=1) ; s.commit('x', date='2026-01-01')
s.commit('x', valid_from='2026-01-01') ; s.commit('x', occurred_at='2026-01-01')
s.commit('x', created_at='2026-01-01') ; s.commit('x', when='2026-01-01') ; hit.timestamp
hit.time ; memory.timestamp ; memory.date ; memory.valid_from
""",
    "created_at|t_created": """
hit.created ; memory.created
""",
    "t_invalid": """
memory.valid_until ; s.commit('x', valid_until='2026-01-01') ; s.commit('x', ends='2026-01-01')
""",
    "expires=…) (hides it from then on)": """
s.commit('x', ttl=60) ; s.commit('x', expires='2026-01-01') ; s.commit('x', expires_at='2026-01-01')
s.commit('x', expires_in=60) ; s.update(id, ttl=60) ; s.commit_structured('x', 'y', ttl=60)
""",
    "retention_until": """
s.commit('x', keep_until='2026-01-01')
""",
    "metadata (kept with it": """
s.commit('x', importance=3) ; s.commit('x', priority=3) ; s.commit_structured('x', 'y', weight=3)
""",
    "key, whose new value takes the place": """
s.commit('x', overwrite=True)
""",
    "silence": """
s.recall('q', min_confidence=0.5)
""",
    "store.history(key)": """
s.recall('q', history=True)
""",
    "since and until": """
s.recall('q', between=('2026-01-01', '2026-02-01'))
""",
    "on_near_dup": """
s.commit('x', dedupe=True)
""",
    "artifact_ref": """
s.commit('x', url='x') ; s.commit('x', source_url='x')
""",
    "t_valid (from when it holds) or t_ref": """
s.commit('x', reference_time='x')
""",
    "store.commit_many, whose items": """
s.commit(messages=[])
""",
    "entities": """
s.commit('x', entity='a')
""",
    "descending": """
s.list(reverse=True) ; s.list(newest_first=True)
""",
    "result[0].metadata, which every": """
s.recall('q', include_metadata=True)
""",
    "valid_at (a time": """
s.recall('q', current=True) ; s.search('q', only_valid=True)
""",
    "store.list(order_by=…)": """
s.recall('q', sort='date') ; s.recall('q', order_by='date')
""",
    "store.rules.check": """
s.rules.evaluate('x')
""",
    "store.graph.search": """
s.graph.query('x')
""",
    "store.commit(text, entities=…)": """
s.graph.add_entity('x')
""",
    "store.forget": """
s.admin.delete_all() ; s.admin.clear()
""",
    "reason.flags": """
hit.expired ; hit.is_current
""",
    "bool(result)": """
result.found ; result.is_empty()
""",
    "offset=…": """
result.next()
""",
    "hit.score for hit in result": """
result.scores
""",
    "confidence": """
result.score
""",
    "tags or metadata": """
s.commit('x', kind='preference') ; s.commit('x', memory_type='a')
""",
    "tags, metadata or, of a message, role": """
s.commit('x', type='preference')
""",
    'provenance={"agent": …}': """
s.commit('x', agent_id='bot')
""",
    "anchor (a file that it speaks of), or store.import_": """
s.commit('x', file='app.py')
""",
    "store.rules.add": """
s.commit('x', rule=True) ; s.rules.create('x')
""",
    'store.scoped("auto")': """
s.commit('x', branch='b')
""",
    "result[0].reason, which every result has": """
s.recall('q', explain=True)
""",
    "result[0].score, which every result has": """
s.recall('q', with_scores=True)
""",
    "to_dict()": """
dict(hit) ; dict(memory)
""",
    "hit.to_dict() for hit in result": """
result.to_df() ; result.to_pandas()
""",
    "store.show gives the text": """
outcome.content
""",
    SAYS + "recall_many takes several": """
s.recall(['where is it', 'and when'])
""",
    SAYS + "`vestig config show` lists the keys": """
vestig.open('a', config={'k': 5})
""",
    "metadata": """
s.commit('x', meta={}) ; s.commit('x', metadatas={}) ; s.commit('x', extra={}) ; hit.meta
memory.meta
""",
    "supersedes": """
s.commit('x', replaces='a') ; s.commit('x', update='a') ; s.commit('x', supersede='a')
""",
    "author": """
s.commit('x', speaker='a') ; s.commit('x', sender='a') ; s.commit('x', autor='a') ; hit.speaker
memory.speaker
""",
    "pinned": """
s.commit('x', pin=True) ; s.commit('x', important=True) ; memory.pin
""",
    "limit": """
s.recall('q', k=3) ; s.recall('q', top_k=3) ; s.recall('q', n_results=3) ; s.recall('q', topK=3)
s.recall('q', max_results=3) ; s.list(page_size=2) ; s.list(n=2) ; s.events(n=2)
s.recall('q', limt=3) ; s.graph.search('x', top_k=3) ; s.items.list(n=3)
""",
    "max_facts": """
s.retrieve([{'content': 'x'}], k=3)
""",
    "query": """
s.recall(query_texts=['x'], n_results=3)
s.recall(q='x') ; s.recall(question='x') ; s.recall(text='x') ; s.search(prompt='x')
""",
    "where": """
s.recall('q', filter={}) ; s.recall('q', filters={}) ; s.list(filter={})
s.recall('q', conditions={}) ; s.count(filter={}) ; s.export('x', filter={})
""",
    'where={"metadata": …}': """
s.recall('q', metadata={'a': 1}) ; s.recall('q', metadata_filter={'a': 1})
""",
    "include_expired": """
s.recall('q', include_superseded=True) ; s.list(include_superseded=True)
s.recall('q', include_old=True) ; s.recall('q', include_history=True)
""",
    "since": """
s.recall('q', after='2026-01-01') ; s.recall('q', start_date='2026-01-01')
s.list(date_from='2026-01-01')
""",
    "until": """
s.recall('q', before='2026-01-01') ; s.recall('q', end_date='2026-01-01')
""",
    "as_of|valid_at": """
s.recall('q', at='2026-01-01') ; s.get('pump.place', as_of='2026-01-01')
s.get('pump.place', at='2026-01-01') ; s.list(at='2026-01-01')
s.get('pump.place', when='2026-01-01')
""",
    "start": """
s.diff(since='2026-01-01') ; s.diff(from_='2026-01-01') ; s.diff(after='2026-01-01')
""",
    "end": """
s.diff('2026-01-01', until='2026-02-01') ; s.diff('2026-01-01', to='2026-02-01')
""",
    "offset": """
s.list(page=2) ; s.list(skip=2) ; s.recall('q', skip=2) ; s.items.list(skip=2)
""",
    "order_by": """
s.list(sort='x') ; s.list(sort_by='x') ; s.list(orderBy='x')
""",
    "budget": """
s.recall('q', max_tokens=5) ; s.recall('q', token_budget=5)
""",
    "ids": """
s.forget(id=id) ; s.forget(memory_id=id) ; s.forget(memory_ids=[id])
""",
    "dry_run": """
s.forget(id, dry=True) ; s.import_('x', preview=True)
""",
    "merge": """
s.import_('x', merg=True)
""",
    "files": """
s.import_(path='x') ; s.import_(file='x') ; s.import_(source_path='x')
""",
    "target": """
s.export(path='x') ; s.export(file='x') ; s.export(filename='x')
""",
    "reason": """
s.pin(id, why='x') ; hit.why ; hit.explain() ; hit.explanation ; hit.reasons ; hit.because
""",
    "result[0].reason|reason": """
result.why ; result.explain() ; result.reasons
""",
    "similarity": """
hit.distance ; hit.cosine ; hit.similarty
""",
    "score": """
hit.confidence ; hit.probability ; hit.relevance
""",
    "results": """
result.hits ; result.memories ; result.documents ; result['results'] ; result['hits']
result.matches ; result.items
""",
    "result[0]": """
result.first ; result.top ; result.best
""",
    "[hit.content for hit in result]": """
result.texts ; result.contents
""",
    "[hit.id for hit in result]": """
result.ids
""",
    "to_dict": """
result.to_json() ; result.json() ; result.as_dict() ; hit.json() ; memory.dict()
outcome.as_dict() ; hit.model_dump() ; page.to_json()
""",
    "list(result)": """
result.to_list()
""",
    "context=True": """
result.to_context() ; result.to_string()
result.to_prompt() ; result.as_text() ; result.prompt ; result.as_context()
""",
    "len(result)": """
result.count ; result.total
""",
    "why_not": """
result.expected ; result.whynot
""",
    "memory_id": """
outcome.id ; outcome['id'] ; outcome.memory ; outcome.ids
""",
    "outcome": """
outcome.ok ; outcome.stored ; outcome.status ; outcome.created ; outcome.duplicate
outcome.success ; outcome.result ; outcome.kind
outcome.inserted
""",
    "hygiene_reasons": """
outcome.reason ; outcome.reasons ; outcome.error ; outcome.why
""",
    "offset=": """
page.next ; page.next_page ; page.has_more
""",
    "memories": """
page.items ; page.results ; page['memories']
""",
    "memory_ids": """
report.ids ; report.deleted ; report.forgotten
""",
    "canonical_name": """
entity.name ; entity['name']
""",
    "entity_type": """
entity.type ; entity.kind
""",
    "t_created": """
memory.t_creatd
""",
    "store.get": """
s['pump.place'] ; s['x'] ; s.pin('price') ; s.archive('price') ; s.deprecate('price')
s.confirm('price', by='Ada') ; s.update('price', 'x') ; s.unpin('price')
s.show('price') ; s.events('price') ; s.supersede('price', id)
s.commit('The pump is gone now', supersedes='price') ; s.supersession_chain('price')
""",
    "store.items.get": """
s.items['k'] ; s.items.read('k') ; s.items.fetch('k')
""",
    "store.recall": """
s.items.search('k') ; s.items.query('k')
""",
    "store.items.put": """
s.items.set('k', 1) ; s.items['k'] = 1 ; s.items.add('k', 1) ; s.items.update('k', 1)
""",
    "store.items.delete": """
s.items.remove('k') ; s.items.forget('k') ; s.items.pop('k')
""",
    "store.items.list": """
s.items.all() ; s.items.keys() ; s.items.values()
""",
    "expires": """
s.items.put('k', 1, ttl=3) ; s.items.put('k', 1, expires_at='2026-01-01')
""",
    SAYS + "scope": """
s.items.put(('users', 'ines'), 'k', {'a': 1}) ; s.items.put('ns', 'k', 'v')
""",
    SAYS + "by name": """
s.rules.check('git push') ; s.scoped('a', 'Ada') ; s.recall('q', {}, 3)
s.commit('The pump is gone now', 'Ada') ; vestig.open(':memory:', 'ines')
s.items.put('k', 1, 'scope') ; s.diff('2026-01-01', '2026-01-02', {})
s.graph.link(id, id, 'RELATED', 0.4)
""",
    "when": """
s.rules.add('x', conditions='y') ; s.rules.add('x', if_='y')
""",
    SAYS + "deny": """
s.rules.add('x', 'tool = Bash', do='block')
""",
    "signals.rerank.enabled": """
s.recall('q', rerank=True)
""",
    "what was forgotten is gone": """
s.recall('q', include_deleted=True) ; s.recall('q', include_forgotten=True)
""",
    "ids, which store.search(query) finds": """
s.forget(query='x')
""",
    "prefix|store.keys('pump.')": """
s.keys(pattern='pump.*') ; s.keys(match='pump.*') ; s.keys('pump.*') ; s.keys('pump.%')
""",
    "store.commit_many(items)|items": """
s.commit(documents=['a'], ids=['b']) ; s.commit_many(documents=['a']) ; s.commit_many(texts=['a'])
""",
    SAYS + "`key in store` asks for one": """
s.get('nope', 'default') ; s.get('nope', default=None)
""",
    "store.items.list()|store.graph.entities()": """
s.items() ; s.graph()
""",
    SAYS + "scope is given by name": """
s.search('ns', query='x') ; s.recall('ns', query='x')
""",
    SAYS + "t takes": """
s.rules.add('x', name='y')
s.recall('q', timeout=3) ; s.recall('q', agent_id='x') ; s.recall('q', banana=3)
vestig.open('a', banana=1) ; s.commit('x', infer=True)
s.update(id, stash=1) ; s.commit('x', ref=1) ; s.recall('q', confirm=True)
""",
    "store.rules.remove": """
s.rules.delete(id) ; s.rules.forget(id)
""",
    "store.rules.list": """
s.rules.all() ; s.rules.rules
""",
    "store.rules.edit": """
s.rules.update(id)
""",
    "store.commit(text, anchor=…)": """
s.anchors.add('x')
""",
    "store.anchors.stale|store.anchors.show": """
s.anchors.list() ; s.anchors.check() ; s.anchors.changed()
""",
    "": """
s.branches.create('x') ; s.branches.banana ; s.rules.banana ; s.graph.banana ; s.admin.banana
hit.banana ; result.banana ; outcome.banana ; memory.banana ; page.banana ; s.items.banana
s.items.lock
""",
    "store.graph.entities": """
s.graph.nodes() ; s.graph.list_entities() ; s.graph.people()
""",
    "store.graph.link": """
s.graph.add_edge(1, 2) ; s.graph.connect(1, 2) ; s.graph.add_relation(1, 2)
""",
    "store.graph.neighbourhood": """
s.graph.neighbours(1) ; s.graph.neighbors(1) ; s.graph.neighborhood(1)
""",
    "store.graph.edges": """
s.graph.relations() ; s.graph.links
""",
    "vestig.restore": """
s.admin.restore('bk')
""",
    "store.admin.doctor": """
s.admin.check() ; s.admin.verify() ; s.admin.health()
""",
    "store.admin.compact": """
s.admin.vacuum()
""",
    "store.admin.backup": """
s.admin.snapshot('x') ; s.admin.copy('x')
""",
    "store.export": """
s.admin.export('x')
""",
    SAYS + "merge=True": """
s.import_(['full.jsonl'])
""",
    SAYS + "init=True": """
vestig.open('others').commit('The pump is in hall two')
""",
    SAYS + "commit_many": """
s.commit(['a', 'b'])
""",
    SAYS + "recall.min_score": """
vestig.open(':memory:', config={'min_score': .1})
""",
    SAYS + "hygiene.min_chars": """
vestig.open(':memory:', config={'min_chars': 3})
""",
    SAYS + "pass the text itself": """
s.commit(None) ; s.commit({'role': 'user', 'content': 'The lift is old'})
""",
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

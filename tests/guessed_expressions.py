"""Expressions that newcomers try before they read, and the call that does what they mean; as
`guesses`, between semicolons."""

from __future__ import annotations

from typing import Final

from guesses import SAYS, WORKS

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
s.forget(key='a') ; s.recall('q', key='a')
""",
    'where={"keys": [key]}, or where={"key_prefix": beginning}': """
s.list(key='a') ; s.count(key='rule.*') ; s.list(pattern='rule.*') ; s.list(prefix='fee.')
""",
    "store.rules.list() lists them": """
s.rules.remove('Never pay') ; s.rules.show('no tea')
""",
    "await vestig.aio.open(path)": """
vestig.aio.Vestig('x')
""",
    "all=True sets no bound": """
s.recall('q', silence=False) ; s.recall('q', silence=0)
""",
    "leave it out: no store is written over": """
vestig.restore('bk', 'x', overwrite=True)
""",
    "path: expected the folder in which the store shall be": """
vestig.restore('bk')
""",
    "where: expected a Filter, or an object of its fields": """
s.scoped('a').list(where="tags = 'fee'") ; s.scoped('a').forget(where='x')
s.list(where="tags = 'fee'")
""",
    "text, which is a str": """
s.recall('pump', context=True).context.splitlines()
""",
    'store.list(where={"keys": [key]}, known_at=…)': """
s.get('a', known_at='2026-01-01')
""",
    "store.commit_many, whose items take content": """
s.commit_turn('hello', 'hi')
""",
    "nothing calls at a time": """
s.remind('2027-04-08', 'x') ; s.notify('x')
""",
    "store.admin.prune for what is past its retention": """
s.policy ; s.triggers
""",
    "one = compares": """
s.rules.add('no', "tool == 'pay'")
""",
    "tests are joined by and, or, not": """
s.rules.add('no', "tool = pay && text ~ 'a*'")
""",
    'store.list(where={"session_ids": [session_id]}, descending=False)': """
s.turns('s1') ; s.messages ; s.transcript('s1')
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
    "t_ref (when it was said) or t_valid (from when it holds)": """
s.commit('x', reference_time='x') ; s.commit('x', said_at='x') ; s.commit('x', created_at='x')
s.commit('x', timestamp=1) ; s.commit('x', date='x') ; s.commit('x', time='x')
s.commit('x', when='x') ; s.commit_structured('x', 'y', date='x')
""",
    "store.commit_many, whose items": """
s.commit(messages=[])
""",
    "entities": """
s.commit('x', entity='a') ; s.commit('x', about='Ada') ; s.commit('x', mentions='Ada')
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
s.rules.evaluate('x') ; s.rules.for_action('x') ; s.rules.matching('x')
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
    SAYS + "store.commit_many([{": """
s.import_([{'memory': 'Is vegetarian', 'user_id': 'a'}]) ; s.import_({'content': 'x'})
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
s.commit(None)
""",
    SAYS + "commit_many([message]) stores a message": """
s.commit({'role': 'user', 'content': 'The lift is old'}) ; s.commit({'content': 'The lift is old'})
""",
    SAYS + "a text with its key is store.commit(text, key=…)": """
s.commit('fax', 'The fax is 4711')
""",
    "store.commit(content); what a call wrote is stored|store.commit": """
s.commit()
""",
    "update(id, text)": """
s.supersede(memory, 'The pump is in hall two') ; s.supersede('price.x', 'The pump is red')
""",
    "query_time": """
s.recall('q', now='2026-01-01') ; s.recall('q', t_ref='2026-01-01')
s.search('q', now='2026-01-01') ; s.retrieve([{'content': 'q'}], now='2026-01-01')
""",
    SAYS + "recall(query) takes a question": """
s.retrieve('where is the pump?')
""",
    SAYS + "rules.add(text, when)": """
s.commit('Never give penicillin to Rex', trigger='prescribe')
""",
    SAYS + 'an example: tool = Bash and command ~ "migrate*prod*"': """
s.rules.add('x', when='prescribing an antibiotic') ; s.rules.add('x', when={'tool': 'prescribe'})
s.rules.add('x', when='tool:prescribe') ; s.rules.add('x', when='') ; s.rules.add('x', when='tool')
s.rules.add('x', 'tool = Bash', unless='tool:')
""",
    SAYS + 'where={"scope": […], "unscoped": True} adds what has no scope': """
s.recall('q', scope=['bob', None]) ; s.list(scope=['bob', None])
s.recall('q', where={'scope': ['bob', None]})
""",
    SAYS + 'as in store.recall(query, where={"scope": \'bob\', "unscoped": True})': """
s.scoped('bob').recall('q', unscoped=True) ; s.scoped('bob').list(where={'unscoped': True})
s.scoped('bob').recall('q', where={'unscoped': True})
""",
    "memory_id of the RecallHit|id of the Memory": """
s.history(hit) ; s.get(hit) ; s.history(memory) ; s.get(memory)
""",
    "update(id, text) for a new text in its place": """
s.supersede(hit, 'The pump is in hall two')
""",
    'where={"entities": …}': """
s.list(about='Ada') ; s.list(person='Ada') ; s.recall('q', about='Ada') ; s.count(mentions='Ada')
s.list(people='Ada') ; s.forget(about='Ada')
""",
    "store.search(query)": """
s.list(text='pump') ; s.list(contains='pump') ; s.list(query='pump') ; s.count(text='pump')
""",
    "store.rules.list()": """
[rule for rule in s.rules] ; list(s.rules) ; s.rules()
""",
    "store.graph.entities()": """
list(s.graph)
""",
    "store.items.list()": """
list(s.items) ; 'k' in s.items
""",
    SAYS + "no numbers are compared, a test is of words; an example: tool = Bash": """
s.rules.add('x', when='tool = x and price > 150') ; s.rules.add('x', when='price>150')
s.rules.add('x', when='text > 150') ; s.rules.add('x', when='price >= 150')
""",
    SAYS + "the store that it is a view of takes every scope": """
s.scoped('bob').recall('q', unscoped=True) ; s.scoped('bob').count(scope_prefix='b')
""",
    "store.admin.backup(folder)": """
s.save('copy')
""",
    SAYS + "where={'kinds'": """
s.forget(all=True)
""",
    "ids, which store.search(query)": """
s.forget(where={'text': 'Speedy'}) ; s.forget(where={'query': 'Speedy'})
""",
    "store.commit(text, key=…) for a new value": """
s.update(key='fax', content='The fax is 4712')
""",
    "store.graph.entity(name)": """
s.graph.entities(name='Rex')
""",
    "order_by (the field) or descending": """
s.list(order='desc')
""",
    SAYS + "descending says in which direction": """
s.list(order_by='desc') ; s.list(order_by='ASC')
""",
    "result[0].content": """
result.answer
""",
    "facts": """
retrieved.memories ; retrieved.results
""",
    "result.facts": """
retrieved.context ; retrieved.text
""",
    "decision": """
check.allowed ; check.denied ; check.ok
""",
    "exit_code": """
doctor.ok ; doctor.healthy
""",
    "findings": """
doctor.issues
""",
    "help(vestig.Vestig)": """
vestig.help()
""",
    "list(store)": """
s.get_all() ; s.values() ; s.all()
""",
    "read_only=True": """
vestig.open('a', must_exist=True)
""",
    SAYS + "read_only=True": """
vestig.open('a', create=False) ; vestig.open('a', create_if_missing=False)
""",
    "vestig.open(path)": """
vestig.Memory() ; vestig.Memory('store') ; vestig.Memory(path='store')
""",
    "descending|order_by": """
s.list(direction='desc')
""",
}

"""Results as text for humans. The layouts of recall are made in `vestig.recall.layouts`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from vestig.calls.scope import AUTO
from vestig.language.text_forms import count_of, escaped_breaks, one_line, row
from vestig.printed import MORE, none_here, said_by, status_words
from vestig.times import to_plain
from vestig.types import CommitOutcomeKind, Kind, RetentionPolicy, Status

if TYPE_CHECKING:
    from vestig.answers import RecallResult, SignalTrace, WhyNot
    from vestig.commit.update import UpdateResult
    from vestig.config.explain import Explanation, ShownEntry
    from vestig.memories.states import StateChange
    from vestig.results import (
        CognifyReport,
        DiffReport,
        DoctorReport,
        EnrichReport,
        Finding,
        ImportReport,
        ItemPage,
        JudgedMemory,
        LinkedEntity,
        LinkedMemory,
        MemoryDetail,
        MemoryPage,
        ModelCost,
        Version,
    )
    from vestig.rules.values import RulePage
    from vestig.types import Claim, CommitOutcome, Event, Memory, SupersessionRecord, _Value

_STAGES: Final = {
    "unknown": "no memory has this id",
    "other_namespace": "the id is not in this namespace",
    "filtered": "left out by filters",
    "not_in_pool": "not among the candidates",
    "ranked_below": "ranked below the last result",
    "below_min_score": "its score is too small",
    "abstained": "left out as no answer",
}


def json_line(value: Any) -> str:
    """A value as JSON on one line."""
    import json

    return json.dumps(to_plain(value), ensure_ascii=False)


def _stage(entry: WhyNot) -> str:
    words = _STAGES[entry.stage]
    if entry.filters:
        words += f": {', '.join(entry.filters)}"
    if entry.rank is not None:
        words += f"; rank {entry.rank}"
    if entry.score is not None:
        words += f", score {entry.score:.4f}"
    last = entry.last_returned
    if last is not None and entry.score is not None:
        words += f" (last result: rank {last.rank}, score {last.score:.4f})"
    return words


def _number(signal: SignalTrace | None) -> str:
    return "–" if signal is None else f"{signal.raw:.4f}"


def _silent(signal: SignalTrace | None) -> bool:
    """Return whether a term adds nothing: it was not weighed, or its value is 0."""
    return signal is None or signal.raw == 0


def _signals(entry: WhyNot) -> list[str]:
    """Each term that adds something to either score, beside that of the last result."""
    last = entry.last_returned
    if entry.signals is None or last is None:
        return []
    pairs = [
        f"{name} {_number(entry.signals.get(name))} / {_number(last.signals.get(name))}"
        for name in {**entry.signals, **last.signals}
        if name != "bias"
        and not (_silent(entry.signals.get(name)) and _silent(last.signals.get(name)))
    ]
    return [f"  Signals (its own / of the last result): {'; '.join(pairs)}"] if pairs else []


def _change(entry: WhyNot) -> list[str]:
    change = entry.change
    if change is None:
        return [f"  No change: {entry.no_change}"]
    if change.after is True:
        return [f"  Change: --{change.key.replace('_', '-')} brings it to rank {change.rank}"]
    what = change.kind if change.kind == change.key else f"{change.kind} {change.key}"
    return [
        f"  Change: {what} from {json_line(change.before)} to"
        f" {json_line(change.after)} brings it to rank {change.rank}"
    ]


def expectations(result: RecallResult) -> list[str]:
    """One block for each expected memory that is not among the results."""
    if result.why_not is None:
        return []
    return [
        "\n".join([f"Why not {entry.id}: {_stage(entry)}", *_signals(entry), *_change(entry)])
        for entry in result.why_not
    ]


Args = Mapping[str, Any]
_LINKED_CHARS: Final = 80


def _time(moment: datetime | None) -> str:
    return "–" if moment is None else moment.strftime("%Y-%m-%d %H:%M:%S UTC").rjust(23, "0")


def _plain(value: Any) -> str:
    """A value on one line: text as it is, everything else as JSON."""
    plain = to_plain(value)
    return plain if isinstance(plain, str) else json_line(plain)


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values in two columns."""
    found = [(escaped_breaks(name), escaped_breaks(value)) for name, value in rows]
    width = max((len(name) for name, _ in found), default=0)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in found)


def outcome(value: CommitOutcome, args: Args) -> str:
    """Return what a commit stored, counted again or would store, and what it relates to; on
    further lines what is known of the same."""
    dry = bool(args.get("dry_run"))
    kind = value.outcome
    if value.echoes and value.seq is None and not dry:
        return f"Echo of {value.echoes[0]}: nothing stored"
    is_near = kind is CommitOutcomeKind.NEAR_DUPE
    is_known = is_near or kind is CommitOutcomeKind.EXACT_DUPE
    line = "Memory would be stored" if dry else "Memory stored"
    if is_known:
        line = "Memory known already"
    if not (dry and kind is CommitOutcomeKind.INSERTED_NEW):
        line += f": {value.memory_id}"
    if args.get("scope") == AUTO:
        line += f" (in {escaped_breaks(str(value.scope))})"
    if is_near:
        line += f" (near duplicate detected, score={value.query_score:.4f})"
    elif is_known:
        line += " (exact duplicate detected)"
    if value.revives is not None:
        line += f" (revives {value.revives})"
    if value.repeats is not None:
        line += f" (repeats {value.repeats})"
    if value.beside is not None:
        line += f" (beside {value.beside}, which keeps the key)"
    if value.confirms:
        line += f" (confirms {', '.join(value.confirms)})"
    if value.superseded:
        holding = args.get("holding", {})
        named = [_replaced(one, holding.get(one)) for one in value.superseded]
        line += f" (supersedes {', '.join(named)})"
    if value.masked:
        rules = ", ".join(one.rule for one in value.masked)
        line += f" (masked: {rules}; VESTIG_FIREWALL__SECRETS=off before the command keeps it)"
    return "\n".join([line, *_similar(value, args)])


def _replaced(id: str, holds: str | None) -> str:
    return id if holds is None else f"{id}, which holds {holds}"


def _similar(value: CommitOutcome, args: Args) -> list[str]:
    """Return which similar memories the new one may replace, and how it does, unless it replaced
    one already; of a dry run those that are nearly equal. JSON has all."""
    chosen = args.get("replaceable", {one.memory_id for one in value.similar if one.differs})
    shown = [one for one in value.similar if one.memory_id in chosen]
    if not shown or value.superseded:
        return []
    lines = ["Similar memories:"]
    same = args.get("same_text", {})
    for one in shown:
        differs = f" (differs: {', '.join(map(str, one.differs))})" if one.differs else ""
        if one.memory_id in same:
            author = same[one.memory_id]
            differs = f" (the same text{'' if author is None else f', by {author}'})"
        lines.append(
            f"  {one.t_valid:%Y-%m-%d}  {one.memory_id}  {one.score:.2f}  {one.beginning}{differs}"
        )
    new = value.memory_id or "NEW"
    return [*lines, f"If it replaces one of them: vestig supersede OLD {new}"]


def recall(value: RecallResult, args: Args) -> str:
    """Blocks for a prompt, in the layout of the call or the configuration."""
    return _layout(value, args, str(args.get("format", "text")))


def search(value: RecallResult, args: Args) -> str:
    """A list, unless the call names another layout."""
    explained = bool(args.get("explain"))
    return _layout(value, args, str(args.get("format", "explain" if explained else "list")))


def _layout(value: RecallResult, args: Args, layout: str) -> str:
    from vestig.recall.layouts import render

    if value.context is not None:
        shown = value.context.text or value.context.note
    else:
        zone = str(args.get("zone", "UTC"))
        shown = render(value, layout, explained=bool(args.get("explain")), zone=zone)
    return "\n\n".join([shown, *more(value, args), *expectations(value)])


def more(value: RecallResult, args: Args) -> list[str]:
    """How many more memories answer, or that some were left out of an answer that is to have all,
    and what brings them."""
    if not value.results:
        return []
    if value.more:
        from vestig.answers import count_of_more

        count = count_of_more(value)
        return [MORE.format(count=count, offset=int(args.get("offset") or 0) + len(value))]
    from vestig.language.words import asks_for_all

    if value.counts.cut and asks_for_all(value.query or ""):
        return ["what ranks far lower was left out: --all shows it"]
    return []


def timing(value: RecallResult) -> str:
    """Stages of a recall in milliseconds and per cent."""
    from vestig.recall.layouts import timing_lines

    return timing_lines(value)


def detail(value: MemoryDetail, _: Args) -> str:
    """The text of one memory, then what a reader wants to know of it."""
    return f"{value.memory.content}\n\n{table(detail_rows(value))}"


def detail_rows(value: MemoryDetail) -> list[tuple[str, str]]:
    """Names and values of what a reader wants to know of one memory beside its text: when it holds,
    who said it, where it is, what it belongs to, and its evidence. `--json` has all its fields, and
    `events` its log."""
    memory = value.memory
    rows = [("id", memory.id), ("holds", _holds(memory)), *_places(memory)]
    for source in value.sources:
        parts = (source.source_type, source.agent, source.session_id, source.path)
        rows.append(("from", " · ".join(part for part in parts if part)))
    if value.claim is not None:
        rows += _claim(value.claim)
    rows.extend(("similar", _judged(one)) for one in value.similar if one.verdict is not None)
    rows.extend(
        (
            "reads alike",
            f"{' '.join((one.memory_id, f'{one.t_valid:%Y-%m-%d}', *_role(one)))}:"
            f" {one_line(one.content, 120)}",
        )
        for one in value.versions
    )
    for record in value.supersessions:
        why = f" ({record.reason})" if record.reason else ""
        if record.superseding_id == memory.id:
            rows.append(("replaces", f"{record.superseded_id}{why}"))
        elif record.superseded_id == memory.id:
            rows.append(("replaced by", f"{record.superseding_id}{why}"))
    if value.mentions is not None and value.related is not None:
        rows += _linked("MENTIONS", [_mention(one) for one in value.mentions])
        rows += _linked("RELATED", [_related(one) for one in value.related])
    return rows


def _holds(memory: Memory) -> str:
    """Since when and until when a memory holds, and its status unless that follows."""
    words = [f"since {_minute(memory.t_valid)}"]
    if memory.t_invalid is not None:
        words.append(f"until {_minute(memory.t_invalid)}")
    status = status_words(memory)
    if status == memory.status.word and memory.status is not Status.ACTIVE:
        words.append(status.lower())
    return ", ".join(words)


def _minute(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M UTC").rjust(20, "0")


def _places(memory: Memory) -> list[tuple[str, str]]:
    """Who said a memory, where it is, and what its caller gave with it."""
    metadata = {name: item for name, item in memory.metadata.items() if name != "tags"}
    if metadata.get("source") == "manual":  # what every text that is typed has
        del metadata["source"]
    kept = memory.retention_policy
    shown = {
        "kind": "" if memory.kind is Kind.MEMORY else memory.kind.word,
        "key": memory.key,
        "title": memory.title,
        "author": memory.author,
        "role": said_by(memory) or memory.role,
        "session": memory.session_id,
        "scope": memory.scope,
        "namespace": None if memory.namespace == "default" else memory.namespace,
        "stored": _minute(memory.t_created),
        "stated again": str(memory.reinforce_count) if memory.reinforce_count else None,
        "tags": ", ".join(memory.tags),
        "metadata": _plain(metadata) if metadata else None,
        "trigger": memory.trigger,
        "pinned": (memory.pinned_reason or "yes") if memory.pinned else None,
        "retention": None if kept is RetentionPolicy.STANDARD else kept.value,
        "kept until": None if memory.retention_until is None else _minute(memory.retention_until),
    }
    return [(name, str(said)) for name, said in shown.items() if said]


def _judged(one: JudgedMemory) -> str:
    """A memory that was similar when this one was stored, and a model's verdict."""
    shown = f"{one.memory_id} ({one.score:.2f})"
    if one.verdict is None:
        return shown
    ignored = "" if one.ignored is None else f", not followed: {one.ignored}"
    return f"{shown} {one.verdict} (confidence {one.confidence:.2f}{ignored})"


def _claim(claim: Claim) -> list[tuple[str, str]]:
    """Return what the claim says, and where each piece of its evidence is from."""
    stated = {
        name: getattr(claim, name)
        for name in claim.__struct_fields__
        if name != "evidence" and getattr(claim, name) not in (None, {})
    }
    rows = [("claim", _plain(stated))]
    for one in claim.evidence:
        when = None if one.timestamp is None else _time(one.timestamp)
        parts = (when, one.author, one.source_id, one.snippet)
        rows.append(("evidence", " | ".join(part for part in parts if part)))
    return rows


def _linked(name: str, shown: list[str]) -> list[tuple[str, str]]:
    return [(name, line) for line in shown or ["(none)"]]


def _mention(entity: LinkedEntity) -> str:
    sure = "" if entity.confidence is None else f" ({entity.confidence:.4f})"
    return f"{entity.type}:{entity.name}{sure} {entity.id}"


def _related(memory: LinkedMemory) -> str:
    return f"{memory.id} ({memory.weight:.4f}) {one_line(memory.content, _LINKED_CHARS)}"


def _event(event: Event) -> str:
    parts = [_time(event.occurred_at), event.event_type.word, event.source]
    parts += [part for part in (event.actor, event.artifact_ref) if part]
    if event.payload:
        parts.append(_plain(event.payload))
    return row(*parts)


def nothing_on(page: MemoryPage | RulePage | ItemPage, things: str) -> str:
    """Return what stands in the place of the lines of a page that has none."""
    return none_here(things, page.total if page.offset >= page.total else 0)


def page(value: MemoryPage, args: Args) -> str:
    """id | created | source | status | since when it holds, where that is another day | until when,
    where that is known | key, where one has it | role, of a statement of a model | snippet."""
    if not value.memories:
        return nothing_on(value, "memories")
    length = int(args.get("snippet_len", 80))
    lines = []
    for memory in value.memories:
        source = str(memory.metadata.get("source", "–"))
        status = status_words(memory)
        cells = [memory.id, _time(memory.t_created), source, status]
        if _day(memory.t_valid) != _day(memory.t_created):
            cells.append(f"since={_day(memory.t_valid)}")
        if memory.t_invalid is not None and status == memory.status.word:
            cells.append(f"until={_day(memory.t_invalid)}")
        cells += [] if memory.key is None else [f"key={memory.key}"]
        cells += [*_role(memory), one_line(memory.content, length)]
        lines.append(row(*cells))
    return "\n".join(lines)


def history(value: Sequence[Memory], _: Args) -> str:
    """since when | until when | status | id | role, of a statement of a model | text, a line for
    each version."""
    return "\n".join(
        row(*span, status_words(one), one.id, *_role(one), one_line(one.content, 80))
        for one, span in zip(value, spans(value), strict=True)
    )


def spans(versions: Sequence[Memory]) -> list[tuple[str, str]]:
    """Since when and until when each version holds: to the minute where two begin, or one begins
    and ends, on one day. What was withdrawn as wrong held at no time."""
    days = [_day(one.t_valid) for one in versions]
    begun_and_ended = any(
        one.t_invalid is not None and _day(one.t_invalid) == day
        for one, day in zip(versions, days, strict=True)
    )
    form = "%Y-%m-%d %H:%M" if begun_and_ended or len({*days}) < len(days) else "%Y-%m-%d"
    found = []
    for one in versions:
        until = "withdrawn" if one.status is Status.DEPRECATED else "–"
        if one.t_invalid is not None:
            until = one.t_invalid.strftime(form)
        found.append((one.t_valid.strftime(form), until))
    return found


def _role(memory: Memory | Version) -> list[str]:
    """The cell of a statement of an assistant or a tool; none for others."""
    said = said_by(memory)
    return [f"role={said}"] if said else []


def _day(moment: datetime) -> str:
    return moment.date().isoformat()


def keys(value: Sequence[str], _: Args) -> str:
    """A key a line."""
    return "\n".join(map(escaped_breaks, value)) or "No keys found."


def difference(value: DiffReport, _: Args) -> str:
    """Counts, then a line for each entry, by list, oldest first."""
    names = ("learnt", "changed", "withdrawn", "ended", "merged_entities", "forgotten")
    counts = {name: len(getattr(value, name)) for name in names}
    head = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count)
    lines = [f"After {_time(value.start)}, until {_time(value.end)}: {head or 'nothing'}"]
    for one in value.learnt:
        said = row(_time(one.t_created), one.id, *_role(one), one_line(one.content, 80))
        lines.append(f"learnt    | {said}")
    for change in value.changed:
        plain = change.to_dict()
        if "fields" in plain:
            said = row(plain["id"], ", ".join(plain["fields"]))
        else:
            why = f" ({plain['reason']})" if plain["reason"] else ""
            said = f"{plain['old']} → {plain['new'] or 'what was forgotten since'}{why}"
        lines.append(row("changed  ", _time(change.when), said))
    for gone in value.withdrawn:
        lines.append(row("withdrawn", _time(gone.when), gone.id, str(gone.reason)))
    for end in value.ended:
        cells = ("ended    ", _time(end.when), end.id, end.t_invalid, end.reason)
        lines.append(row(*map(str, cells)))
    for entity in value.merged_entities:
        lines.append(f"merged    | {_time(entity.when)} | {entity.id} → {entity.into}")
    for lost in value.forgotten:
        by = f" by {lost.actor}" if lost.actor else ""
        lines.append(row("forgotten", _time(lost.when), f"{lost.id}{by}"))
    return "\n".join(lines)


def events(value: Iterable[Event], _: Args) -> str:
    """One line per event, oldest first."""
    return "\n".join(_event(event) for event in value)


_DONE = {
    "pin": "pinned",
    "unpin": "unpinned",
    "archive": "archived",
    "unarchive": "unarchived",
    "confirm": "confirmed",
}
_ALREADY = {
    "pin": "was pinned already",
    "unpin": "was not pinned",
    "archive": "was archived already",
    "unarchive": "was not archived",
    "confirm": "needs no confirmation",
}


def state(value: StateChange, _: Args) -> str:
    """Return what a change of state did."""
    words = _DONE if value.changed else _ALREADY
    return f"Memory {value.memory_id} {words[value.action]}"


def supersession(value: SupersessionRecord, _: Args) -> str:
    """The record of a replacement."""
    why = f" ({escaped_breaks(value.reason)})" if value.reason else ""
    return f"Memory {value.superseded_id} superseded by {value.superseding_id}{why}"


def updated(value: UpdateResult, _: Args) -> str:
    """Which fields changed, or the memory that a new text became."""
    if value.outcome is not None:
        kind = value.outcome.outcome
        if kind in (CommitOutcomeKind.EXACT_DUPE, CommitOutcomeKind.NEAR_DUPE):
            which = "near" if kind is CommitOutcomeKind.NEAR_DUPE else "exact"
            return f"Memory replaced by a known one: {value.memory_id} ({which} duplicate detected)"
        return f"Memory updated by a new text: {value.memory_id}"
    if not value.fields:
        return f"Memory {value.memory_id} unchanged (version {value.version})"
    said = f"Memory {value.memory_id} updated: {', '.join(value.fields)} (version {value.version})"
    return "\n".join([said, *(f"replaced {one}" for one in value.replaced)])


def enriched(value: EnrichReport, _: Args) -> str:
    """Counts of a run over the job queue, and what its calls of a language model took."""
    if value.dry_run:
        return _unsent(f"{value.pending} jobs are due", value.costs)
    sent = f", {value.submitted} in a batch" if value.submitted else ""
    lines = [
        f"{value.done} jobs done, {value.retried} to be retried, {value.failed} failed,"
        f" {value.pending} pending{sent}"
    ]
    if value.superseded:
        lines.append(f"{value.superseded} memories superseded, as a language model judged")
    return "\n".join([*lines, *map(model_cost, value.costs)])


def cognified(value: CognifyReport, _: Args) -> str:
    """Counts of what a language model read and found, what failed, and what its calls took."""
    if value.dry_run:
        return _unsent(f"{value.windows_left} windows would be read", value.costs)
    lines = [
        f"{value.windows_read} windows read, {value.windows_failed} failed,"
        f" {value.windows_left} left",
        f"{value.claims_added} claims added, {value.claims_merged} stated again,"
        f" {value.entities_created} entities, {value.relations_created} relations,"
        f" {value.summaries_created} summaries",
    ]
    if value.items_dropped:
        lines.append(f"{value.items_dropped} items of answers dropped")
    if value.ends_unresolved:
        lines.append(f"{value.ends_unresolved} names in claims are no entity's, or several'")
    lines += [f"window {one.index}: {one.message}" for one in value.errors[:ERRORS_SHOWN]]
    if len(value.errors) > ERRORS_SHOWN:
        lines.append(f"and {len(value.errors) - ERRORS_SHOWN} more errors")
    return "\n".join([*lines, *value.warnings, *map(model_cost, value.costs)])


def _unsent(due: str, costs: Sequence[ModelCost]) -> str:
    """Return what a dry run would send to language models, beside how much is due."""
    head = ["what would be sent, estimated, without the answers:"] if costs else []
    return "\n".join([f"{due}; nothing was asked", *head, *map(model_cost, costs)])


def model_cost(cost: ModelCost) -> str:
    """Return what calls of one model took, on one line."""
    read = f" ({cost.cache_read_tokens} from the cache)" if cost.cache_read_tokens else ""
    money = "" if cost.money is None else f", {cost.money:.4f} by llm.prices"
    return (
        f"{cost.model}: {cost.calls} calls, {cost.input_tokens} tokens in{read},"
        f" {cost.output_tokens} out{money}"
    )


ERRORS_SHOWN: Final = 5


def imported(value: ImportReport, _: Args) -> str:
    """Exact counts of an import: of what was read, and of the memories that it became where these
    are others."""
    of_documents = str(value.format) == "document"
    read = ("imported", "skipped", "duplicates", "rejected", "failed")
    rows = [("format", str(value.format))]
    counted = _sum(value, "lines", read)
    if str(value.format) == "export" and value.skipped:
        counted += " (the first and the last line of the file, and what is there already)"
    rows.append(("documents" if of_documents else "lines", counted))
    if value.passages or value.ended_documents:
        rows.append(("passages", _sum(value, "passages", ("added", "kept", "ended"))))
    elif value.ended:
        rows.append(("ended", f"{count_of(value.ended, 'memory')}, by a newer text of the record"))
    if value.memories != value.imported and not of_documents:
        rows.append(("memories", str(value.memories)))
    rows += [("ended", path) for path in value.ended_documents]
    rows += [("moved", f"{old} → {new}") for old, new in value.moved.items()]
    rows += [("missing", path) for path in value.missing]
    if value.dry_run:
        rows.append(("dry run", "nothing was written"))
    rows += [(f"left out: {kind}", str(count)) for kind, count in value.left_out.items()]
    if value.superseded:
        rows.append(("superseded", " ".join(value.superseded)))
    if value.forgotten_elsewhere:
        rows.append(("forgotten elsewhere", " ".join(value.forgotten_elsewhere)))
    return "\n".join([table(rows), *_brings(value.left_out)])


def _brings(left_out: Mapping[str, int]) -> list[str]:
    """Lines that say how what an import left out comes in."""
    from vestig.results import FILE_BELOW, FORGOTTEN_PASSAGE, LINK

    lines = {
        FORGOTTEN_PASSAGE: (
            "A forgotten passage stays out until its text changes, and one as long in its place is"
            " taken for it; `vestig document forget ID` lets the next import bring it."
        ),
        FILE_BELOW: "`-r` brings the files of the folders inside.",
        LINK: "A link is read that `vestig import` names itself.",
    }
    return [line for kind, line in lines.items() if kind in left_out]


def _sum(report: ImportReport, total: str, parts: Sequence[str]) -> str:
    """A count and those that it is made of, without those that are 0."""
    counts = [(getattr(report, name), name) for name in parts]
    shown = ", ".join(f"{count} {name}" for count, name in counts if count) or f"0 {parts[0]}"
    return f"{getattr(report, total)}: {shown}"


def report_fields(value: _Value, _: Args) -> str:
    """Return every field of a report, one a line."""
    plain = value.to_dict()
    return table((name.replace("_", " "), _plain(item)) for name, item in plain.items())


def stats(value: _Value, _: Args) -> str:
    """Return what a store or a copy holds, one count a line; those of a kind on one line."""
    plain = value.to_dict()
    rows = ((name.replace("_", " "), _counts(item)) for name, item in plain.items())
    lines = [table((name, text) for name, text in rows if text)]
    if plain.get("statuses", {}).get(Status.SUPERSEDED.word):
        lines.append(
            "`count` and `list` have those that are ACTIVE, and SUPERSEDED ones that hold until a"
            " later one begins."
        )
    return "\n".join(lines)


def _counts(item: Any) -> str:
    """`MEMORY 3, SUMMARY 1`; of a mapping within a mapping the sum."""
    if not isinstance(item, dict):
        return _plain(item)
    flat = {name: sum(n.values()) if isinstance(n, dict) else n for name, n in item.items()}
    return ", ".join(f"{name.replace('_', ' ')} {number}" for name, number in flat.items())


_OK_CHARS: Final = 300
_MARKS = {"ok": "ok     ", "finding": "FINDING", "damage": "DAMAGE "}


def doctor(value: DoctorReport, _: Args) -> str:
    """One line per check."""
    return "\n".join(checks(value))


def checks(value: DoctorReport) -> list[str]:
    """The line of each check."""
    width = max((len(finding.check) for finding in value.findings), default=0)
    return [
        f"{_MARKS[finding.level]}  {finding.check:<{width}}  {_detail(finding)}".rstrip()
        for finding in value.findings
    ]


def _detail(finding: Finding) -> str:
    """All that is said of what is not sound; of what is, as much as a line takes."""
    return one_line(finding.detail, _OK_CHARS) if finding.level == "ok" else finding.detail


def config_values(value: Iterable[ShownEntry], _: Args) -> str:
    """Every effective value with its origin."""
    rows = []
    for entry in value:
        secret = "" if entry.secret is None else f" ({entry.secret})"
        rows.append((entry.key, f"{_plain(entry.value)}{secret}  [{_origin(entry)}]"))
    return table(rows)


def config_keys(value: Iterable[Explanation], _: Args) -> str:
    """Meaning, default, range and effective value of each key."""
    return "\n\n".join(_config_key(entry) for entry in value)


def _origin(entry: ShownEntry | Explanation) -> str:
    """Return the layer that set a value, and its file where it is one."""
    return entry.layer if entry.file is None else f"{entry.layer} {entry.file}"


def _config_key(entry: Explanation) -> str:
    rows = (
        ("  change it when", entry.when),
        ("  default", _plain(entry.default)),
        ("  allowed", entry.allowed),
        ("  value", f"{_plain(entry.value)}  [{_origin(entry)}]"),
    )
    return f"{entry.key}\n  {entry.meaning}\n{table(rows)}"


def demo_end(value: Mapping[str, Any], _: Args) -> str:
    """The end of the tour; its steps were printed as they ran."""
    kept = value.get("kept")
    took = f"Done in {value['seconds']:.1f} s"
    return took if kept is None else f"{took}; the store stays in {kept}"

"""Stored questions like the query, and the turn that answers each: no evidence for an answer, and
shown last.

The results are ranked without them, as if they had not been stored. A turn that answers one takes
the place that the question would have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from vestig.ports import Scan, ScanRow

# A scan without these memories, with the rows of watched ones; ids of 16 bytes each.
ScanWithout = Callable[[bytes, bytes], Scan]


class QuestionMatches(NamedTuple):
    """The stored questions that are like a query.

    Args:
        ids: of them, the latest first.
        answered_by: question → the turn that answers it, in the same order.
    """

    ids: Sequence[bytes]
    answered_by: Mapping[bytes, bytes]

    @classmethod
    def of(cls, found: Sequence[tuple[bytes, bytes | None]]) -> QuestionMatches:
        """Make it of what the core found."""
        answers = {question: answer for question, answer in found if answer is not None}
        return cls([question for question, _ in found], answers)


def rows_with_answers(
    matches: QuestionMatches, rows: Sequence[ScanRow], scan: ScanWithout
) -> tuple[Sequence[ScanRow], Scan | None]:
    """Return the rows with the answers of stored questions at the places that these would have,
    and the scan in which these questions count, where an answer was raised by one.

    Args:
        rows: of the scan without the questions, best first.
    """
    if not matches.answered_by:
        return rows, None
    questions = b"".join(matches.answered_by)
    unanswered = b"".join(id for id in matches.ids if id not in matches.answered_by)
    wide = scan(unanswered, questions)
    levels = {row.id: row for row in (*wide.rows, *wide.watched)}
    ranked = {row.id: row for row in rows}
    missing = [id for id in dict.fromkeys(matches.answered_by.values()) if id not in ranked]
    if missing:
        narrow = scan(b"".join(matches.ids), b"".join(missing))
        ranked |= {row.id: row for row in narrow.watched}
    # of several questions the best stands where the latest answer goes
    places = sorted(
        (levels[id] for id in matches.answered_by if id in levels),
        key=lambda row: -row.final_score,
    )
    latest = [id for id in dict.fromkeys(matches.answered_by.values()) if id in ranked]
    raised = dict[bytes, ScanRow]()
    for answer, question in zip(latest, places, strict=False):
        own = ranked[answer]
        if question.final_score > own.final_score:
            raised[answer] = own.answering(question)
    if not raised:
        return rows, None
    merged = with_raised([row for row in rows if row.id not in raised], [*raised.values()])
    return merged[: max(len(rows), len(raised))], wide


def with_raised(rows: Sequence[ScanRow], raised: Sequence[ScanRow]) -> list[ScanRow]:
    """Return the rows with raised ones, each before the first row that scores less; the rows keep
    their order, so that a longer list begins with a shorter one."""
    merged, added = list[ScanRow](), sorted(raised, key=lambda row: row.final_score)
    for row in rows:
        while added and added[-1].final_score >= row.final_score:
            merged.append(added.pop())
        merged.append(row)
    return [*merged, *reversed(added)]


def rows_that_ask(
    matches: QuestionMatches, rows: Sequence[ScanRow], count: int, scan: ScanWithout
) -> list[ScanRow]:
    """Return the rows of the latest of these questions, for the places behind all results.

    Args:
        rows: the results before them.
        count: how many there are at most.
    """
    shown = matches.ids[:count]
    found = scan(b"", b"".join(shown))
    of = {row.id: row for row in (*found.rows, *found.watched)}
    least, asking = min((row.final_score for row in rows), default=1.0), list[ScanRow]()
    for id in shown:
        if id in of:
            least = min(least, of[id].final_score)
            asking.append(of[id].asking(least))
    return asking

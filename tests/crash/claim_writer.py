"""A process that writes claims, jobs and answers, forgets, and ends without warning.

    python claim_writer.py STORE STATEMENT

It kills itself before its STATEMENT-th statement; 0 = not at all. Each line on standard output
says what was acknowledged: `+ ID` a memory, `- ID` one that was forgotten, and at the end `. N`,
how many statements ran.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import apsw
from writer import open_store, say, text_of

from vestig.changes import ChangeSet, NewJob
from vestig.ids import new_id
from vestig.store.records.rows import JobResult, StoredAnswer

ROUNDS = 3


def secret_of(number: int) -> str:
    """What the memory of a round says, and its snippet in the claim of the next one."""
    return text_of("secret", number)


class Statements:
    """Counts the statements of all connections; the process ends before the last one."""

    def __init__(self, last: int) -> None:
        self.ran = 0
        self._last = last
        apsw.connection_hooks.append(lambda conn: conn.set_exec_trace(self._count))

    def _count(self, *_: Any) -> bool:
        self.ran += 1
        if self.ran == self._last:
            os.kill(os.getpid(), signal.SIGKILL)
        return True


def main(path: str, statement: int) -> None:
    """Three rounds of a memory, a claim taken from it, jobs that end, and a forgetting."""
    statements = Statements(statement)
    store = open_store(path)
    ledger = store._session.ledger
    for number in range(ROUNDS):
        secret = str(store.commit(secret_of(number)).memory_id)
        say("+", secret)
        evidence = [{"source_id": secret, "snippet": secret_of(number)}, {"snippet": "and there"}]
        claim = {"subject": "it", "fact_type": "SAYS", "evidence": evidence}
        carrying = str(store.commit(text_of("claim", number), claim=claim).memory_id)
        say("+", carrying)
        now = store._session.now_us()
        job = NewJob(id=new_id("job"), memory_id=secret, kind="stability")
        with ledger.write(now) as txn:
            txn.apply(ChangeSet(namespace="default", jobs=(job,)))
            answer = StoredAnswer(f"key-{number}", b"x" * 32, 201, f'"{secret}"', now)
            txn.keep_answer("default", answer, since_us=0)
        ledger.due_jobs_by_memory("default", now, ["stability"], 5)
        ledger.submit_jobs([job.id], "batch", now)
        ledger.reserve_model_calls(1, 1, None)
        ledger.finish_jobs([JobResult(job_id=job.id)], now)
        store.forget(secret)
        say("-", secret)
    store.close()
    say(".", str(statements.ran))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

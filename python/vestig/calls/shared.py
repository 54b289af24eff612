"""Arguments that several calls have."""

from typing import Annotated

from vestig.calls.argument import Flag, Id, Label, Namespace, Time

WHERE = "Which memories take part: a `vestig.Filter`, or an object of its fields."

NAMESPACE = Namespace("The namespace to act in instead of the store's own.", "--namespace")
InNamespace = Annotated[str | None, NAMESPACE]
MemoryId = Annotated[str, Id("Id of the memory, or at least 8 characters of it.")]
Reason = Annotated[str | None, Label("Why; kept in the event.", "--reason", chars_max=500)]
AsOf = Annotated[
    int | None,
    Time("What was known and true at this time: `known_at` and `valid_at` at once.", "--as-of"),
]
KnownAt = Annotated[int | None, Time("Only what was recorded by this time.", "--known-at")]
ValidAt = Annotated[int | None, Time("Only facts that hold at this time.", "--valid-at")]
QueryTime = Annotated[
    int | None,
    Time("The moment at which the query is asked, for words such as yesterday; default now."),
]
Touch = Annotated[bool, Flag("Count this as an access of each result.", "--touch")]
Trace = Annotated[bool, Flag("Add each stage with its time and counts.", "--trace")]

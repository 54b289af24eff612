"""Records of operations, in names, counts and durations: spans, the trace file, log records.

Nothing in here takes text: no memory, query, name, tag, metadata value or secret can reach it.
"""

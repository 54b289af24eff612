"""The projection: memory-mapped arrays that are derived from the ledger."""

"""A ledger as a copy of what a database holds: capture, apply, append, snapshots, cache folders."""

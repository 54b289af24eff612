"""Is what is there what was written? The chain of digests, the witness, and their checks."""

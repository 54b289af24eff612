"""Every check of a store; none changes anything."""

"""Work of a store's owner: counts, health, rebuilding, copies."""

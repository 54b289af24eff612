"""What the owner of a store does with it: counts, health, rebuilding, copies."""

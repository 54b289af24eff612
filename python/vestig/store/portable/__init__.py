"""Export and restore: the records of a store as lines of JSON."""

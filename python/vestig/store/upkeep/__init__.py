"""Backup, re-embedding of a whole store, and token vectors for older memories."""

"""Backup, re-embedding of a whole store, and codes of word pieces for older memories."""

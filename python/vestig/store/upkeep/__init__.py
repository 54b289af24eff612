"""Backup, embedding a whole store again, token vectors for older memories."""

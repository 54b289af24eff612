"""Enrichment: the work of a language model on what is stored, and vectors that a commit left."""

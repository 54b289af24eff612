"""Indexes of candidates, one vendor per file."""

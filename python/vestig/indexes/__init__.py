"""Indexes of candidates, one vendor per file (R-20)."""

"""Recall and retrieval on labelled benchmarks: rows, peers to compare with, reports."""

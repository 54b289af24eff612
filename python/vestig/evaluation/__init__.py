"""Evaluation of recall on labelled benchmarks: metrics, peers to compare with, reports."""

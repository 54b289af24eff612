"""Labelled benchmarks: reading them, metrics, peers to compare with, reports. Pure (S-10, R-21)."""

"""Labelled benchmarks: reading them, metrics, peers to compare with, reports. Pure."""

"""Vestig."""

"""Expressions of time in a text, and the windows that they mean."""

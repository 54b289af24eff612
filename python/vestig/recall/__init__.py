"""Recalling: from the arguments of a call to its results with their reasons."""

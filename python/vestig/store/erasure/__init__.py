"""Erases forgotten bytes from every file of a store, and proves it by a search."""

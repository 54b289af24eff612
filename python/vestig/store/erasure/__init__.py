"""Erasing forgotten bytes from every file of a store, with proof."""

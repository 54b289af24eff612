"""Entities and edges and their changes, expansion along them, and search over both."""

"""Entities and edges as callers see them, expansion along them, and search over both."""

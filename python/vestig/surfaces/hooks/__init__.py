"""Editors that use a store: the project that one works on."""

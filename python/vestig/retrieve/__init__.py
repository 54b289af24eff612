"""Agentic retrieval: facts, messages and a confidence for the end of a conversation."""

"""Rerankers: a score of a query and a text together, one vendor per file. `vestig.registry` makes
them."""

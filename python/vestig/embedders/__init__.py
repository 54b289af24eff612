"""Embedders: texts to vectors, one vendor per file. `vestig.registry` makes them."""

"""Embedders: texts to vectors, one vendor per file (D-13). `vestig.registry` makes them."""

"""Language models, one vendor per file; the registry makes them."""

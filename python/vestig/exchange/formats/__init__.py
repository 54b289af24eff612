"""Formats of files that an import reads, one module each; `table` lists them."""

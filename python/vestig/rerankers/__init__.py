"""What scores a query and a text together, one vendor per file."""

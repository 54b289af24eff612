"""Names in a text, and the forms in which they are compared."""

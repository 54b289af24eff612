"""The rows of each table as values, and the other way: where SQL names tables."""

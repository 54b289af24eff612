"""The outer rim: one table of operations, and the surfaces made from it."""

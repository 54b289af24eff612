"""Candidate indexes: approximate nearest neighbours of a vector, one vendor per file."""

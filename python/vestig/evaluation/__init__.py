"""Recall and retrieval, measured on labelled data of one's own."""

"""The commit room: pure decisions of the write path; only the store writes."""

"""The commit room: pure decisions of the write path (spec C); only the store writes."""

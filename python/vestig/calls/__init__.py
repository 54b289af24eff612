"""The declarations of the calls: one for each, from which everything else about it follows."""

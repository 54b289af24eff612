"""Sources that memories speak of: how they stand, and those that changed."""

"""Reading memories and changing their state."""

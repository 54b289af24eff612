"""An open store: its parts, how it is opened, its counters, and what its names and ids mean."""

"""Numbers, units and quantities of a text."""

"""The lifecycle room: which change of state is allowed, and what it writes. Pure."""

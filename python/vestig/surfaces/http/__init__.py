"""The HTTP server: every operation that takes JSON, as a route."""

"""Agent frameworks on a store, one module each, which is loaded only when it is asked for."""

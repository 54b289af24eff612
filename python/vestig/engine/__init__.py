"""The engine: opens a store, reads the clock, introduces the rooms to each other, delegates."""

from vestig.engine.vestig import Vestig, open_store

__all__ = ["Vestig", "open_store"]

"""The gate for texts that come in: secrets are kept out, and a store's own output is recognised.

Every text that may be stored, embedded, logged or sent to a model passes `without_secrets` (the
arguments of a call) or `masked_text` (one text) before anything else looks at it.
"""

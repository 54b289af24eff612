"""The tables of the ledger, one file for a table or a family of tables."""

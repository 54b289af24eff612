"""The ledger: the tables that are the truth, read and written, with their chain and witness."""

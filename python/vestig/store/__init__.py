"""Files of a store on disk: the ledger in SQLite, and the projection that is made from it.

Nothing outside knows that there is SQL.
"""

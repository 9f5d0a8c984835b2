"""Storage of minting: the ledger in a database, and the folder shared by minters of a machine."""

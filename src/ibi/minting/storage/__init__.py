"""The ledger of a minter, and the folder that its machine is known by."""

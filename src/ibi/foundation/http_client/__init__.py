"""HTTP to others: where it may go, and how long it may take."""

"""What processes of one resolver share: leases of work, and a feed of changes."""

"""The operating system: clocks, disk, locks, mail, DNS, shared memory."""

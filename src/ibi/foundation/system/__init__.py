"""The machine: clocks, disk, mail, names, shared memory."""

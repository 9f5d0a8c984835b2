"""The rules of minting as pure functions: granularity, instants, reservation, labels. No I/O."""

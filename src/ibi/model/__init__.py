"""Values that all programs share: items, labels, relations, archives, clocks, tokens. No I/O."""

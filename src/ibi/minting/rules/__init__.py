"""Rules of minting: granularity, reservation and the making of labels. No I/O."""

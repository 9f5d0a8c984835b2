"""The commands `ibi mint` and `ibi minter`."""

"""Messages between resolver and archives (004, chapters 4 to 7), as bytes and as values. No I/O."""

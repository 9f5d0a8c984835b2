"""What resolver and archives say to each other (004, chapters 4 to 7). Text in, values out."""

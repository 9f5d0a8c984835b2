"""Files of other programs that describe one work, read into a record: text in, values out."""

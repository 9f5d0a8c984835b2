"""Rules of an archive: values in, values out. No I/O."""

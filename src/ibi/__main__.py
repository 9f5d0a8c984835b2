"""`ibi` and `python -m ibi`."""

from ibi.cli import main

if __name__ == "__main__":
    main()

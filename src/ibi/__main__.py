"""The entry point of `ibi` and of `python -m ibi`."""

from ibi.cli import main

if __name__ == "__main__":
    main()

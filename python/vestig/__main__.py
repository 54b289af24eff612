"""`python -m vestig` is the command `vestig`."""

from vestig.surfaces.cli import main

if __name__ == "__main__":
    main()

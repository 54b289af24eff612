"""The folder that is worked in: the name of its project, and its files."""

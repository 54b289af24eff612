"""The recall room: what a question asks for, and why an answer came. Pure."""

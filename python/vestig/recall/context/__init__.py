"""The block for a prompt: what was found, told within a budget of tokens."""

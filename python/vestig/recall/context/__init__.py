"""The context block: results and their neighbours for a prompt, within a budget of tokens."""

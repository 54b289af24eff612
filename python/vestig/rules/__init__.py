"""Rules: what is told, asked or refused before an action happens."""

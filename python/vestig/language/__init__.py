"""Rules of language that need no model: times, numbers, names, words."""

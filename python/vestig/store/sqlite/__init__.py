"""Opening SQLite, its errors, forks, and statements with their rows."""

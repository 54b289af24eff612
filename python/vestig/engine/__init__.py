"""What an open store does, on its way into rooms by what a caller does."""

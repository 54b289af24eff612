"""Reading of stored turns and documents by a language model."""

"""Reading texts from files: chunks (I-05) and the files of `vestig import` (I-02)."""

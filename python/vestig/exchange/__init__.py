"""Files from and for elsewhere: exports, transcripts, memories as JSON."""

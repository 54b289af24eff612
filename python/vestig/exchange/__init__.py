"""Files from and for other programs: exports, transcripts, memories as JSON."""

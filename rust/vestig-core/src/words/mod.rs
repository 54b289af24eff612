//! Words of a text: tokens (C-09) and index terms. One analyser for memories and queries.

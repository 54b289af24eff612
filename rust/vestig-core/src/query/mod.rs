//! Questions to one snapshot that need no ranking: which rows a filter lets through, what is
//! similar to a vector, what the graph links, which names a text
//! holds, which memories hold two terms, which of some are newer.

pub mod entity_names;
pub mod filter;
pub mod graph;
pub mod related;
mod row_blocks;
pub mod search;
pub mod similar;
pub mod versions;

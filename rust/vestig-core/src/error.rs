//! The errors of the core. Messages name files, sections and numbers, never stored text.

/// Errors of the core.
#[derive(Debug, thiserror::Error)]
pub enum CoreError {
    /// The operating system refused a file operation.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A projection file failed a check; it must be discarded and rebuilt from the ledger.
    #[error("projection file {file} is damaged: {what}")]
    Damaged {
        /// File name, without its directory.
        file: String,
        /// The check that failed, with the numbers found and expected.
        what: String,
    },
    /// The file of packed weights cannot be used; the weights are packed again.
    #[error("{0}")]
    Weights(String),
    /// An argument is outside of what the called function documents.
    #[error("{0}")]
    Invalid(String),
    /// The projection stands at another `seq` than the caller's view of the ledger.
    #[error("the projection moved: it stands at another seq than the caller's view")]
    Moved,
}

/// Result of a fallible core function.
pub type Result<T> = std::result::Result<T, CoreError>;

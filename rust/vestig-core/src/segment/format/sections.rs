//! The sections of a segment, in file order.

/// The sections of a segment; the value is the position in the section table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Section {
    /// 16 bytes a row.
    Ids,
    /// u32 a row: rows by ascending id. Memories stand before entities, each by (seq, id).
    IdOrder,
    /// i64 a row: transaction that inserted the memory.
    Seq,
    /// i64 a row: transaction that last wrote it.
    Wseq,
    /// f32, `lanes` a row: unit vector, zero-padded.
    Vectors,
    /// i8, `lanes` a row.
    Codes,
    /// f32 a row.
    Scales,
    /// f32 a row: proven error bound of the 8-bit cosine.
    Bounds,
    /// 8 bytes a row: kind, status, origin, stability, pinned, embedded, undated, 0.
    Attributes,
    /// i64 µs a row.
    Valid,
    /// i64 µs a row, `i64::MAX` = null.
    Invalid,
    /// i64 µs a row.
    Created,
    /// i64 µs a row, `i64::MAX` = null.
    Expired,
    /// i64 a row: position in the session, `i64::MIN` = null.
    Sequence,
    /// i64 a row: of a note without session, the row number in the ledger of the source that produced
    /// it first, `i64::MIN` = null.
    SourceRow,
    /// u64 offsets into `StringBytes`, one more than strings; strings ascend strictly.
    StringOffsets,
    /// UTF-8.
    StringBytes,
    /// u32 a row: string number.
    Namespace,
    /// u32 a row: string number, `u32::MAX` = null.
    Scope,
    /// Like `Scope`.
    Author,
    /// Like `Scope`.
    Role,
    /// Like `Scope`.
    Session,
    /// u32, rows + 1.
    TagOffsets,
    /// u32: string numbers.
    Tags,
    /// u32, rows + 1.
    SourceOffsets,
    /// u32: string numbers.
    Sources,
    /// u32, rows + 1.
    ActorOffsets,
    /// u32: string numbers.
    Actors,
    /// u64 offsets into `TermBytes`; terms ascend strictly.
    TermOffsets,
    /// UTF-8.
    TermBytes,
    /// u64, terms + 1.
    PostingOffsets,
    /// u32: rows, ascending per term.
    PostingRows,
    /// u32: occurrences of the term in the row, at least 1; bit 31 when one of them was written in
    /// lower case.
    PostingCounts,
    /// u32 a row: number of indexed words.
    Lengths,
    /// u64, rows + 1.
    TextTermOffsets,
    /// u32: term numbers of a row in the order of its text, those of function words left out.
    TextTerms,
    /// u32, rows + 1.
    EventOffsets,
    /// u8 an event.
    EventTypes,
    /// i64 µs an event.
    EventOccurred,
    /// i64 µs an event.
    EventRecorded,
    /// i64 an event.
    EventSeq,
    /// i64 an event: row number inside its transaction.
    EventRow,
    /// u32, rows + 1.
    KeywordOffsets,
    /// u32: string numbers.
    Keywords,
    /// u32, rows + 1.
    WindowOffsets,
    /// i64 µs a window, `i64::MIN` = open.
    WindowStarts,
    /// i64 µs a window, `i64::MAX` = open.
    WindowEnds,
    /// u32, rows + 1.
    QuestionOffsets,
    /// f32, `lanes` a question: unit vector, zero-padded.
    QuestionVectors,
    /// u32, rows + 1: edges by the row where they start, by the place of their type, then id.
    EdgeOffsets,
    /// 32 bytes an edge: id; f64 value; u32 end (a row, or rows + position in `OtherIds`); u32
    /// start row with the type's place in bits 28-29 and bit 30 for "stands in `ExtraEdges`".
    Edges,
    /// u32: ascending numbers of the edges that the next three columns describe.
    ExtraEdges,
    /// f64, NaN = null.
    ExtraConfidence,
    /// i64 µs.
    ExtraCreated,
    /// i64 µs, `i64::MAX` = unexpired.
    ExtraExpired,
    /// 16 bytes: ends that are no row of this segment, ascending.
    OtherIds,
    /// u32, rows + others + 1: edges but RELATED by the node where they end.
    IncomingOffsets,
    /// u32: edge numbers, ascending per node.
    Incoming,
    /// u32, entity rows + 1.
    NameOffsets,
    /// u32 pairs: string numbers of a normal form and of the name as stored.
    Names,
    /// u32: positions of pairs in `Names`, by normal form, then position.
    NameOrder,
    /// u32 a row, below 2^18: what the text is like (`ports.ProjectionRow`).
    Features,
    /// u32 a row: string number of the name that the title is, `u32::MAX` = null.
    Titles,
    /// u32, rows + 1: word pieces of a row.
    PieceOffsets,
    /// u16 a word piece.
    PieceIds,
    /// Binary16 a word piece.
    PieceScales,
    /// 32 bytes a word piece: a bit for each coordinate.
    PieceSigns,
    /// u32, rows + others + 1: RELATED edges by the nodes at both ends.
    RelatedOffsets,
    /// u32 pairs: the other end as in `Edges` and the number of the edge, strongest first per node:
    /// weight descending, id of the other end, id and number of the edge.
    Related,
}

/// Number of sections of a segment.
pub const SECTIONS: usize = 69;

/// Name and element width in bytes of every section, in file order. The width of `Vectors`,
/// `Codes` and `QuestionVectors` is that of one lane.
pub const SECTION_TABLE: [(&str, u64); SECTIONS] = [
    ("ids", 16),
    ("id_order", 4),
    ("seq", 8),
    ("wseq", 8),
    ("vectors", 4),
    ("codes", 1),
    ("scales", 4),
    ("bounds", 4),
    ("attributes", 8),
    ("t_valid", 8),
    ("t_invalid", 8),
    ("t_created", 8),
    ("t_expired", 8),
    ("sequence", 8),
    ("source_row", 8),
    ("string_offsets", 8),
    ("string_bytes", 1),
    ("namespace", 4),
    ("scope", 4),
    ("author", 4),
    ("role", 4),
    ("session", 4),
    ("tag_offsets", 4),
    ("tags", 4),
    ("source_offsets", 4),
    ("sources", 4),
    ("actor_offsets", 4),
    ("actors", 4),
    ("term_offsets", 8),
    ("term_bytes", 1),
    ("posting_offsets", 8),
    ("posting_rows", 4),
    ("posting_counts", 1),
    ("lengths", 4),
    ("text_term_offsets", 8),
    ("text_terms", 1),
    ("event_offsets", 4),
    ("event_types", 1),
    ("event_occurred", 8),
    ("event_recorded", 8),
    ("event_seq", 8),
    ("event_row", 8),
    ("keyword_offsets", 4),
    ("keywords", 4),
    ("window_offsets", 4),
    ("window_starts", 8),
    ("window_ends", 8),
    ("question_offsets", 4),
    ("question_vectors", 4),
    ("edge_offsets", 4),
    ("edges", 32),
    ("extra_edges", 4),
    ("extra_confidence", 8),
    ("extra_created", 8),
    ("extra_expired", 8),
    ("other_ids", 16),
    ("incoming_offsets", 4),
    ("incoming", 4),
    ("name_offsets", 4),
    ("names", 8),
    ("name_order", 4),
    ("features", 4),
    ("titles", 4),
    ("piece_offsets", 4),
    ("piece_ids", 2),
    ("piece_scales", 2),
    ("piece_signs", 32),
    ("related_offsets", 4),
    ("related", 8),
];

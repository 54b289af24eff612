//! Rows that the candidate weights choose: the best of an origin by L₂, ranked by the other weights.

use super::analysed_query::Query;
use super::candidates::best_rows;
use super::late_interaction;
use super::ranking::Base;
use super::row_groups::RowGroup;
use super::score_table::ScoreTable;
use super::scorer::{Scorer, origin};

/// Chooses the best `chosen_rows` by L₂ of each origin that weighs late interaction or has candidate
/// weights of its own, compares word pieces, and sets the levels.
///
/// Origins choose for themselves because their L₂ are on no common scale. Of an origin that weighs
/// late interaction, rows are chosen where any of them has word pieces: without these its
/// candidate weights rank.
pub(super) fn fill(group: &mut RowGroup<'_>, query: &Query, eligible: usize) {
    let (scorer, ranking) = (&group.scorer, group.scorer.ranking);
    let late = ranking.weights.each_ref().map(late_interaction::weighed);
    let compares = late.map(|late| late && query.pieces.is_some());
    let differs: [bool; 4] = std::array::from_fn(|origin| {
        !late[origin] && ranking.weights[origin] != ranking.candidate_weights[origin]
    });
    let choosing = std::array::from_fn(|of| scorer.origins[of] && (compares[of] || differs[of]));
    if ranking.base != Base::Linear || !choosing.contains(&true) {
        return;
    }
    let mut rows = group.by_level(|group| best_rows(group, ranking.chosen_rows, choosing));
    let RowGroup { table, scorer, .. } = group;
    let compared: Vec<(usize, usize)> = rows
        .iter()
        .copied()
        .filter(|row| compares[origin_of(table, *row)])
        .collect();
    let known = late_interaction::fill(table, scorer, query, eligible, &compared);
    rows.retain(|row| {
        let of = origin_of(table, *row);
        differs[of] || known[of]
    });
    set_levels(table, scorer, rows);
}

fn origin_of(table: &ScoreTable<'_>, (part, row): (usize, usize)) -> usize {
    origin(table.parts[part].segment, row)
}

/// Levels of chosen rows by the weights of their origin. The others of the origin lose what that
/// took most from a chosen one, so that none of them passes one that was chosen before it.
fn set_levels(table: &mut ScoreTable<'_>, scorer: &mut Scorer<'_>, rows: Vec<(usize, usize)>) {
    let mut found = vec![Vec::new(); table.parts.len()];
    let mut least = [0.0_f64; 4];
    table.prepare(rows.iter().copied());
    for (part, row) in rows {
        let columns = &table.parts[part];
        let of = origin(columns.segment, row);
        let row_signals = table.row_signals(scorer, part, row);
        let semantic = scorer.semantic(columns.content(scorer, row), &row_signals);
        let level = scorer.sum(of, true, semantic, &row_signals);
        least[of] = least[of].min(level - scorer.sum(of, false, semantic, &row_signals));
        found[part].push((row as u32, level));
    }
    for (columns, rows) in table.parts.iter_mut().zip(found) {
        columns.set_sparse(rows, |sparse, level| sparse.chosen = Some(level));
    }
    scorer.not_chosen = least;
    if let Some(signals) = &mut table.signals {
        signals.add(least);
    }
}

//! Large tails in files, and images that are written without being held.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod common;

use std::fs;

use common::{identity, open, row, segments};
use vestig_core::segment::image;
use vestig_core::snapshot::merged_image;
use vestig_core::snapshot::projection::Projection;

fn image(projection: &Projection) -> Vec<u8> {
    let mut image = merged_image(&identity(), &projection.snapshot().parts);
    image::seal(&mut image).unwrap();
    image.bytes().to_vec()
}

fn filled(projection: &Projection, spilling: bool) {
    for number in 1..=40_u8 {
        // Some rows twice: later versions mask those in files.
        let mut rows = vec![row(number, i64::from(number))];
        if number > 10 {
            rows.push(row(number - 10, i64::from(number - 10)));
            rows[1].wseq = i64::from(number);
            rows[1].pinned = true;
        }
        projection.apply(&rows, 0, [0; 32]).unwrap();
        if spilling && number % 8 == 0 {
            assert!(projection.spill(1).unwrap() > 0);
            assert_eq!(projection.spill(1).unwrap(), 0, "nothing is held");
        }
    }
    projection.apply(&[], 40, [40; 32]).unwrap();
}

#[test]
fn a_spilled_tail_is_published_to_the_same_bytes() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let made = folders.iter().zip([false, true]).map(|(folder, spilling)| {
        let projection = open(folder.path());
        filled(&projection, spilling);
        let files = segments(folder.path()).len();
        assert_eq!(files, if spilling { 5 } else { 0 });
        let before = image(&projection);
        assert!(projection.publish(true).unwrap() > 0);
        let names = segments(folder.path());
        assert_eq!(names.len(), 1, "spilled files go with the publication");
        let bytes = fs::read(folder.path().join(&names[0])).unwrap();
        assert_eq!(bytes, before, "written in pieces as in one");
        bytes
    });
    let made: Vec<Vec<u8>> = made.collect();
    assert_eq!(made[0], made[1]);
}

#[test]
fn little_is_not_spilled_and_what_is_given_up_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let projection = open(folder.path());
    filled(&projection, true);
    assert_eq!(projection.spill(u64::MAX).unwrap(), 0);
    projection.reset();
    assert_eq!(segments(folder.path()).len(), 0);
    filled(&projection, true);
    drop(projection);
    assert_eq!(segments(folder.path()).len(), 0);
}

#[test]
fn a_process_that_dies_while_spilling_leaves_the_published_set() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(folder.path());
    first.apply(&[row(1, 1)], 1, [1; 32]).unwrap();
    first.publish(false).unwrap();
    let dying = open(folder.path());
    dying.reset();
    filled(&dying, true);
    let left: Vec<_> = segments(folder.path());
    let copy = tempfile::tempdir().unwrap();
    for file in fs::read_dir(folder.path()).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
    }
    assert!(left.len() > 1);
    let found = open(copy.path());
    assert_eq!((found.discarded(), found.snapshot().rows()), (None, 1));
    assert_eq!(found.sweep().unwrap(), 0);
    assert_eq!(segments(copy.path()).len(), 1);
}

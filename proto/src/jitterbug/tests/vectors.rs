//! Tests that the code computes the policies in `docs/jitterbug/datagrams.md`.

use std::fs;
use std::path::Path;

use crate::jitterbug::policy;

#[test]
fn policies_have_the_digests_of_the_page() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/jitterbug/datagrams.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let (_, section) = page.split_once("\n### policy\n").expect("the section");
    let rows: Vec<Vec<&str>> = section
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|row| row.split('`').skip(1).step_by(2).collect())
        .collect();
    assert!(!rows.is_empty());
    for row in rows {
        let [compute, decide, digest] = row[..] else {
            panic!("not three columns: {row:?}");
        };
        let computed = policy::digest(compute, decide).to_be_bytes();
        let computed = computed.map(|byte| format!("{byte:02x}")).join(" ");
        assert_eq!(computed, digest, "{compute}, {decide}");
    }
}

//! Reads the initial inputs of the fuzz targets. The tests use these inputs too.
#![expect(clippy::disallowed_methods, reason = "the tests read files")]

use std::fs;
use std::path::Path;

/// Returns the inputs of a fuzz target. There are at least three.
pub(crate) fn fuzz_corpus(target: &str) -> Vec<Vec<u8>> {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/machine/fuzz/corpus");
    let files = fs::read_dir(corpora.join(target)).expect("the corpus is there");
    let inputs = files.map(|file| fs::read(file.expect("a file").path()).expect("a file"));
    let inputs: Vec<_> = inputs.collect();
    assert!(inputs.len() > 2, "{} inputs", inputs.len());
    inputs
}

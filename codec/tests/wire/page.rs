//! Tests that the pages of the formats, the crate's documentation and the seeds contain the same examples. To write the
//! seeds again from the pages, set `RING_CODEC_SEEDS=write`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::checks::{FORMATS, Format};
use crate::corpus;

fn crate_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns the examples of a format's page, by name. An example is a block that starts with ` ```text format/name`. In
/// each line the bytes end at the semicolon.
pub(crate) fn examples(format: &Format) -> BTreeMap<String, Vec<u8>> {
    let page = fs::read_to_string(crate_path("../docs").join(format.page)).unwrap();
    let mut found = BTreeMap::new();
    for block in page.split("```text ").skip(1) {
        let (title, rest) = block.split_once('\n').unwrap();
        let (body, _) = rest.split_once("```").unwrap();
        if let Some((of, name)) = title.split_once('/')
            && of == format.name
        {
            let hex: String = body.lines().filter_map(|l| l.split(';').next()).collect();
            let earlier = found.insert(name.to_owned(), parse_hex(&hex));
            assert_eq!(earlier, None, "{title} is there twice");
        }
    }
    found
}

/// Returns the examples in the documentation of a format's modules.
fn code_examples(format: &Format) -> BTreeSet<Vec<u8>> {
    let dir = crate_path("src").join(format.name);
    let sources = fs::read_dir(dir).unwrap().map(|entry| {
        let source = fs::read_to_string(entry.unwrap().path()).unwrap();
        source.replace("\r\n", "\n")
    });
    let mut examples = BTreeSet::new();
    for source in sources {
        for block in source.split("hex_literal::hex!(").skip(1) {
            let (body, _) = block.split_once(");").unwrap();
            let hex: String = body.split('"').skip(1).step_by(2).collect();
            examples.insert(parse_hex(&hex));
        }
    }
    examples
}

pub(crate) fn parse_hex(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.chars().filter(|c| !c.is_whitespace()).collect();
    let byte = |pair: &[char]| {
        let pair: String = pair.iter().collect();
        u8::from_str_radix(&pair, 16).unwrap_or_else(|error| panic!("{pair} in {hex}: {error}"))
    };
    digits.chunks(2).map(byte).collect()
}

#[test]
fn the_page_and_the_code_have_the_same_examples() {
    for format in FORMATS {
        let page: BTreeSet<_> = examples(&format).into_values().collect();
        assert!(!page.is_empty(), "no example of {}", format.name);
        assert_eq!(page, code_examples(&format), "{}", format.name);
    }
}

#[test]
fn every_example_of_the_page_is_a_seed_and_decodes() {
    for format in FORMATS {
        let examples = examples(&format);
        if std::env::var("RING_CODEC_SEEDS").is_ok_and(|action| action == "write") {
            for (name, bytes) in &examples {
                fs::write(corpus::dir(&format).join(name), bytes).unwrap();
            }
        }
        for (name, bytes) in examples {
            assert_eq!(corpus::seed(format.name, &name), bytes, "{name}");
            assert!((format.decodes)(&bytes), "{name}");
        }
    }
}

//! The page for users, and the reference of all fields.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use ring_segment::{Test, tests};

use super::tshark::{FieldList, Tshark};
use crate::recipes::pages::{WIRESHARK, block};

const PROTOCOLS: [(&str, &str); 4] = [
    ("lab2", "The ring: Lab2"),
    ("ftn", "The token service: FTN"),
    ("jitterbug", "Jitterbug"),
    ("andrews", "The board: Andrews"),
];
const REFERENCE: &str = "docs/reference/wireshark.md";
const INTRODUCTION: &str = "# Fields for Wireshark

This page lists the display filters of the [Wireshark dissectors](../how-to/wireshark.md). The last part of a filter is
the name of the field in the [format](wire-formats.md). A filter of the type `FT_NONE` is an expert info. The program
that writes the page is `RINGD_WRITE_DOCS=1 cargo test --test network wireshark::page`.
";

pub(super) fn tests() -> Vec<Test> {
    tests![
        the_reference_lists_all_fields,
        the_package_installs_each_file_of_the_dissectors
    ]
}

/// Returns the page's display filters of a protocol.
pub(super) fn filters(protocol: &str) -> Vec<&'static str> {
    let rows = WIRESHARK.text.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| row.trim_end_matches(" |").rsplit_once(" | "));
    let code = cells.filter_map(|(_, cell)| cell.strip_prefix('`')?.strip_suffix('`'));
    let prefix = format!("{protocol}.");
    code.filter(|filter| filter.starts_with(&prefix)).collect()
}

/// Returns the lines of the page that explain messages.
pub(super) fn explanations() -> Vec<&'static str> {
    let (_, rest) = WIRESHARK.text.split_once("```text\n").unwrap_or_default();
    let (block, _) = rest.split_once("```").unwrap_or_default();
    block.lines().collect()
}

fn the_reference_lists_all_fields() -> Result<()> {
    let tshark = Tshark::new()?;
    let mut page = INTRODUCTION.to_owned();
    for (protocol, title) in PROTOCOLS {
        write!(
            page,
            "\n## {title}\n\n| filter | type | meaning |\n|---|---|---|\n"
        )?;
        write_rows(&mut page, &tshark.fields(protocol)?)?;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(REFERENCE);
    if env::var_os("RINGD_WRITE_DOCS").is_some() {
        fs::write(&path, &page)?;
    }
    let written = fs::read_to_string(path)?;
    ensure!(
        written == page,
        "{REFERENCE} differs from the dissectors; run RINGD_WRITE_DOCS=1 cargo test --test network wireshark::page"
    );
    Ok(())
}

fn write_rows(page: &mut String, fields: &FieldList) -> Result<()> {
    for field in fields.iter() {
        writeln!(
            page,
            "| `{}` | {} | {} |",
            field.filter, field.kind, field.meaning
        )?;
    }
    Ok(())
}

fn the_package_installs_each_file_of_the_dissectors() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    let asset = r#"["wireshark/*.lua", "usr/share/ringd/wireshark/", "644"]"#;
    ensure!(manifest.contains(asset), "Cargo.toml has no {asset}");
    let home = tempfile::tempdir()?;
    let install = block(
        WIRESHARK,
        "mkdir -p ~/.local/lib/wireshark/plugins\nln -sfn",
    )?;
    let mut command = Command::new("sh");
    let installed = command.args(["-ec", install]).env("HOME", home.path());
    ensure!(installed.status()?.success(), "{install}");
    let link = fs::read_link(home.path().join(".local/lib/wireshark/plugins/ringd"))?;
    ensure!(
        link == Path::new("/usr/share/ringd/wireshark"),
        "{}",
        link.display()
    );
    for entry in fs::read_dir(root.join("wireshark"))? {
        let path = entry?.path();
        let is_script = path.extension().is_some_and(|it| it == "lua");
        ensure!(is_script, "{} is not installed", path.display());
    }
    Ok(())
}

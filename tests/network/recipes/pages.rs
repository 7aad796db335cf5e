//! Finds the code blocks of the pages, and checks that a test runs each of them.

use std::fs;
use std::panic::Location;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use ring_segment::{Test, tests};

use super::record;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    name: &'static str,
    pub text: &'static str,
}

macro_rules! page {
    ($name:literal) => {
        Page {
            name: $name,
            text: include_str!(concat!("../../../", $name)),
        }
    };
}

pub(crate) const README: Page = page!("README.md");
pub(crate) const RUNNING: Page = page!("docs/operations/running.md");
pub(crate) const USING: Page = page!("docs/how-to/using.md");
pub(crate) const HOOKS: Page = page!("docs/reference/hooks.md");
pub(crate) const ONCE: Page = page!("docs/reference/once.md");
pub(crate) const FENCING: Page = page!("docs/how-to/fencing.md");
pub(crate) const FTN: Page = page!("docs/token-service/protocol.md");
pub(crate) const JITTERBUG: Page = page!("docs/jitterbug/protocol.md");
pub(crate) const CONTROL: Page = page!("docs/reference/control.md");

/// Returns all pages that contain recipes, by name.
fn pages() -> Result<Vec<(String, String)>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut names = vec!["README.md".to_owned()];
    add_pages(root, "docs", &mut names)?;
    let page = |name: String| {
        let text = fs::read_to_string(root.join(&name))?;
        Ok((name, text))
    };
    names.into_iter().map(page).collect()
}

/// Adds the names of all pages in a folder and in its subfolders.
fn add_pages(root: &Path, folder: &str, names: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let name = entry.file_name().into_string();
        let name = format!("{folder}/{}", name.ok().context("a page has a plain name")?);
        if entry.file_type()?.is_dir() {
            add_pages(root, &name, names)?;
        } else if Path::new(&name).extension().is_some_and(|it| it == "md") {
            names.push(name);
        }
    }
    Ok(())
}

/// Languages of the code blocks that readers run, or whose contents they install.
const LANGUAGES: [&str; 6] = ["sh", "console", "ini", "python", "sql", "service"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestedBy {
    /// The tests of this module, which get the text of the recipe from [`block`].
    Test(&'static str),
    Other(&'static str),
}

/// Each recipe: its page, its beginning, and the test that runs it.
pub(crate) const RECIPES: [(&str, &str, TestedBy); 44] = [
    (
        "README.md",
        "scripts/lab up 4",
        TestedBy::Other("the CI job readme"),
    ),
    (
        "README.md",
        "$ for n in 1 2 3 4",
        TestedBy::Other("the CI job readme"),
    ),
    (
        "README.md",
        "$ scripts/lab kill 3",
        TestedBy::Other("the CI job readme, with the node that works"),
    ),
    (
        "README.md",
        "cargo build --release --locked",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "README.md",
        "scripts/test",
        TestedBy::Other("the CI job test"),
    ),
    (
        "docs/board/protocol.md",
        "sudo install -m 644 systemd/ringd.sysusers",
        TestedBy::Other("cargo test -p ring-board --test nodes service::"),
    ),
    (
        "docs/contributors/contributing.md",
        ".ci/run",
        TestedBy::Other("whoever runs it"),
    ),
    (
        "docs/reference/control.md",
        "import json, os, signal",
        TestedBy::Test("locks::expiry"),
    ),
    (
        "docs/jitterbug/protocol.md",
        "sudo install -m 644 systemd/ringd.sysusers",
        TestedBy::Test("jitterbug::service"),
    ),
    (
        "docs/jitterbug/protocol.md",
        "ringd jitterbug eth0 --compute",
        TestedBy::Test("jitterbug::example"),
    ),
    (
        "docs/jitterbug/protocol.md",
        "$ ringctl -i jitterbug-eth0 data get",
        TestedBy::Test("jitterbug::example"),
    ),
    (
        "docs/how-to/fencing.md",
        "ringctl run -- sh -c 'new=",
        TestedBy::Test("fencing::file"),
    ),
    (
        "docs/how-to/fencing.md",
        "CREATE TABLE report",
        TestedBy::Test("fencing::postgres"),
    ),
    (
        "docs/how-to/fencing.md",
        "#!/bin/sh",
        TestedBy::Test("fencing::postgres"),
    ),
    (
        "docs/how-to/fencing.md",
        "UPDATE document",
        TestedBy::Test("fencing::postgres"),
    ),
    (
        "docs/how-to/fencing.md",
        "import re, sys",
        TestedBy::Test("fencing::http"),
    ),
    (
        "docs/how-to/fencing.md",
        "import os, sys, urllib",
        TestedBy::Test("fencing::http"),
    ),
    (
        "docs/token-service/protocol.md",
        "sudo install -m 644 systemd/ringd.sysusers",
        TestedBy::Test("ftn::service"),
    ),
    (
        "docs/token-service/protocol.md",
        "#!/bin/sh\n# cached KEY CMD",
        TestedBy::Test("ftn::client_page"),
    ),
    (
        "docs/reference/hooks.md",
        "sudo ringd eth0 --idle-hold",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/reference/hooks.md",
        "#!/bin/sh",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/reference/hooks.md",
        "# /etc/systemd/system/reports.service",
        TestedBy::Test("recipes::leader"),
    ),
    (
        "docs/reference/hooks.md",
        "[Unit]\nStartLimitIntervalSec=0",
        TestedBy::Test("recipes::leader"),
    ),
    (
        "docs/reference/hooks.md",
        "sed 's/^Environment=RINGD_OPTIONS=",
        TestedBy::Test("recipes::leader"),
    ),
    (
        "docs/reference/hooks.md",
        "[Unit]\nAfter=ringd-two@eth0.service",
        TestedBy::Test("recipes::leader"),
    ),
    (
        "docs/reference/once.md",
        "0 2 * * *  root  /usr/local/bin/ringctl once",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/operations/running.md",
        "sudo setcap cap_net_raw+ep",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/operations/running.md",
        "journalctl -u ringd@eth0",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/operations/running.md",
        "$ ringctl status",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/operations/running.md",
        "ringctl status --check",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/operations/running.md",
        "ringctl status --json | jq",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/appendix/benchmarks/scaling.md",
        "$ cargo bench --bench scaling",
        TestedBy::Other("cargo bench, for the figures on that page"),
    ),
    (
        "docs/contributors/simulator.md",
        "ring-sim --system ftn",
        TestedBy::Other("crates/sim/tests/sim/ftn, in the same simulations"),
    ),
    (
        "docs/contributors/simulator.md",
        "ring-sim --system jitterbug",
        TestedBy::Other("crates/sim/tests/sim/jitterbug, in the same simulations"),
    ),
    (
        "docs/contributors/simulator.md",
        "ring-sim --system andrews",
        TestedBy::Other("crates/sim/tests/sim/andrews, in the same simulations"),
    ),
    (
        "docs/contributors/simulator.md",
        "ring-sim",
        TestedBy::Other("the CI job sim"),
    ),
    (
        "docs/how-to/using.md",
        "ringctl run -- ./nightly-report",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/reference/wire-formats.md",
        "scripts/fuzz 330",
        TestedBy::Other("the CI job fuzz"),
    ),
    (
        "docs/reference/wire-formats.md",
        "cd codec/fuzz",
        TestedBy::Other("scripts/fuzz"),
    ),
    (
        "docs/reference/lab2/conformance.md",
        "cargo build --release -p ringd",
        TestedBy::Other("network conformance::, with ringd as the program"),
    ),
    (
        "docs/reference/lab2/conformance.md",
        "target/release/ring-chaos conform --level voter",
        TestedBy::Other("network conformance::, the same judgments"),
    ),
    (
        "docs/token-service/protocol/conformance.md",
        "CONFORM=./my-server",
        TestedBy::Other("network ftn::load::, without CONFORM"),
    ),
    (
        "docs/jitterbug/protocol/conformance.md",
        "CONFORM=./my-node",
        TestedBy::Other("network jitterbug::crashes::, without CONFORM"),
    ),
    (
        "docs/board/protocol/conformance.md",
        "CONFORM=./my-node",
        TestedBy::Other("cargo test -p ring-board --test nodes faults::, without CONFORM"),
    ),
];

pub(crate) fn tests() -> Vec<Test> {
    tests![every_recipe_has_a_test_and_every_listed_recipe_exists]
}

/// Returns the language and the text of each code block of a page.
fn blocks(page: &str) -> impl Iterator<Item = (&str, &str)> {
    // The fences of code blocks come in pairs.
    page.split_inclusive("\n```")
        .skip(1)
        .step_by(2)
        .map(|block| {
            let block = block.strip_suffix("```").unwrap_or(block);
            block.split_once('\n').unwrap_or((block, ""))
        })
}

/// Returns the code block of a page with this beginning.
#[track_caller]
pub(crate) fn block(page: Page, beginning: &str) -> Result<&'static str> {
    let asker = Location::caller();
    let mut texts = blocks(page.text).map(|(_, text)| text);
    let found = texts.find(|text| text.starts_with(beginning));
    let text = found.with_context(|| format!("no block begins with '{beginning}'"))?;
    hand_out(page, text, asker)
}

/// Returns the `nth` code block in a language below a heading of a page.
#[track_caller]
pub(crate) fn block_below(
    page: Page,
    heading: &str,
    language: &str,
    nth: usize,
) -> Result<&'static str> {
    let asker = Location::caller();
    let heading = format!("\n## {heading}\n");
    let (_, below) = page
        .text
        .split_once(&heading)
        .with_context(|| heading.clone())?;
    let below = below.split("\n## ").next().unwrap_or(below);
    let mut texts = blocks(below).filter(|(found, _)| *found == language);
    let (_, text) = texts
        .nth(nth)
        .with_context(|| format!("no block in {language} below {heading}"))?;
    hand_out(page, text, asker)
}

fn hand_out(page: Page, text: &'static str, asker: &Location<'_>) -> Result<&'static str> {
    let is_it = |(name, beginning, _): &&(&str, &str, TestedBy)| {
        *name == page.name && text.starts_with(beginning)
    };
    if let Some((name, beginning, _)) = RECIPES.iter().find(is_it) {
        record::note(name, beginning, asker.file())?;
    }
    Ok(text)
}

fn every_recipe_has_a_test_and_every_listed_recipe_exists() -> Result<()> {
    let mut tried = RECIPES.to_vec();
    for (name, page) in pages()? {
        let recipes = blocks(&page).filter(|(language, _)| LANGUAGES.contains(language));
        for (_, text) in recipes {
            let known = |(page, beginning, _): &(&str, &str, TestedBy)| {
                *page == name && text.starts_with(beginning)
            };
            let at = tried.iter().position(known);
            let at = at.with_context(|| format!("{name}: no test runs\n{text}"))?;
            tried.remove(at);
        }
    }
    ensure!(tried.is_empty(), "these recipes do not exist: {tried:?}");
    Ok(())
}

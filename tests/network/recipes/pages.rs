//! The pages that readers copy from, and that nothing on them is left untried.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use ring_segment::{Test, tests};

pub const README: &str = include_str!("../../../README.md");
pub const HOOKS: &str = include_str!("../../../docs/hooks.md");
pub const ONCE: &str = include_str!("../../../docs/once.md");

/// All pages that readers copy from, README and those of docs, by name.
fn pages() -> Result<Vec<(String, String)>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut names = vec!["README.md".to_owned()];
    for entry in fs::read_dir(root.join("docs"))? {
        let name = entry?.file_name().into_string();
        let name = name.ok().context("a page has a plain name")?;
        if Path::new(&name).extension().is_some_and(|it| it == "md") {
            names.push(format!("docs/{name}"));
        }
    }
    let page = |name: String| {
        let text = fs::read_to_string(root.join(&name))?;
        Ok((name, text))
    };
    names.into_iter().map(page).collect()
}

/// What is to be run or installed stands in blocks of these languages.
const LANGUAGES: [&str; 6] = ["sh", "console", "ini", "python", "sql", "service"];

/// How each recipe begins, and what runs it.
const TRIED: [(&str, &str, &str); 24] = [
    (
        "README.md",
        "sudo scripts/lab up 4",
        "scripts/test-lab, the CI job lab",
    ),
    (
        "README.md",
        "ringctl run -- ./nightly-report",
        "recipes::readme",
    ),
    (
        "README.md",
        "0 2 * * *  root  /usr/local/bin/ringctl once",
        "recipes::readme",
    ),
    ("README.md", "cargo build --release", "recipes::readme"),
    (
        "README.md",
        "sudo install -m 644 systemd/ringd.sysusers",
        "recipes::readme",
    ),
    ("README.md", "$ ringctl status", "recipes::readme"),
    ("README.md", "ringctl status --json | jq", "recipes::readme"),
    ("docs/contributing.md", ".ci/run", "whoever runs it"),
    ("docs/control.md", "import json, os, signal", "locks::ends"),
    (
        "docs/fencing.md",
        "ringctl run -- sh -c 'new=",
        "fencing::file",
    ),
    (
        "docs/fencing.md",
        "CREATE TABLE report",
        "fencing::postgres",
    ),
    ("docs/fencing.md", "#!/bin/sh", "fencing::postgres"),
    ("docs/fencing.md", "UPDATE document", "fencing::postgres"),
    ("docs/fencing.md", "import re, sys", "fencing::http"),
    ("docs/fencing.md", "import os, sys, urllib", "fencing::http"),
    (
        "docs/hooks.md",
        "sudo ringd eth0 --idle-hold",
        "recipes::readme",
    ),
    ("docs/hooks.md", "#!/bin/sh", "recipes::readme"),
    (
        "docs/hooks.md",
        "# /etc/systemd/system/reports.service",
        "recipes::leader",
    ),
    ("docs/hooks.md", "[Unit]", "recipes::leader"),
    (
        "docs/once.md",
        "0 2 * * *  root  /usr/local/bin/ringctl once",
        "recipes::readme",
    ),
    (
        "docs/scaling.md",
        "$ cargo bench --bench scaling",
        "cargo bench, for the figures on that page",
    ),
    ("docs/simulation.md", "ringd sim", "the CI job sim"),
    (
        "docs/wire-formats.md",
        "scripts/fuzz 330",
        "the CI job fuzz",
    ),
    ("docs/wire-formats.md", "cd codec/fuzz", "scripts/fuzz"),
];

pub fn tests() -> Vec<Test> {
    tests![every_recipe_has_a_test_and_every_test_its_recipe]
}

/// A block of a page: its language and its text.
fn blocks(page: &str) -> impl Iterator<Item = (&str, &str)> {
    // Fences come in pairs.
    page.split("\n```").skip(1).step_by(2).map(|block| {
        let (language, text) = block.split_once('\n').unwrap_or((block, ""));
        (language, text)
    })
}

/// The block of a page that begins so.
pub fn block<'a>(page: &'a str, beginning: &str) -> Result<&'a str> {
    let mut texts = blocks(page).map(|(_, text)| text);
    let found = texts.find(|text| text.starts_with(beginning));
    found.with_context(|| format!("no block begins with '{beginning}'"))
}

fn every_recipe_has_a_test_and_every_test_its_recipe() -> Result<()> {
    let mut tried = TRIED.to_vec();
    for (name, page) in pages()? {
        let recipes = blocks(&page).filter(|(language, _)| LANGUAGES.contains(language));
        for (_, text) in recipes {
            let known = |(page, beginning, _): &(&str, &str, &str)| {
                *page == name && text.starts_with(beginning)
            };
            let at = tried.iter().position(known);
            let at = at.with_context(|| format!("{name}: no test runs\n{text}"))?;
            tried.remove(at);
        }
    }
    ensure!(tried.is_empty(), "these are no longer there: {tried:?}");
    Ok(())
}

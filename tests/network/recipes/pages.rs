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
pub(crate) const PACKAGES: Page = page!("docs/how-to/debian.md");
pub(crate) const DOCKER: Page = page!("docs/how-to/docker.md");
pub(crate) const FENCE_FILE: Page = page!("docs/how-to/fence-a-file.md");
pub(crate) const FENCE_HTTP: Page = page!("docs/how-to/fence-http.md");
pub(crate) const FENCE_POSTGRESQL: Page = page!("docs/how-to/fence-postgresql.md");
pub(crate) const FROM_CONSUL: Page = page!("docs/how-to/from-consul-lock.md");
pub(crate) const FROM_ETCDCTL: Page = page!("docs/how-to/from-etcdctl-lock.md");
pub(crate) const FROM_FLOCK: Page = page!("docs/how-to/from-flock-and-cron.md");
pub(crate) const FROM_KEEPALIVED: Page = page!("docs/how-to/from-keepalived.md");
pub(crate) const LEADER: Page = page!("docs/how-to/leader.md");
pub(crate) const PYTHON: Page = page!("docs/how-to/lock-from-python.md");
pub(crate) const RUST: Page = page!("docs/how-to/lock-from-rust.md");
pub(crate) const SCRIPT: Page = page!("docs/how-to/lock-in-a-script.md");
pub(crate) const NAMED_LOCKS: Page = page!("docs/how-to/named-locks.md");
pub(crate) const NIGHTLY: Page = page!("docs/how-to/nightly-job.md");
pub(crate) const QUORUM: Page = page!("docs/how-to/quorum.md");
pub(crate) const SERVICE: Page = page!("docs/how-to/service.md");
pub(crate) const SEVERAL_SEGMENTS: Page = page!("docs/how-to/several-segments.md");
pub(crate) const VIRTUAL_IP: Page = page!("docs/how-to/virtual-ip.md");
pub(crate) const WIRESHARK: Page = page!("docs/how-to/wireshark.md");
pub(crate) const JITTERBUG: Page = page!("docs/jitterbug/README.md");
pub(crate) const JITTERBUG_OPERATE: Page = page!("docs/jitterbug/operate.md");
pub(crate) const DEPLOY: Page = page!("docs/operations/deploy.md");
pub(crate) const MONITOR: Page = page!("docs/operations/monitor.md");
pub(crate) const HOOKS: Page = page!("docs/reference/hooks.md");
pub(crate) const TOKENS: Page = page!("docs/token-service/README.md");
pub(crate) const TOKENS_OPERATE: Page = page!("docs/token-service/operate.md");
pub(crate) const TOKENS_USE: Page = page!("docs/token-service/use.md");
pub(crate) const ONE_MACHINE: Page = page!("docs/tutorials/one-machine.md");
pub(crate) const THREE_MACHINES: Page = page!("docs/tutorials/three-machines.md");

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

/// Languages of the code blocks that readers run or install.
const LANGUAGES: [&str; 7] = ["sh", "console", "ini", "python", "rust", "sql", "service"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestedBy {
    /// The tests of this module. They get the text of the recipe from [`block`].
    Test(&'static str),
    Other(&'static str),
}

/// Each recipe: its page, its beginning, and the test that runs it. If a test runs all recipes of a page, the beginning
/// is empty.
pub(crate) const RECIPES: [(&str, &str, TestedBy); 96] = [
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
        "docs/appendix/benchmarks/scaling.md",
        "$ cargo bench --bench scaling",
        TestedBy::Other("cargo bench, for the figures on that page"),
    ),
    (
        "docs/board/operate.md",
        "sudo install -m 644 systemd/ring-board.sysusers",
        TestedBy::Other("cargo test -p ring-board --test nodes service::"),
    ),
    (
        "docs/board/operate.md",
        "$ sudo cat /etc/ringd/board.password",
        TestedBy::Other("ring-board's unit tests of http::password, for the form of the line"),
    ),
    (
        "docs/board/use.md",
        "printf 'machine localhost",
        TestedBy::Other("cargo test -p ring-board --test nodes logins::"),
    ),
    (
        "docs/board/protocol/conformance.md",
        "CONFORM=./my-node",
        TestedBy::Other("cargo test -p ring-board --test nodes conformance::, without CONFORM"),
    ),
    (
        "docs/contributors/contributing.md",
        ".ci/run",
        TestedBy::Other("whoever runs it"),
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
        "docs/how-to/debian.md",
        "sudo rm -f /usr/local/bin/ringd",
        TestedBy::Test("packages"),
    ),
    (
        "docs/how-to/debian.md",
        "sudo apt install ./ringd",
        TestedBy::Test("packages"),
    ),
    (
        "docs/how-to/debian.md",
        "sudo systemctl enable --now ringd@eth0",
        TestedBy::Test("packages"),
    ),
    (
        "docs/how-to/debian.md",
        "sudo apt remove ringd",
        TestedBy::Test("packages"),
    ),
    (
        "docs/how-to/debian.md",
        "sudo apt purge ringd",
        TestedBy::Test("packages"),
    ),
    (
        "docs/how-to/docker.md",
        "mkdir -p image",
        TestedBy::Test("recipes::docker"),
    ),
    (
        "docs/how-to/docker.md",
        "docker network create",
        TestedBy::Test("recipes::docker"),
    ),
    (
        "docs/how-to/docker.md",
        "docker build -t reports",
        TestedBy::Test("recipes::docker"),
    ),
    (
        "docs/how-to/docker.md",
        "docker exec ringd",
        TestedBy::Test("recipes::docker"),
    ),
    (
        "docs/how-to/fence-a-file.md",
        "ringctl run -- sh -c 'new=",
        TestedBy::Test("fencing::file"),
    ),
    (
        "docs/how-to/fence-http.md",
        "import re, sys",
        TestedBy::Test("fencing::http"),
    ),
    (
        "docs/how-to/fence-http.md",
        "import os, sys, urllib",
        TestedBy::Test("fencing::http"),
    ),
    (
        "docs/how-to/fence-postgresql.md",
        "CREATE TABLE report",
        TestedBy::Test("fencing::postgres"),
    ),
    (
        "docs/how-to/fence-postgresql.md",
        "#!/bin/sh",
        TestedBy::Test("fencing::postgres"),
    ),
    (
        "docs/how-to/fence-postgresql.md",
        "UPDATE document",
        TestedBy::Test("fencing::postgres"),
    ),
    (
        "docs/how-to/from-consul-lock.md",
        "[Unit]\nAfter=ringd@eth0.service",
        TestedBy::Test("recipes::leader"),
    ),
    (
        "docs/how-to/from-etcdctl-lock.md",
        "# /etc/systemd/system/reports.service",
        TestedBy::Test("recipes::segments"),
    ),
    (
        "docs/how-to/from-etcdctl-lock.md",
        "[Service]\nExecStart=\nExecStart=/usr/bin/etcdctl",
        TestedBy::Test("recipes::segments"),
    ),
    (
        "docs/how-to/from-etcdctl-lock.md",
        "[Service]\nExecStart=\nExecStart=/usr/local/bin/ringctl",
        TestedBy::Test("recipes::segments"),
    ),
    (
        "docs/how-to/from-etcdctl-lock.md",
        "etcd-lines reports | while-lines",
        TestedBy::Test("recipes::segments"),
    ),
    (
        "docs/how-to/from-flock-and-cron.md",
        "0 2 * * *  root  flock -n /run/lock/nightly /usr/local/bin/nightly",
        TestedBy::Test("recipes::flock"),
    ),
    (
        "docs/how-to/from-flock-and-cron.md",
        "0 2 * * *  root  flock -n /run/lock/nightly /usr/local/bin/ringctl once",
        TestedBy::Test("recipes::flock"),
    ),
    (
        "docs/how-to/from-flock-and-cron.md",
        "0 2 * * *  root  /usr/local/bin/ringctl once",
        TestedBy::Test("recipes::flock"),
    ),
    (
        "docs/how-to/grow-a-ring.md",
        "ringd check-config && sudo systemctl reload",
        TestedBy::Other("daemon::config, which reloads with SIGHUP instead of systemd"),
    ),
    (
        "docs/how-to/from-keepalived.md",
        "sudo systemctl disable --now keepalived",
        TestedBy::Test("recipes::virtual_ip"),
    ),
    (
        "docs/how-to/from-keepalived.md",
        "sudo systemctl enable --now vip",
        TestedBy::Test("recipes::virtual_ip"),
    ),
    (
        "docs/how-to/from-keepalived.md",
        "sudo systemctl disable --now vip",
        TestedBy::Test("recipes::virtual_ip"),
    ),
    (
        "docs/how-to/leader.md",
        "[Service]",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/how-to/leader.md",
        "#!/bin/sh",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/how-to/leader.md",
        "sudo install -D -m 755 notify",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/how-to/lock-from-python.md",
        "import json, os, signal",
        TestedBy::Test("locks::expiry"),
    ),
    (
        "docs/how-to/lock-from-rust.md",
        "use std::error::Error;",
        TestedBy::Test("locks::library"),
    ),
    (
        "docs/how-to/lock-in-a-script.md",
        "ringctl run -- ./nightly-report",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/how-to/lock-in-a-script.md",
        "#!/bin/sh\ntoken=",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/how-to/named-locks.md",
        "",
        TestedBy::Test("recipes::tutorials"),
    ),
    (
        "docs/how-to/nightly-job.md",
        "0 2 * * *  root  /usr/local/bin/ringctl once",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/how-to/protect-a-ring.md",
        "ringd check-config && sudo systemctl reload",
        TestedBy::Other("trust::roll_out, which reloads with SIGHUP instead of systemd"),
    ),
    (
        "docs/how-to/protect-the-token-service.md",
        "ringd check-config && sudo systemctl reload",
        TestedBy::Other("ftn::trust::roll_out, which reloads with SIGHUP instead of systemd"),
    ),
    (
        "docs/how-to/quorum.md",
        "ringctl run --require quorum",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/how-to/recording.md",
        "sudo ringctl dump",
        TestedBy::Other("network daemon::recordings, with other paths"),
    ),
    (
        "docs/how-to/recording.md",
        "ring-sim replay",
        TestedBy::Other("network daemon::recordings, with other paths"),
    ),
    (
        "docs/how-to/service.md",
        "# /etc/systemd/system/reports.service",
        TestedBy::Test("recipes::leader"),
    ),
    (
        "docs/how-to/service.md",
        "sudo install -m 644 systemd/ringd.target",
        TestedBy::Test("recipes::leader"),
    ),
    (
        "docs/how-to/service.md",
        "[Unit]\nBindsTo=ringd-leader@eth0.target",
        TestedBy::Test("recipes::leader"),
    ),
    (
        "docs/how-to/service.md",
        "sudo systemctl disable --now reports",
        TestedBy::Test("recipes::leader"),
    ),
    (
        "docs/how-to/service.md",
        "sudo systemctl daemon-reload\nsudo systemctl enable --now ringd-leader",
        TestedBy::Test("recipes::leader"),
    ),
    (
        "docs/how-to/service.md",
        "sed 's/^Environment=RINGD_OPTIONS=",
        TestedBy::Test("recipes::leader"),
    ),
    (
        "docs/how-to/service.md",
        "[Unit]\nAfter=ringd-two@eth0.service",
        TestedBy::Test("recipes::leader"),
    ),
    (
        "docs/how-to/several-segments.md",
        "#!/bin/bash\n# /usr/local/bin/while-lines",
        TestedBy::Test("recipes::segments"),
    ),
    (
        "docs/how-to/several-segments.md",
        "#!/bin/sh\n# /usr/local/bin/etcd-lines",
        TestedBy::Test("recipes::segments"),
    ),
    (
        "docs/how-to/several-segments.md",
        "# /etc/systemd/system/reports.service",
        TestedBy::Test("recipes::segments"),
    ),
    (
        "docs/how-to/several-segments.md",
        "#!/bin/sh\n# /usr/local/bin/postgresql-lines",
        TestedBy::Test("recipes::segments"),
    ),
    (
        "docs/how-to/several-segments.md",
        "[Service]\nEnvironment=PGHOST",
        TestedBy::Test("recipes::segments"),
    ),
    (
        "docs/how-to/virtual-ip.md",
        "#!/bin/sh\n# /usr/local/sbin/vip",
        TestedBy::Test("recipes::virtual_ip"),
    ),
    (
        "docs/how-to/virtual-ip.md",
        "# /etc/systemd/system/vip.service",
        TestedBy::Test("recipes::virtual_ip"),
    ),
    (
        "docs/how-to/wireshark.md",
        "mkdir -p ~/.local/lib/wireshark/plugins\nln -sfn",
        TestedBy::Test("wireshark::page"),
    ),
    (
        "docs/how-to/wireshark.md",
        "mkdir -p ~/.local/lib/wireshark/plugins\ncp -r",
        TestedBy::Test("wireshark::tshark"),
    ),
    (
        "docs/how-to/wireshark.md",
        "sudo tcpdump",
        TestedBy::Test("wireshark::live"),
    ),
    (
        "docs/how-to/wireshark.md",
        "tshark -r",
        TestedBy::Test("wireshark::live"),
    ),
    (
        "docs/jitterbug/README.md",
        "ringd jitterbug eth0 --compute",
        TestedBy::Test("jitterbug::example"),
    ),
    (
        "docs/jitterbug/README.md",
        "$ ringctl -i jitterbug-eth0 data get",
        TestedBy::Test("jitterbug::example"),
    ),
    (
        "docs/jitterbug/operate.md",
        "sudo install -m 644 systemd/ringd.sysusers",
        TestedBy::Test("jitterbug::service"),
    ),
    (
        "docs/jitterbug/protocol/conformance.md",
        "CONFORM=./my-node",
        TestedBy::Other("network jitterbug::conformance::, without CONFORM"),
    ),
    (
        "docs/operations/deploy.md",
        "sudo setcap cap_net_raw+ep",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/operations/monitor.md",
        "journalctl -u ringd@eth0",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/operations/monitor.md",
        "$ ringctl history",
        TestedBy::Test("history"),
    ),
    (
        "docs/operations/monitor.md",
        "$ ringctl status",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/operations/monitor.md",
        "ringctl status --check",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/operations/monitor.md",
        "ringctl status --json | jq",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/reference/hooks.md",
        "#!/bin/sh\n[ -n",
        TestedBy::Test("recipes::readme"),
    ),
    (
        "docs/reference/hooks.md",
        "sudo ringd eth0 --idle-hold",
        TestedBy::Test("recipes::readme"),
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
        "docs/token-service/README.md",
        "echo 127.0.0.1:7301 >ftn.servers",
        TestedBy::Test("ftn::client_page"),
    ),
    (
        "docs/token-service/operate.md",
        "sudo install -m 644 systemd/ringd.sysusers",
        TestedBy::Test("ftn::service"),
    ),
    (
        "docs/token-service/protocol/conformance.md",
        "CONFORM=./my-server",
        TestedBy::Other("network ftn::conformance::, without CONFORM"),
    ),
    (
        "docs/token-service/use.md",
        "#!/bin/sh\n# cached KEY CMD",
        TestedBy::Test("ftn::client_page"),
    ),
    (
        "docs/tutorials/one-machine.md",
        "",
        TestedBy::Test("recipes::tutorials"),
    ),
    (
        "docs/tutorials/three-machines.md",
        "",
        TestedBy::Test("recipes::tutorials"),
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

/// Returns the languages and the texts of all code blocks of a page that are recipes.
#[track_caller]
pub(crate) fn all_blocks(page: Page) -> Result<Vec<(&'static str, &'static str)>> {
    let asker = Location::caller();
    let recipes = blocks(page.text).filter(|(language, _)| LANGUAGES.contains(language));
    recipes
        .map(|(language, text)| Ok((language, hand_out(page, text, asker)?)))
        .collect()
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
            if !tried[at].1.is_empty() {
                tried.remove(at);
            }
        }
    }
    tried.retain(|(_, beginning, _)| !beginning.is_empty());
    ensure!(tried.is_empty(), "these recipes do not exist: {tried:?}");
    Ok(())
}

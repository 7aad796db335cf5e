//! Rings whose daemons have keys.

mod attacker;
mod files;
mod flood;
mod roll_out;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Daemon, Ringd, Test, WAIT_LIMIT};
use serde_json::Value;
use tempfile::TempDir;

/// The kinds of findings about keys.
const KEY_FINDINGS: [&str; 4] = [
    "client_unsigned",
    "keys_differ",
    "member_unsigned",
    "unsigned_accepted",
];

pub(crate) fn tests() -> Vec<Test> {
    [
        roll_out::tests(),
        attacker::tests(),
        flood::tests(),
        files::tests(),
    ]
    .concat()
}

/// Returns a line of a key file. The key consists of the byte `id`.
pub(crate) fn key_line(id: u8) -> String {
    format!("{id} {}\n", format!("{id:02x}").repeat(32))
}

/// The configuration file and the key file of a machine, in a folder that only root can change.
struct Files(TempDir);

impl Files {
    /// Makes a configuration file without keys.
    fn new() -> Result<Self> {
        let files = Self(tempfile::tempdir_in("/run")?);
        fs::write(files.config(), "")?;
        Ok(files)
    }

    /// Makes files with these keys. The node requires signatures.
    fn with_keys(ids: &[u8]) -> Result<Self> {
        let files = Self::new()?;
        files.write_keys(ids)?;
        files.write_config("")?;
        Ok(files)
    }

    fn config(&self) -> PathBuf {
        self.0.path().join("ringd.toml")
    }

    fn keys(&self) -> PathBuf {
        self.0.path().join("ring.keys")
    }

    fn write_keys(&self, ids: &[u8]) -> Result<()> {
        let lines: String = ids.iter().map(|id| key_line(*id)).collect();
        self.write_key_file(&lines, 0o600)
    }

    fn write_key_file(&self, contents: &str, mode: u32) -> Result<()> {
        fs::write(self.keys(), contents)?;
        Ok(fs::set_permissions(
            self.keys(),
            Permissions::from_mode(mode),
        )?)
    }

    /// Writes a configuration file that names the key file.
    fn write_config(&self, more: &str) -> Result<()> {
        let keys = self.keys();
        let text = format!("[ring]\nkey-file = '{}'\n{more}", keys.display());
        Ok(fs::write(self.config(), text)?)
    }

    /// Adds the files to the options of a daemon. With a terminal, a hang-up would mean that the terminal was closed.
    fn add_to(&self, ringd: Ringd) -> Ringd {
        let ringd = ringd.option("--config", self.config());
        ringd.through(["setsid"])
    }
}

/// Makes the daemon read its files again. Waits until it uses exactly these keys.
pub(crate) fn reload(daemon: &Daemon, keys: &[u8], accepts_unsigned: bool) -> Result<()> {
    daemon.signal(Signal::SIGHUP)?;
    let is_in_force = |status: &Value| {
        let trust = &status["trust"];
        trust["keys"] == serde_json::json!(keys) && trust["accepts_unsigned"] == accepts_unsigned
    };
    daemon.wait_for_status(WAIT_LIMIT, is_in_force).map(drop)
}

/// Checks which findings about keys `ringctl doctor` reports at a daemon, and its metric for each key of other nodes.
pub(crate) fn check_signers(
    daemon: &Daemon,
    findings: &[&str],
    by_key: &[(&str, u64)],
) -> Result<()> {
    let found = daemon.ringctl(&["doctor", "--json"])?;
    let found: Value =
        serde_json::from_slice(&found.stdout).with_context(|| format!("{found:?}"))?;
    let kinds = found["findings"].as_array().into_iter().flatten();
    let kinds = kinds.filter_map(|finding| finding["kind"].as_str());
    let mut kinds: Vec<_> = kinds.filter(|kind| KEY_FINDINGS.contains(kind)).collect();
    kinds.sort_unstable();
    ensure!(kinds == findings, "{found:#}");
    let metrics = daemon.ringctl(&["metrics"])?;
    let metrics = String::from_utf8(metrics.stdout)?;
    for (key, count) in by_key {
        let is_sample = |line: &str| {
            line.starts_with("ringd_members_by_key{")
                && line.ends_with(&format!("key=\"{key}\"}} {count}"))
        };
        ensure!(metrics.lines().any(is_sample), "{key}: {metrics}");
    }
    Ok(())
}

/// Waits until the daemon knows that each other member signs with this key.
fn wait_for_key(daemon: &Daemon, key: u8) -> Result<()> {
    let own = daemon.node().mac().to_string();
    daemon.wait_for_status(WAIT_LIMIT, |status| {
        let members = status["members"].as_array();
        members.is_some_and(|members| {
            let mut others = members.iter().filter(|it| it["mac"] != own.as_str());
            others.all(|it| it["key"] == key)
        })
    })?;
    Ok(())
}

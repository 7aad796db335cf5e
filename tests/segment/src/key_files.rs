//! Key files of daemons, and checks of the keys that a daemon reports.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::daemon::{Daemon, Ringd};
use crate::limit::WAIT_LIMIT;

const UNSIGNED_TOO: &str = "accept-unsigned = true\n";
/// The kinds of findings about keys.
const FINDINGS: [&str; 4] = [
    "client_unsigned",
    "keys_differ",
    "member_unsigned",
    "unsigned_accepted",
];

/// Returns a line of a key file. Each byte of the key is `id`.
pub fn key_line(id: u8) -> String {
    format!("{id} {}\n", format!("{id:02x}").repeat(32))
}

/// The configuration file and the key file of a daemon, in a folder that only root can change.
#[derive(Debug)]
pub struct KeyFiles {
    folder: TempDir,
    /// The section of the configuration file.
    section: &'static str,
}

impl KeyFiles {
    /// Makes a configuration file without keys.
    pub fn new(section: &'static str) -> Result<Self> {
        let folder = tempfile::tempdir_in("/run")?;
        let files = Self { folder, section };
        fs::write(files.config(), "")?;
        Ok(files)
    }

    /// Makes the files of several daemons, without keys.
    pub fn several(section: &'static str, count: usize) -> Result<Vec<Self>> {
        (0..count).map(|_| Self::new(section)).collect()
    }

    /// Makes files with these keys. The node requires signatures.
    pub fn with_keys(section: &'static str, ids: &[u8]) -> Result<Self> {
        let files = Self::new(section)?;
        files.write(ids, false)?;
        Ok(files)
    }

    pub fn config(&self) -> PathBuf {
        self.folder.path().join("ringd.toml")
    }

    pub fn keys(&self) -> PathBuf {
        self.folder.path().join("ring.keys")
    }

    /// Writes a key file with these keys, and a configuration file that names it.
    pub fn write(&self, ids: &[u8], accepts_unsigned: bool) -> Result<()> {
        self.write_keys(ids)?;
        self.write_config(if accepts_unsigned { UNSIGNED_TOO } else { "" })
    }

    pub fn write_keys(&self, ids: &[u8]) -> Result<()> {
        let lines: String = ids.iter().map(|id| key_line(*id)).collect();
        self.write_key_file(&lines, 0o600)
    }

    pub fn write_key_file(&self, contents: &str, mode: u32) -> Result<()> {
        fs::write(self.keys(), contents)?;
        let permissions = Permissions::from_mode(mode);
        Ok(fs::set_permissions(self.keys(), permissions)?)
    }

    /// Writes a configuration file that names the key file. `more` has further lines.
    pub fn write_config(&self, more: &str) -> Result<()> {
        let (section, keys) = (self.section, self.keys());
        let text = format!("[{section}]\nkey-file = '{}'\n{more}", keys.display());
        Ok(fs::write(self.config(), text)?)
    }

    /// Adds the files to the options of a daemon. The daemon gets no terminal, because it would take a hang-up as a
    /// sign that the terminal was closed.
    pub fn add_to(&self, ringd: Ringd) -> Ringd {
        let ringd = ringd.option("--config", self.config());
        ringd.through(["setsid"])
    }
}

/// Makes the daemon read its files again. Waits until it uses exactly these keys.
pub fn reload_keys(daemon: &Daemon, keys: &[u8], accepts_unsigned: bool) -> Result<()> {
    daemon.signal(Signal::SIGHUP)?;
    let is_in_force = |status: &Value| {
        let trust = &status["trust"];
        trust["keys"] == json!(keys) && trust["accepts_unsigned"] == accepts_unsigned
    };
    daemon.wait_for_status(WAIT_LIMIT, is_in_force).map(drop)
}

/// Checks the kinds of findings about keys that `ringctl doctor` reports at a daemon, in the order of their names. Also
/// checks in the metrics of the daemon how many other nodes sign with each of some keys.
pub fn check_signers(daemon: &Daemon, findings: &[&str], by_key: &[(&str, u64)]) -> Result<()> {
    let found = daemon.ringctl(&["doctor", "--json"])?;
    let found: Value =
        serde_json::from_slice(&found.stdout).with_context(|| format!("{found:?}"))?;
    let kinds = found["findings"].as_array().into_iter().flatten();
    let kinds = kinds.filter_map(|finding| finding["kind"].as_str());
    let mut kinds: Vec<_> = kinds.filter(|kind| FINDINGS.contains(kind)).collect();
    kinds.sort_unstable();
    ensure!(kinds == findings, "{found:#}");
    let metrics = daemon.ringctl(&["metrics"])?;
    let metrics = String::from_utf8(metrics.stdout)?;
    for (key, count) in by_key {
        let end = format!("key=\"{key}\"}} {count}");
        let is_sample =
            |line: &str| line.starts_with("ringd_members_by_key{") && line.ends_with(&end);
        ensure!(metrics.lines().any(is_sample), "{end}: {metrics}");
    }
    Ok(())
}

/// The reasons for which daemons must refuse messages during an attack.
const REFUSALS: [&str; 5] = [
    "unsigned",
    "unknown_key",
    "wrong_mac",
    "replayed",
    "unproven",
];

/// Checks that a daemon has counted refused messages for each reason, and that its status shows the trouble.
pub fn check_refusals(status: &Value) -> Result<()> {
    let counts = &status["counters"]["unproven"];
    for reason in REFUSALS {
        ensure!(counts[reason].as_u64() > Some(0), "{reason}: {counts}");
    }
    let troubles = status["troubles"].to_string();
    ensure!(troubles.contains("without a valid signature"), "{troubles}");
    Ok(())
}

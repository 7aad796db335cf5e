//! Findings about this machine: its interface, its bridge and its filters.

mod bridge;
mod counters;
mod files;
mod firewall;
mod interface;
mod nft;
mod program;
mod tc;
mod unit;

use ring_runtime::net::Interface;

use super::finding::Finding;
pub(super) use counters::ErrorCounters;
use files::SystemFiles;
pub(super) use unit::failure as unit_failure;

/// The frames of the ring on this machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct RingFrames<'a> {
    pub interface: &'a str,
    pub ethertype: u16,
}

/// Facts from which the checks decide which findings are useful.
#[derive(Debug, Clone, Copy)]
pub(super) struct Circumstances {
    /// Whether a daemon runs. If so, it reports an unusable interface itself.
    pub has_daemon: bool,
    /// Whether frames are lost. Then findings about possible reasons are useful too.
    pub is_suspect: bool,
}

/// Checks this machine.
pub(super) fn check(frames: RingFrames<'_>, circumstances: Circumstances) -> Vec<Finding> {
    let found = match interface::find(frames.interface) {
        Ok(found) => found,
        Err(finding) if circumstances.has_daemon => {
            drop(finding);
            return Vec::new();
        }
        Err(finding) => return vec![finding],
    };
    let files = SystemFiles::of(&found);
    let mut findings = Vec::new();
    if !circumstances.has_daemon {
        findings.extend(interface::unusable(&found, files.as_ref()));
    }
    let mut ports = Vec::new();
    if let Some(files) = &files {
        findings.extend(interface::unsuitable(files));
        ports = files.list("brif");
        findings.extend(bridge::check(files, &ports));
    }
    findings.extend(firewall::check(frames, &ports));
    findings.extend(tc::check(frames));
    if !circumstances.is_suspect {
        findings.retain(Finding::needs_attention);
    }
    findings
}

/// Reads the error counters of an interface.
pub(super) fn error_counters(interface: &str) -> ErrorCounters {
    let found: Option<Interface> = Interface::find(interface).ok().flatten();
    let files = found.as_ref().and_then(SystemFiles::of);
    files.map_or_else(ErrorCounters::default, |files| ErrorCounters::read(&files))
}

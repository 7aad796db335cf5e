//! Finds and signals the processes of the nodes through `/proc`.

use std::fs;
use std::os::unix::fs::MetadataExt;

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ring_segment::NetNs;

/// Returns the inode number of a network namespace.
pub(super) fn inode(ns: &NetNs) -> Result<u64> {
    let own = ns.run(|| fs::metadata("/proc/thread-self/ns/net"))?;
    Ok(own.context("cannot read /proc")?.ino())
}

/// Returns the processes in the namespaces, each with the index of its namespace.
pub(super) fn all(namespaces: &[u64]) -> Vec<(usize, Pid)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        // A process that has just ended has no namespace.
        let inode = fs::metadata(entry.path().join("ns/net")).ok()?.ino();
        let node = namespaces.iter().position(|&it| it == inode)?;
        Some((node, Pid::from_raw(pid)))
    });
    found.collect()
}

/// Whether a process's command line begins with `line`. A zero byte ends each word of `line`.
pub(super) fn runs(pid: Pid, line: &str) -> bool {
    let own = fs::read_to_string(format!("/proc/{pid}/cmdline"));
    own.is_ok_and(|own| own.starts_with(line))
}

/// Returns the parent of a process, or `None` if the process ended.
pub(super) fn parent(pid: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let parent = rest.split(' ').nth(1)?.parse().ok()?;
    Some(Pid::from_raw(parent))
}

/// Sends a signal to processes. Ignores ended processes.
pub(super) fn send(pids: &[Pid], signal: Signal) {
    for &pid in pids {
        let _ = kill(pid, signal);
    }
}

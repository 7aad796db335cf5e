//! Network namespaces, kept alive by a descriptor and entered by threads.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result, anyhow};
use nix::sched::{CloneFlags, setns, unshare};

use crate::ip;
use crate::world::INSIDE;

/// A network namespace. It lives as long as a clone of this, or a process in it.
#[derive(Debug, Clone)]
pub struct NetNs {
    handle: Arc<OwnedFd>,
}

impl NetNs {
    /// A new one, with IPv6 off so that the kernel sends nothing of its own accord.
    pub fn new() -> Result<Self> {
        let make = || -> Result<Self> {
            unshare(CloneFlags::CLONE_NEWNET).context("cannot make a network namespace")?;
            for scope in ["all", "default"] {
                set_ipv6(scope, false)?;
            }
            let handle = File::open("/proc/thread-self/ns/net")
                .context("cannot open the new network namespace")?;
            Ok(Self {
                handle: Arc::new(handle.into()),
            })
        };
        thread::scope(|scope| scope.spawn(make).join())
            .map_err(|_| anyhow!("the thread that makes a network namespace panicked"))?
    }

    /// Runs `inside` in a thread of its own in the namespace. Sockets made there stay in the
    /// namespace wherever they are used later.
    ///
    /// # Panics
    /// If `inside` does.
    pub fn run<T: Send>(&self, inside: impl FnOnce() -> T + Send) -> Result<T> {
        let enter = || -> Result<T> {
            setns(self.handle.as_fd(), CloneFlags::CLONE_NEWNET)
                .context("cannot enter a network namespace")?;
            Ok(inside())
        };
        match thread::scope(|scope| scope.spawn(enter).join()) {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Starts a command in the namespace.
    pub fn spawn(&self, command: &mut Command) -> Result<Child> {
        command.env_remove(INSIDE);
        self.run(|| command.spawn())?
            .with_context(|| format!("cannot start {}", command.get_program().display()))
    }

    /// Runs lines of `ip` arguments in the namespace (`link set eth0 down`).
    pub fn ip(&self, lines: &str) -> Result<()> {
        self.run(|| ip::batch(lines))?
    }

    /// What `ip` prints in the namespace for these arguments.
    pub fn ask_ip(&self, arguments: &[&str]) -> Result<String> {
        self.run(|| ip::query(arguments))?
    }

    /// Turns IPv6 on for interfaces that come up from now on.
    pub fn enable_ipv6(&self) -> Result<()> {
        self.run(|| {
            ["all", "default"]
                .iter()
                .try_for_each(|scope| set_ipv6(scope, true))
        })?
    }

    /// The path by which another process of the world finds the namespace.
    pub(crate) fn path(&self) -> Result<String> {
        // By number, since `self` would be the other process; as the mounted /proc counts them.
        let own = fs::read_link("/proc/self").context("cannot read /proc/self")?;
        Ok(format!(
            "/proc/{}/fd/{}",
            own.display(),
            self.handle.as_raw_fd()
        ))
    }
}

fn set_ipv6(scope: &str, on: bool) -> Result<()> {
    let path = format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6");
    match fs::write(&path, if on { "0" } else { "1" }) {
        // A kernel without IPv6 is as quiet as one with it turned off.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !on => Ok(()),
        result => result.with_context(|| format!("cannot write {path}")),
    }
}

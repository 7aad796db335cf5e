//! Network namespaces. An open descriptor keeps a namespace alive, and threads enter it.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result, anyhow};
use nix::sched::{CloneFlags, setns, unshare};

use crate::ip;
use crate::sandbox::INSIDE_VARIABLE;

/// A network namespace. It exists while a clone of this value or a process in the namespace exists.
#[derive(Debug, Clone)]
pub struct NetNs {
    handle: Arc<OwnedFd>,
}

impl NetNs {
    /// Makes a namespace without IPv6, so that the kernel sends nothing on its own.
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

    /// Runs `inside` in a new thread in the namespace. Sockets that `inside` opens stay in the namespace, whichever
    /// thread uses them later.
    ///
    /// # Panics
    /// Panics if `inside` panics.
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

    pub fn spawn(&self, command: &mut Command) -> Result<Child> {
        command.env_remove(INSIDE_VARIABLE);
        self.run(|| command.spawn())?
            .with_context(|| format!("cannot start {}", command.get_program().display()))
    }

    /// Runs lines of `ip` arguments in the namespace (`link set eth0 down`).
    pub fn ip(&self, lines: &str) -> Result<()> {
        self.run(|| ip::batch(lines))?
    }

    /// Returns the output of `ip` in the namespace with these arguments.
    pub fn ask_ip(&self, arguments: &[&str]) -> Result<String> {
        self.run(|| ip::query(arguments))?
    }

    /// Connects this namespace with another namespace by a cable: `name` here, and `other_name` there.
    pub fn connect(&self, name: &str, other: &Self, other_name: &str) -> Result<()> {
        self.ip(&format!(
            "link add {name} type veth peer name {other_name} netns {}\nlink set {name} up\n",
            other.path()?
        ))?;
        other.ip(&format!("link set {other_name} up\n"))
    }

    /// Enables IPv6 for interfaces that come up later.
    pub fn enable_ipv6(&self) -> Result<()> {
        self.run(|| {
            ["all", "default"]
                .iter()
                .try_for_each(|scope| set_ipv6(scope, true))
        })?
    }

    /// Returns a path at which another process of the sandbox can open the namespace.
    pub(crate) fn path(&self) -> Result<String> {
        // The path has the process number, because `self` would be the process that opens the path. The number must be
        // the number in the mounted /proc.
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
        // A kernel without IPv6 has no such setting, and needs none.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !on => Ok(()),
        result => result.with_context(|| format!("cannot write {path}")),
    }
}

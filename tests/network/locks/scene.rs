//! Work under the token on one node, and a client on a second node that waits for the token.

use std::fs::File;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::Pid;
use ring_segment::{Daemon, Ring};
use serde_json::Value;
use tempfile::TempDir;

use crate::locks::client::Client;
use crate::locks::program::Running;
use crate::locks::{WAIT_LIMIT, connect, form, ringctl, shared_ring};

pub(super) struct LockScene {
    pub ring: Box<dyn Deref<Target = Ring>>,
    folder: TempDir,
}

impl LockScene {
    /// Makes a scene on a shared ring of two nodes. The test must not harm this ring.
    pub(super) fn new() -> Result<Self> {
        Self::on(Box::new(shared_ring(2)?))
    }

    pub(super) fn on_its_own_ring(count: usize) -> Result<Self> {
        Self::on(Box::new(Box::new(form(count)?)))
    }

    fn on(ring: Box<dyn Deref<Target = Ring>>) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let scene = Self { ring, folder };
        File::create(scene.lock_file())?;
        Ok(scene)
    }

    pub(super) fn first(&self) -> &Daemon {
        &self.ring.daemons[0]
    }

    /// Returns the daemon on whose machine the next client waits.
    pub(super) fn second(&self) -> &Daemon {
        &self.ring.daemons[1]
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the file that is locked while any process of the work lives. All processes of the work inherit the lock.
    fn lock_file(&self) -> PathBuf {
        self.file("mark")
    }

    /// Starts `ringctl run` on the first node with a shell line, and waits until the line prints "ready".
    pub(super) fn start_work(&self, options: &[&str], line: &str) -> Result<Running> {
        let mark = self.lock_file();
        // The shell must not write a core dump, even if a signal such as SIGQUIT ends it.
        let line = format!(
            "ulimit -c 0; exec 9> {}; flock -n 9 || exit 99; {line}",
            mark.display()
        );
        let arguments = [&["run"], options, &["--", "sh", "-c", &line]].concat();
        let mut run = Running::start(&mut ringctl(self.first(), &arguments))?;
        run.expect_line("ready")?;
        Ok(run)
    }

    /// Starts the next client on the second node. Returns when this client waits for the token.
    pub(super) fn start_next(&self) -> Result<NextClient> {
        let mut client = connect(self.second())?;
        client.lock("next")?;
        wait_until_queued(self.second(), "next")?;
        let mark = File::open(self.lock_file())?;
        Ok(NextClient { client, mark })
    }
}

pub(super) struct NextClient {
    client: Client,
    mark: File,
}

impl NextClient {
    /// Checks that this client gets the token, and that all processes of the earlier work have ended at that moment.
    pub(super) fn check_begins_alone(mut self) -> Result<()> {
        self.client.expect("granted")?;
        ensure!(self.is_alone(), "a process of the work is left");
        self.client.unlock()
    }

    fn is_alone(&self) -> bool {
        let mark = self.mark.try_clone();
        mark.is_ok_and(|mark| Flock::lock(mark, FlockArg::LockExclusiveNonblock).is_ok())
    }
}

pub(super) fn path(path: &Path) -> Result<&str> {
    path.to_str().context("a plain path")
}

/// Returns the client with this label. The client may hold the token or wait for it.
pub(super) fn find<'a>(status: &'a Value, label: &str) -> Option<&'a Value> {
    let mut clients = status["clients"].as_array()?.iter();
    clients.find(|client| client["label"] == label)
}

/// Waits until a client with this label waits for the token.
pub(super) fn wait_until_queued(daemon: &Daemon, label: &str) -> Result<()> {
    let waits = |status: &Value| find(status, label).is_some_and(|it| it["holds"] == false);
    daemon.wait_for_status(WAIT_LIMIT, waits).map(drop)
}

pub(super) fn holder(daemon: &Daemon) -> Result<Pid> {
    let status = daemon.status()?;
    for client in status["clients"].as_array().context("a list")? {
        if client["holds"] == true {
            let pid = client["pid"]
                .as_i64()
                .context("the holder's process is known")?;
            return Ok(Pid::from_raw(i32::try_from(pid)?));
        }
    }
    bail!("no client holds the token: {status}");
}

//! Server processes.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use ring_client::token::read_servers;
use ring_proto::ftn::Servers;
use tempfile::TempDir;

use ring_segment::proc;
use ring_trust::Keyring;

/// ST, the server timeout.
pub(crate) const SERVER_TIMEOUT: Duration = Duration::from_secs(1);

/// Servers that end on drop.
pub(crate) struct ServerProcesses {
    pub servers: Servers,
    processes: Processes,
    folder: TempDir,
}

/// Name of the file with the list of servers.
const LIST: &str = "servers";
/// Name of the file with the keys of the servers.
const KEY_FILE: &str = "keys";

/// Starts servers on free ports. A single server gets its own processor.
pub(crate) fn start(program: &Path, count: usize, client_timeout: &str) -> Result<ServerProcesses> {
    start_with(program, count, client_timeout, &[])
}

/// Starts a server that signs its messages, and accepts unsigned messages too.
pub(crate) fn start_with_keys(program: &Path) -> Result<ServerProcesses> {
    start_with(program, 1, "600s", &["--accept-unsigned"])
}

/// Starts servers with more options. All servers run on one processor.
pub(crate) fn start_crowded(
    program: &Path,
    count: usize,
    options: &[&str],
) -> Result<ServerProcesses> {
    let running = on_processor(0, || start_with(program, count, "600s", options))?;
    pin_to(1, Pid::from_raw(0))?;
    running
}

/// Calls `act` on a processor, and then returns to the clients' processor. Processes that `act` starts stay on its
/// processor.
pub(crate) fn on_processor<T>(cpu: usize, act: impl FnOnce() -> T) -> Result<T> {
    pin_to(cpu, Pid::from_raw(0))?;
    let done = act();
    pin_to(1, Pid::from_raw(0))?;
    Ok(done)
}

fn start_with(
    program: &Path,
    count: usize,
    client_timeout: &str,
    options: &[&str],
) -> Result<ServerProcesses> {
    // A key file must be in a folder that other users cannot change.
    let folder = tempfile::tempdir_in("/run").or_else(|_| tempfile::tempdir())?;
    let sockets: Vec<UdpSocket> = (0..count)
        .map(|_| UdpSocket::bind("127.0.0.1:0"))
        .collect::<Result<_, _>>()?;
    let lines: Vec<String> = sockets
        .iter()
        .map(|socket| Ok(socket.local_addr()?.to_string()))
        .collect::<Result<_>>()?;
    drop(sockets);
    let list = folder.path().join(LIST);
    fs::write(&list, lines.join("\n"))?;
    let key_file = folder.path().join(KEY_FILE);
    if options.contains(&"--accept-unsigned") {
        fs::write(&key_file, format!("7 {}\n", "5e".repeat(32)))?;
        fs::set_permissions(&key_file, Permissions::from_mode(0o600))?;
    }
    let key_options = key_file
        .exists()
        .then(|| [OsStr::new("--key-file"), key_file.as_os_str()]);
    let mut processes = Processes::default();
    for index in 0..count {
        let child = Command::new(program)
            .arg("ftn")
            .args(key_options.iter().flatten())
            .arg("--servers")
            .arg(&list)
            .args(["--index", &index.to_string(), "--grace", "0s"])
            .args(["--heartbeat", "300ms", "--server-timeout", "1s"])
            .args(["--client-timeout", client_timeout, "--max-memory", "2GiB"])
            .args(options)
            .arg("--control")
            .arg(folder.path().join(format!("{index}.sock")))
            .arg("--state-dir")
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start ringd")?;
        if count == 1 {
            pin_to(0, Pid::from_raw(i32::try_from(child.id())?))?;
            pin_to(1, Pid::from_raw(0))?;
        }
        processes.0.push(child);
    }
    Ok(ServerProcesses {
        servers: read_servers(&list)?,
        processes,
        folder,
    })
}

/// Pins a process to a processor if the machine has two processors.
pub(crate) fn pin_to(cpu: usize, process: Pid) -> Result<()> {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 && cpu > 0 {
        return Ok(());
    }
    let mut cpus = CpuSet::new();
    cpus.set(cpu)?;
    Ok(sched_setaffinity(process, &cpus)?)
}

/// Lets this process and its later children use all processors.
pub(crate) fn use_all_processors() -> Result<()> {
    let mut cpus = CpuSet::new();
    for cpu in 0..CpuSet::count() {
        cpus.set(cpu)?;
    }
    Ok(sched_setaffinity(Pid::from_raw(0), &cpus)?)
}

impl ServerProcesses {
    /// Returns the path of the list of servers.
    pub(crate) fn list(&self) -> PathBuf {
        self.folder.path().join(LIST)
    }

    /// Returns the keys of the servers; `None` without keys.
    pub(crate) fn keys(&self) -> Option<Keyring> {
        let text = fs::read_to_string(self.folder.path().join(KEY_FILE)).ok()?;
        Keyring::parse(&text).ok()
    }

    pub(crate) fn processor_time(&self, index: usize) -> Result<Duration> {
        proc::cpu_time(self.processes.0[index].id())
    }

    /// Returns the memory of a server, in bytes.
    pub(crate) fn resident(&self, index: usize) -> Result<u64> {
        Ok(proc::resident_kib(self.processes.0[index].id())? * 1024)
    }

    pub(crate) fn kill(&mut self, index: usize) -> Result<()> {
        self.processes.0[index].kill()?;
        self.processes.0[index].wait()?;
        Ok(())
    }
}

/// Processes that are killed on drop.
#[derive(Default)]
pub(crate) struct Processes(pub Vec<Child>);

impl Drop for Processes {
    fn drop(&mut self) {
        for process in &mut self.0 {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

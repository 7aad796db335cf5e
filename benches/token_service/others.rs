//! Starts Redis and etcd on the loopback interface, to compare them with the token service.

use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use super::exchange::{Etcd, Exchange, Redis};
use super::server::{Processes, on_processor};

const START_TIMEOUT: Duration = Duration::from_secs(30);
const MEMBERS: usize = 3;

/// A service: its processes and their addresses. The processes end on drop.
pub(crate) struct Service {
    processes: Processes,
    pub addresses: Vec<SocketAddr>,
    folder: TempDir,
}

fn free_addresses(count: usize) -> Result<Vec<SocketAddr>> {
    let sockets = (0..count).map(|_| TcpListener::bind("127.0.0.1:0"));
    let sockets: Vec<TcpListener> = sockets.collect::<Result<_, _>>()?;
    let addresses = sockets.iter().map(TcpListener::local_addr);
    Ok(addresses.collect::<Result<_, _>>()?)
}

/// Starts a server on the first processor. The clients run on the second processor.
fn spawn(command: &mut Command) -> Result<Child> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let name = command.get_program().to_string_lossy().into_owned();
    on_processor(0, || command.spawn())?.with_context(|| format!("cannot start {name}"))
}

/// Starts one Redis. With `durable`, the server writes to its disk before it answers.
pub(crate) fn redis(durable: bool) -> Result<Service> {
    let folder = tempfile::tempdir()?;
    let addresses = free_addresses(1)?;
    let (on, sync) = if durable {
        ("yes", "always")
    } else {
        ("no", "no")
    };
    let process = spawn(
        Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--port"])
            .arg(addresses[0].port().to_string())
            .args(["--save", "", "--appendonly", on, "--appendfsync", sync])
            .arg("--dir")
            .arg(folder.path()),
    )?;
    let service = Service {
        processes: Processes(vec![process]),
        addresses,
        folder,
    };
    await_first_grant(|| Redis::connect(service.addresses[0]))?;
    Ok(service)
}

/// Starts an etcd of three members. The first address is that of the leader.
pub(crate) fn etcd() -> Result<Service> {
    let folder = tempfile::tempdir()?;
    let (clients, peers) = (free_addresses(MEMBERS)?, free_addresses(MEMBERS)?);
    let members: Vec<String> = (peers.iter().enumerate())
        .map(|(at, peer)| format!("n{at}=http://{peer}"))
        .collect();
    let mut service = Service {
        processes: Processes::default(),
        addresses: clients,
        folder,
    };
    for (at, peer) in peers.iter().enumerate() {
        let (client, peer) = (
            format!("http://{}", service.addresses[at]),
            format!("http://{peer}"),
        );
        let name = format!("n{at}");
        let process = spawn(
            Command::new("etcd")
                .args(["--name", &name, "--data-dir"])
                .arg(service.folder.path().join(&name))
                .args(["--listen-client-urls", &client])
                .args(["--advertise-client-urls", &client])
                .args(["--listen-peer-urls", &peer])
                .args(["--initial-advertise-peer-urls", &peer])
                .args(["--initial-cluster", &members.join(",")])
                .args(["--initial-cluster-state", "new"]),
        )?;
        service.processes.0.push(process);
    }
    await_first_grant(|| Etcd::connect(service.addresses[0]))?;
    for at in 0..MEMBERS {
        if Etcd::connect(service.addresses[at])?.leads()? {
            service.addresses.swap(0, at);
            return Ok(service);
        }
    }
    bail!("no member leads")
}

/// Waits until the service grants a name for the first time, and releases the name.
fn await_first_grant<E: Exchange>(connect: impl Fn() -> Result<E>) -> Result<()> {
    let began = Instant::now();
    loop {
        let granted = connect().and_then(|mut it| {
            it.request("keyfirst")?;
            it.wait()?;
            it.release("keyfirst")?;
            it.wait()
        });
        let Err(error) = granted else {
            return Ok(());
        };
        ensure!(
            began.elapsed() < START_TIMEOUT,
            "the service does not start: {error:#}"
        );
        thread::sleep(Duration::from_millis(100));
    }
}

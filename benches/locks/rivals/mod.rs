//! Compares ringd with the locks of etcd and Redis on the same segment (Debian's packages `etcd-server` and
//! `redis-server`).
//!
//! Each node's program keeps one connection open. With ringd the connection leads to the control socket. With etcd the
//! connection leads over HTTP to the member on the node (gRPC gateway, `/v3/lock`). With Redis the connection leads
//! over TCP to the server on a separate node. All daemons keep their data in memory (`/run`), so no disk affects the
//! results. The kernel chooses the CPUs of the daemons.

pub(crate) mod etcd;
pub(crate) mod redis;

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use nix::unistd::Pid;
use ring_segment::{Layout, NetNs, Node};
use tempfile::TempDir;

use crate::contest::{self, Contest, Lock, median, micros, percentile};
use crate::real::daemon::Daemon;
use crate::real::start::Start;

const NODES: usize = 3;
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

struct Sample {
    contest: Contest,
    alone: Vec<Duration>,
    alone_rate: f64,
}

/// Measures all services in turn and prints a table.
pub(crate) fn compare(ringd: &Path, times: usize, time: Duration) -> Result<()> {
    let layout = Layout::new(NODES + 1).addresses().without_capture();
    let segment = layout.bridge()?;
    for node in segment.nodes() {
        node.ns().ip("link set lo up\n")?;
    }
    let (nodes, redis) = (&segment.nodes()[..NODES], segment.node(NODES));
    let mut samples = [const { Vec::new() }; 3];
    for _ in 0..times {
        let daemons = Daemon::ring(&Start::default(), nodes, ringd, &[])?;
        samples[0].push(measure(|| crate::connect(&daemons), time)?);
        drop(daemons);
        let cluster = etcd::start(nodes)?;
        samples[1].push(measure(|| etcd::clients(nodes), time)?);
        drop(cluster);
        let server = redis::start(redis)?;
        samples[2].push(measure(|| redis::clients(nodes, redis), time)?);
        drop(server);
    }
    println!(
        "| | 3 nodes contend: per second | to another node | handover p50 | p99 | parts \
         | 1 node: p50 | p99 | per second |"
    );
    println!("|---|---:|---:|---:|---:|---|---:|---:|---:|");
    for (name, samples) in ["ringd", "etcd", "Redis"].iter().zip(&samples) {
        println!("{}", line(name, samples)?);
    }
    Ok(())
}

fn measure<L: Lock>(clients: impl Fn() -> Result<Vec<L>>, time: Duration) -> Result<Sample> {
    let contest = contest::contend(clients()?, time)?;
    let mut clients = clients()?;
    let (alone, alone_rate) = contest::measure_uncontended(&mut clients[0], time)?;
    Ok(Sample {
        contest,
        alone,
        alone_rate,
    })
}

fn line(name: &str, samples: &[Sample]) -> Result<String> {
    let at = |times: fn(&Sample) -> &[Duration], percent| {
        let each = samples.iter().map(|it| percentile(times(it), percent));
        let each: Vec<f64> = each.collect::<Result<_>>()?;
        Ok::<_, anyhow::Error>(micros(median(&each, |&it| it)))
    };
    let hand_overs: fn(&Sample) -> &[Duration] = |it| &it.contest.hand_overs;
    let alone: fn(&Sample) -> &[Duration] = |it| &it.alone;
    let parts = || samples.iter().map(|it| it.contest.parts);
    Ok(format!(
        "| {name} | {:.0} | {:.0} % | {} | {} | {:.2} to {:.2} | {} | {} | {:.0} |",
        median(samples, |it| it.contest.rate),
        median(samples, |it| it.contest.moved * 100.0),
        at(hand_overs, 50)?,
        at(hand_overs, 99)?,
        parts().map(|it| it.0).fold(1.0, f64::min),
        parts().map(|it| it.1).fold(1.0, f64::max),
        at(alone, 50)?,
        at(alone, 99)?,
        median(samples, |it| it.alone_rate),
    ))
}

/// Daemon with a separate data folder. The daemon is killed on drop.
#[derive(Debug)]
pub(crate) struct Server {
    ns: NetNs,
    command: Command,
    process: Child,
    folder: TempDir,
}

impl Server {
    /// Starts `program` from Debian's `package`. Appends the path of the data folder to the last of `options`.
    pub(crate) fn start(
        (program, package): (&str, &str),
        node: &Node,
        options: &[String],
    ) -> Result<Self> {
        let folder = tempfile::tempdir_in("/run").context("cannot make a folder in /run")?;
        let log = fs::File::create(folder.path().join("log"))?;
        let mut command = Command::new(program);
        command
            .args(options)
            .arg(folder.path())
            .stdin(Stdio::null());
        command.stdout(log.try_clone()?).stderr(log);
        let process = node.ns().spawn(&mut command);
        let process = process.map_err(|error| match error.downcast_ref::<io::Error>() {
            Some(why) if why.kind() == io::ErrorKind::NotFound => {
                anyhow!("{program} is not installed: install the package {package}")
            }
            _ => error,
        })?;
        Ok(Self {
            ns: node.ns().clone(),
            command,
            process,
            folder,
        })
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.process.id().cast_signed())
    }

    pub(crate) fn kill(&mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    pub(crate) fn restart(&mut self) -> Result<()> {
        self.process = self.ns.spawn(&mut self.command)?;
        Ok(())
    }

    pub(crate) fn log(&self) -> String {
        let text = fs::read(self.folder.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server may have exited already.
        let _ = self.kill();
    }
}

/// Retries `attempt` until it succeeds.
pub(crate) fn wait_for(mut attempt: impl FnMut() -> Result<()>) -> Result<()> {
    let deadline = Instant::now() + ANSWER_TIMEOUT;
    while let Err(error) = attempt() {
        if Instant::now() > deadline {
            return Err(error);
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

fn address(node: &Node) -> Result<Ipv4Addr> {
    node.ip().context("the node has no address")
}

/// Connects a node to the daemon at `to`.
fn connect(from: &Node, to: SocketAddrV4) -> Result<TcpStream> {
    let stream = from.ns().run(|| TcpStream::connect(to))?;
    let stream = stream.with_context(|| format!("cannot connect to {to}"))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

//! What others' locks cost on the same segment: Debian's packages `etcd-server` and `redis-server`.
//!
//! Each node's program talks to a daemon over a connection that stays open: to ringd over its
//! control socket, to etcd's member on its own node over HTTP (the gRPC gateway, `/v3/lock`), to
//! Redis, which is on a node of its own, over TCP. All daemons keep their data in memory (`/run`), so
//! that no disk is measured, and run on the CPUs that the kernel likes.

mod etcd;
mod redis;

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use tempfile::TempDir;

use crate::contest::{self, Contest, Lock, median, micros, percentile};
use crate::real::fabric::{Fabric, Kind, Place};
use crate::real::start::Start;

/// How many nodes contend.
const NODES: usize = 3;
/// How long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(100);

/// What one service came to.
struct Sample {
    contest: Contest,
    alone: Vec<Duration>,
    alone_rate: f64,
}

/// Measures all, in turn, with this `ringd`, and prints a table.
///
/// # Errors
/// Something is not installed, or does not start.
pub(crate) fn compare(ringd: &Path, times: usize, time: Duration) -> Result<()> {
    let fabric = Fabric::new(Kind::Bridge, NODES + 1)?;
    for (at, place) in fabric.places.iter().enumerate() {
        let address = address(at)?;
        let set_up = format!("link set lo up\naddress add {address}/24 dev eth0\n");
        place.ns.ip(&set_up)?;
    }
    let (nodes, redis) = (&fabric.places[..NODES], &fabric.places[NODES]);
    let mut samples = [const { Vec::new() }; 3];
    for _ in 0..times {
        let start = Start::default();
        let daemons = crate::daemons(ringd, nodes, &start)?;
        samples[0].push(measure(|| crate::connect(&daemons), time)?);
        drop(daemons);
        let cluster = etcd::Cluster::start(nodes)?;
        samples[1].push(measure(|| cluster.clients(nodes), time)?);
        drop(cluster);
        let server = redis::start(redis, NODES)?;
        samples[2].push(measure(|| redis::clients(nodes, NODES), time)?);
        drop(server);
    }
    println!(
        "| | 3 nodes contend: a second | to another node | hand-over p50 | p99 | parts | 1 alone: p50 | p99 | a second |"
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
    let (alone, alone_rate) = contest::alone(&mut clients[0], time)?;
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

/// The address of a node.
fn address(at: usize) -> Result<Ipv4Addr> {
    Ok(Ipv4Addr::new(10, 88, 0, u8::try_from(at + 1)?))
}

/// A daemon. It is killed when this is dropped.
struct Server {
    process: Child,
    _folder: TempDir,
}

impl Server {
    /// Starts `program`, which Debian has in `package`, with `options` and its data in a folder
    /// that `folder_option` names.
    fn start(
        (program, package): (&str, &str),
        at: usize,
        place: &Place,
        folder_option: &str,
        options: &[String],
    ) -> Result<Self> {
        let folder = tempfile::tempdir_in("/run").context("cannot make a folder in /run")?;
        let log = fs::File::create(folder.path().join("log"))?;
        let errors = log.try_clone()?;
        let process = Start::default().spawn(at, place, Path::new(program), |command| {
            command.arg(folder_option).arg(folder.path());
            command.args(options).stdin(Stdio::null());
            command.stdout(log).stderr(errors);
        });
        let process = process.map_err(|error| match error.downcast_ref::<io::Error>() {
            Some(why) if why.kind() == io::ErrorKind::NotFound => {
                anyhow!("{program} is not installed: install the package {package}")
            }
            _ => error,
        })?;
        Ok(Self {
            process,
            _folder: folder,
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A connection from a node to the daemon at `to`.
fn connect(from: &Place, to: SocketAddrV4) -> Result<TcpStream> {
    let stream = from.ns.run(|| TcpStream::connect(to))?;
    let stream = stream.with_context(|| format!("cannot connect to {to}"))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

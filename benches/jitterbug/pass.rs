//! Measures the latency of a pass, compared with a bare exchange of the same bytes.

use std::fs::{self, Permissions};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ring_codec::jitterbug::Node;
use serde_json::Value;

use super::median::median;
use super::nodes::{self, Token, address, address_all, listener, serve_floor};
use super::real::fabric::{Fabric, Kind, Place};

/// Number of rounds. Each round measures the pass and then each floor.
const ROUNDS: usize = 5;
/// Time for which a ring of two members passes its token.
const PASS_TIME: Duration = Duration::from_secs(1);

pub(crate) fn measure(passes: usize) -> Result<()> {
    println!("| data | pass, p50 | floor, p50 | ÷ | floor with an answer, p50 | ÷ |");
    println!("|---:|---:|---:|---:|---:|---:|");
    for len in [1, 1 << 10, 1 << 16] {
        println!("{}", measure_row(len, passes)?);
    }
    compare_keys()
}

/// Measures repeated passes of `len` bytes to a node that has a token before each pass.
fn measure_row(len: usize, passes: usize) -> Result<String> {
    let fabric = Fabric::new(Kind::Pair, 2)?;
    address_all(&fabric.places)?;
    // The node leads for so long that it does not pass the token during the measurement. The data that it gets are
    // equal to its own, so it computes nothing.
    let options = ["--renew-timeout", "1h", "--hold", "1h", "--compute", "cat"];
    let node = nodes::start(1, &fabric.places[1], &options)?;
    let status = nodes::wait_for_leader(&node)?;
    let to = listener(&status, 1)?;
    let own = Node {
        ip: to.ip(),
        port: to.port(),
    };
    let token = Token::new(1, &[own], &vec![b'7'; len]);
    let bare = Floor::start(&fabric.places[1], false)?;
    let answering = Floor::start(&fabric.places[1], true)?;
    let mut medians = [Vec::new(), Vec::new(), Vec::new()];
    let kinds: [&(dyn Fn() -> Result<()> + Sync); 3] =
        [&|| token.give(to), &|| token.send(bare.at), &|| {
            token.give(answering.at)
        }];
    for _ in 0..ROUNDS {
        for (medians, what) in medians.iter_mut().zip(kinds) {
            let measured = fabric.places[0].ns().run(|| time_each(passes, what))?;
            medians.push(median(measured?));
        }
    }
    for floor in [bare, answering] {
        fabric.places[0]
            .ns()
            .run(|| TcpStream::connect(floor.at))??;
        floor.thread.join().expect("the thread does not panic")?;
    }
    let [pass, bare, answering] = medians.map(median);
    let over = |floor: Duration| pass.as_secs_f64() / floor.as_secs_f64();
    Ok(format!(
        "| {len} | {pass:.1?} | {bare:.1?} | {:.2} | {answering:.1?} | {:.2} |",
        over(bare),
        over(answering)
    ))
}

fn time_each(count: usize, what: &dyn Fn() -> Result<()>) -> Result<Vec<Duration>> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        what()?;
        times.push(start.elapsed());
    }
    Ok(times)
}

struct Floor {
    at: SocketAddr,
    thread: thread::JoinHandle<std::io::Result<()>>,
}

impl Floor {
    fn start(place: &Place, answers: bool) -> Result<Self> {
        let listener = place.ns().run(|| TcpListener::bind((address(1), 0)))??;
        Ok(Self {
            at: listener.local_addr()?,
            thread: thread::spawn(move || serve_floor(&listener, answers)),
        })
    }
}

/// Measures a tenure of two nodes that only pass the token, without and with keys in turn.
fn compare_keys() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let key_file = folder.path().join("keys");
    fs::write(&key_file, format!("7 {}\n", "5e".repeat(32)))?;
    fs::set_permissions(&key_file, Permissions::from_mode(0o600))?;
    let key_file = key_file.to_str().context("a path of ASCII")?;
    let (mut plain, mut encrypted) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        plain.push(measure_ring_of_two(&["--hold", "0s"])?);
        encrypted.push(measure_ring_of_two(&[
            "--hold",
            "0s",
            "--key-file",
            key_file,
        ])?);
    }
    let (plain, encrypted) = (median(plain), median(encrypted));
    println!(
        "\nTwo nodes without a hold: {plain:.1?} per tenure on average, with computation and pass. With keys: \
         {encrypted:.1?}, {:.2} times as long.",
        encrypted.as_secs_f64() / plain.as_secs_f64()
    );
    Ok(())
}

/// Returns the average time of a tenure of two nodes that only pass the token.
fn measure_ring_of_two(options: &[&str]) -> Result<Duration> {
    let fabric = Fabric::new(Kind::Pair, 2)?;
    address_all(&fabric.places)?;
    let places = fabric.places.iter().enumerate();
    let nodes = places.map(|(at, place)| nodes::start(at, place, options));
    let nodes = nodes.collect::<Result<Vec<_>>>()?;
    for node in &nodes {
        node.wait_for("no ring", |status| passes_done(status) > 100)?;
    }
    let passes = || -> Result<u64> {
        Ok(passes_done(&nodes[0].status()?) + passes_done(&nodes[1].status()?))
    };
    let (before, start) = (passes()?, Instant::now());
    thread::sleep(PASS_TIME);
    let (after, took) = (passes()?, start.elapsed());
    let count = u32::try_from(after - before)?;
    took.checked_div(count).context("no token was passed")
}

fn passes_done(status: &Value) -> u64 {
    status["counters"]["passes_done"].as_u64().unwrap_or(0)
}

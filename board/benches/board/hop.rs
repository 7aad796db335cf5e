//! A hop of the token, compared with a bare echo of the same number of bytes.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ring_codec::andrews::{Frame, Message};
use ring_runtime::nice;

use super::nodes::{DatabaseKind, Ring, address, tokens_received};
use super::real::fabric::{Fabric, Kind as Wire};

/// The number of measurements of a hop. It is also the number of measurements of an echo. Measurements of hops and
/// echoes alternate.
const REPETITIONS: usize = 7;
const ECHOES: usize = 5_000;
const MEASUREMENT_TIME: Duration = Duration::from_millis(500);

pub(crate) fn measure() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let key_file = folder.path().join("keys");
    fs::write(&key_file, format!("7 {}\n", "5e".repeat(32)))?;
    fs::set_permissions(&key_file, Permissions::from_mode(0o600))?;
    let key_file = key_file.to_str().context("a path of ASCII")?;
    let without_keys = ["--hold", "0s"];
    let with_keys = ["--hold", "0s", "--key-file", key_file];
    let [mut hops, mut hops_with_keys, mut echoes] = [const { Vec::new() }; 3];
    for _ in 0..REPETITIONS {
        // The echo runs without the nodes, so that they do not compete for the processors.
        for (hops, options) in [
            (&mut hops, &without_keys[..]),
            (&mut hops_with_keys, &with_keys),
        ] {
            let ring = Ring::new(Wire::Pair, 2, DatabaseKind::Sqlite, options)?;
            hops.push(hop(&ring)?);
        }
        echoes.push(echo()?);
    }
    let (hop, hop_with_keys, echo) = (median(hops), median(hops_with_keys), median(echoes));
    println!(
        "Medians of {REPETITIONS} measurements: a hop takes {hop:.1?}, and a bare echo of as many bytes {echo:.1?}. \
         A hop takes {:.2} times as long. With keys, a hop takes {hop_with_keys:.1?}, {:.2} times as long as without \
         keys.",
        hop.as_secs_f64() / echo.as_secs_f64(),
        hop_with_keys.as_secs_f64() / hop.as_secs_f64(),
    );
    Ok(())
}

/// Returns the mean time from the token's arrival at a node to its arrival at the next node.
fn hop(ring: &Ring) -> Result<Duration> {
    let mut clients = [ring.client(0)?, ring.client(1)?];
    let mut count = || -> Result<u64> {
        let counts = clients
            .each_mut()
            .map(|client| client.status().map(|status| tokens_received(&status)));
        counts.into_iter().sum()
    };
    let (before, start) = (count()?, Instant::now());
    thread::sleep(MEASUREMENT_TIME);
    let (after, took) = (count()?, start.elapsed());
    let hops = u32::try_from(after - before)?;
    took.checked_div(hops).context("the token stands still")
}

/// Returns the mean time that a frame needs to travel to the other namespace and back.
fn echo() -> Result<Duration> {
    let fabric = Fabric::new(Wire::Pair, 2)?;
    for (at, place) in fabric.places.iter().enumerate() {
        let ip = address(at);
        place
            .ns()
            .ip(&format!("addr add {ip}/24 brd + dev eth0\n"))?;
    }
    let length = Frame {
        src_id: 1,
        message: Message::Token { sequence: 1 },
    }
    .encoded_len();
    let listener = fabric.places[1]
        .ns()
        .run(|| TcpListener::bind((address(1), 0)))??;
    let to = listener.local_addr()?;
    // The threads get the same priority as nodes. Otherwise a busy machine would slow down only the echo.
    let answers = thread::spawn(move || -> std::io::Result<()> {
        nice::raise_priority(nice::URGENT_NICE)?;
        let (mut stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        let mut frame = vec![0; length];
        for _ in 0..ECHOES {
            stream.read_exact(&mut frame)?;
            stream.write_all(&frame)?;
        }
        Ok(())
    });
    let mut stream = fabric.places[0].ns().run(|| TcpStream::connect(to))??;
    stream.set_nodelay(true)?;
    let asks = thread::spawn(move || -> Result<Duration> {
        nice::raise_priority(nice::URGENT_NICE)?;
        let mut frame = vec![0; length];
        let start = Instant::now();
        for _ in 0..ECHOES {
            stream.write_all(&frame)?;
            stream.read_exact(&mut frame)?;
        }
        Ok(start.elapsed() / u32::try_from(ECHOES)?)
    });
    let took = asks.join().expect("it does not panic")?;
    answers.join().expect("it does not panic")?;
    Ok(took)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

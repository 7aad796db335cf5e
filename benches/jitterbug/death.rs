//! Measures the time from a leader's death to the next leader.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ring_codec::jitterbug::Message;
use serde_json::Value;

use super::median::median;
use super::nodes::{self, address_all};
use super::real::client::Client;
use super::real::fabric::{Fabric, Kind};

const NODES: usize = 3;
/// `renew_timeout` + D, with the default values.
const FAILOVER_BOUND: Duration = Duration::from_millis(2_600);

pub(crate) fn measure(deaths: usize) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..deaths {
        times.push(measure_death()?);
    }
    times.sort_unstable();
    let (Some(least), Some(most)) = (times.first(), times.last()) else {
        return Ok(());
    };
    let median = median(times.clone());
    println!(
        "\n{deaths} leaders of {NODES} nodes died: the next led after {least:.2?} to {most:.2?}, \
         {median:.2?} in the median; renew_timeout + D is {FAILOVER_BOUND:?}."
    );
    Ok(())
}

fn measure_death() -> Result<Duration> {
    let fabric = Fabric::new(Kind::Bridge, NODES + 1)?;
    address_all(&fabric.places)?;
    let places = fabric.places.iter().enumerate().take(NODES);
    let nodes = places.map(|(at, place)| nodes::start(at, place, &[]));
    let mut nodes = nodes.collect::<Result<Vec<_>>>()?;
    for node in &nodes {
        node.wait_for("no ring", |status: &Value| {
            let known = status["nodes"].as_array().map(Vec::len);
            let taken = status["counters"]["taken"].as_u64();
            known == Some(NODES) && taken.is_some_and(|taken| taken > 2)
        })?;
    }
    let watcher = fabric.places[NODES]
        .ns()
        .run(|| UdpSocket::bind("0.0.0.0:57700"))??;
    watcher.set_read_timeout(Some(2 * FAILOVER_BOUND))?;
    // Only the leader may use the token, so the client gets the token when this node leads.
    let mut client = Client::connect(&nodes[0].control())?;
    client.ask()?;
    client.await_grant()?;
    watcher.set_nonblocking(true)?;
    while watcher.recv(&mut [0; 64]).is_ok() {}
    watcher.set_nonblocking(false)?;
    let start = Instant::now();
    nodes[0].process.kill()?;
    loop {
        let mut room = [0; 64];
        let len = watcher.recv(&mut room).context("no node leads")?;
        let message = Message::decode_datagram(&room[..len])?;
        if let Message::Tr1 { token_id, .. } = message
            && token_id.is_leader()
        {
            let took = start.elapsed();
            ensure!(took < 2 * FAILOVER_BOUND, "{took:?}");
            return Ok(took);
        }
    }
}

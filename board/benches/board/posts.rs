//! Posts per second.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::nodes::{DatabaseKind, Ring};
use super::real::fabric::Kind as Wire;

const MEASUREMENT_TIME: Duration = Duration::from_secs(2);
const CLIENTS_PER_BUSY_NODE: usize = 16;

pub(crate) fn measure(kind: DatabaseKind, sizes: &[usize]) -> Result<()> {
    println!(
        "| nodes | hold | one client | one at each node | {CLIENTS_PER_BUSY_NODE} at each node |"
    );
    println!("|---:|---:|---:|---:|---:|");
    for &nodes in sizes {
        for hold in ["0s", "10ms", "50ms"] {
            let options = ["--hold", hold, "--post-rate", "1GiB"];
            let ring = Ring::new(Wire::Bridge, nodes, kind, &options)?;
            let one = rate(&ring, &[0])?;
            let each: Vec<usize> = (0..ring.len()).collect();
            let many: Vec<usize> = each.repeat(CLIENTS_PER_BUSY_NODE);
            let (each, many) = (rate(&ring, &each)?, rate(&ring, &many)?);
            println!("| {nodes} | {hold} | {one:.0} | {each:.0} | {many:.0} |");
        }
    }
    Ok(())
}

/// Returns the posts per second that clients write together. One client writes at each of these nodes.
#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52")]
fn rate(ring: &Ring, places: &[usize]) -> Result<f64> {
    let clients: Result<Vec<_>> = places.iter().map(|&at| ring.client(at)).collect();
    let is_over = &AtomicBool::new(false);
    let start = Instant::now();
    let counts = thread::scope(|scope| {
        let writers: Vec<_> = clients?
            .into_iter()
            .map(|mut client| {
                scope.spawn(move || -> Result<u64> {
                    let mut count = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        // A busy machine may be late. So after a 503, a client sends its request again.
                        count += u64::from(client.post("a post of this bench")?);
                    }
                    Ok(count)
                })
            })
            .collect();
        thread::sleep(MEASUREMENT_TIME);
        is_over.store(true, Ordering::Relaxed);
        let counts = writers.into_iter().map(thread::ScopedJoinHandle::join);
        counts
            .map(|count| count.expect("it does not panic"))
            .sum::<Result<u64>>()
    })?;
    Ok(counts as f64 / start.elapsed().as_secs_f64())
}

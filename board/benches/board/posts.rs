//! Posts a second.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::nodes::{Kind, Ring};
use super::real::fabric::Kind as Wire;

const TIME: Duration = Duration::from_secs(2);
/// How many clients write at a node that is busy.
const CROWD: usize = 16;

pub(crate) fn measure(kind: Kind, sizes: &[usize]) -> Result<()> {
    println!("| nodes | hold | one client | one at each node | {CROWD} at each node |");
    println!("|---:|---:|---:|---:|---:|");
    for &nodes in sizes {
        for hold in ["0s", "10ms", "50ms"] {
            let options = ["--hold", hold, "--post-rate", "1GiB"];
            let ring = Ring::new(Wire::Bridge, nodes, kind, &options)?;
            let one = rate(&ring, &[0])?;
            let each: Vec<usize> = (0..ring.len()).collect();
            let crowd: Vec<usize> = each.repeat(CROWD);
            let (each, crowd) = (rate(&ring, &each)?, rate(&ring, &crowd)?);
            println!("| {nodes} | {hold} | {one:.0} | {each:.0} | {crowd:.0} |");
        }
    }
    Ok(())
}

/// Posts a second of clients at these nodes.
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
                        // A busy machine may be late: who hears 503 asks again.
                        count += u64::from(client.post("a post of this bench")?);
                    }
                    Ok(count)
                })
            })
            .collect();
        thread::sleep(TIME);
        is_over.store(true, Ordering::Relaxed);
        let counts = writers.into_iter().map(thread::ScopedJoinHandle::join);
        counts
            .map(|count| count.expect("it does not panic"))
            .sum::<Result<u64>>()
    })?;
    Ok(counts as f64 / start.elapsed().as_secs_f64())
}

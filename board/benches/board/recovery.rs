//! The time from a death until the ring works again.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::nodes::{DatabaseKind, Ring, is_led_by, tokens_received};
use super::real::fabric::Kind as Wire;

const NODES: usize = 5;
/// If a node held the token within this time, it cannot get the token again at once, because a rotation takes 5 × 50
/// ms.
const LATELY_MS: u64 = 100;
/// A pause that is slightly longer than 2 × T1. A node starts no second election within 2 × T1.
const ELECTION_PAUSE: Duration = Duration::from_millis(2_500);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Member,
    Coordinator,
    /// A member that holds the token.
    Holder,
}

pub(crate) fn measure(deaths: usize) -> Result<()> {
    println!(
        "| election | who dies | the token goes on after | the largest is coordinator after |"
    );
    println!("|---|---|---:|---:|");
    for method in ["ring", "chang-roberts", "bully"] {
        let mut ring = Ring::new(
            Wire::Bridge,
            NODES,
            DatabaseKind::Sqlite,
            &["--election", method],
        )?;
        for victim in [Victim::Member, Victim::Coordinator, Victim::Holder] {
            let (mut goes_on, mut led) = (Vec::new(), Vec::new());
            for _ in 0..deaths {
                let times = die(&mut ring, victim)?;
                goes_on.push(times.0);
                led.push(times.1);
            }
            let who = match victim {
                Victim::Member => "a member",
                Victim::Coordinator => "the coordinator",
                Victim::Holder => "a member with the token",
            };
            let led = if victim == Victim::Coordinator {
                median_and_range(led)
            } else {
                String::new()
            };
            println!(
                "| {method} | {who} | {} | {led} |",
                median_and_range(goes_on)
            );
        }
    }
    Ok(())
}

/// Kills a node and starts it again. Returns two times, both measured from the node's death. The first time lasts until
/// each other node has held the token one more time. The second time lasts until the node with the largest id is
/// coordinator.
fn die(ring: &mut Ring, victim: Victim) -> Result<(Duration, Duration)> {
    let at = match victim {
        Victim::Coordinator => NODES - 1,
        Victim::Member | Victim::Holder => NODES / 2,
    };
    let others: Vec<usize> = (0..NODES).filter(|&other| other != at).collect();
    if victim == Victim::Coordinator {
        ring.wait(at, |status| is_led_by(status, NODES))?;
        thread::sleep(ELECTION_PAUSE);
    }
    ring.wait(at, |status| {
        let token = &status["token"];
        let was_here = token["seen_ms"].as_u64().is_some_and(|ago| ago < LATELY_MS);
        token["held"] == (victim == Victim::Holder) && was_here
    })?;
    ring.kill(at)?;
    let start = Instant::now();
    let counts = others.iter().map(|&other| ring.wait(other, |_| true));
    let before: Vec<u64> = counts
        .map(|status| Ok(tokens_received(&status?)))
        .collect::<Result<_>>()?;
    for (&other, before) in others.iter().zip(before) {
        ring.wait(other, |status| tokens_received(status) > before)?;
    }
    let goes_on = start.elapsed();
    let largest = if at == NODES - 1 { NODES - 1 } else { NODES };
    // Ask the winner, because other nodes may read the coordinator's row one poll later.
    ring.wait(largest - 1, |status| is_led_by(status, largest))?;
    let led = start.elapsed();
    ring.start(at)?;
    Ok((goes_on, led))
}

/// Returns a text with the median, the minimum and the maximum.
fn median_and_range(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let (Some(least), Some(most)) = (times.first(), times.last()) else {
        return String::new();
    };
    let middle = times[times.len() / 2];
    format!("{middle:.2?} ({least:.2?} to {most:.2?})")
}

//! Measures elections of one method in rings of one size. One node or all nodes start an election.

use std::time::Duration;

use anyhow::Result;
use ring_codec::andrews::Method;
use ring_sim::kernel::rng::{Rng, Stream};

use super::ring::{Cost, HOP_TIME, Ring};

/// Number of random orders of the nodes. The mean is computed over these orders.
const RANDOM_ORDERS: u64 = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// One node starts the election. Every node is measured in turn.
    One,
    /// All nodes start an election at the same time. Several orders of the nodes are measured.
    All,
}

impl Start {
    pub(crate) const BOTH: [Self; 2] = [Self::One, Self::All];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::All => "all",
        }
    }
}

/// Minimum, mean and maximum.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread(pub [f64; 3]);

impl Spread {
    pub(crate) const NAMES: [&'static str; 3] = ["best", "mean", "worst"];

    /// Returns the minimum and the maximum of `all`, and the mean of `drawn`. `drawn` contains the values of the random
    /// orders.
    #[expect(clippy::cast_precision_loss, reason = "less than 2^52")]
    fn of(all: &[f64], drawn: &[f64]) -> Self {
        let least = all.iter().copied().fold(f64::MAX, f64::min);
        let most = all.iter().copied().fold(0.0, f64::max);
        Self([least, drawn.iter().sum::<f64>() / drawn.len() as f64, most])
    }
}

/// Cost of elections of one method in rings of one size.
#[derive(Debug)]
pub(crate) struct Measured {
    pub method: Method,
    pub start: Start,
    pub nodes: usize,
    pub messages: Spread,
    pub time: Spread,
}

pub(crate) fn all(nodes: usize) -> Result<Vec<Measured>> {
    let mut all = Vec::new();
    for method in [Method::RingBased, Method::ChangRoberts, Method::Bully] {
        for start in Start::BOTH {
            let (costs, drawn) = match start {
                Start::One => measure_single_starts(method, nodes)?,
                Start::All => measure_simultaneous_starts(method, nodes)?,
            };
            let spread = |of: fn(&Cost) -> f64| {
                Spread::of(&values(&costs, of), &values(&costs[drawn..], of))
            };
            all.push(Measured {
                method,
                start,
                nodes,
                messages: spread(messages),
                time: spread(hops),
            });
        }
    }
    Ok(all)
}

fn values(costs: &[Cost], of: fn(&Cost) -> f64) -> Vec<f64> {
    costs.iter().map(of).collect()
}

#[expect(clippy::cast_precision_loss, reason = "less than 2^52")]
fn messages(cost: &Cost) -> f64 {
    cost.messages as f64
}

fn hops(cost: &Cost) -> f64 {
    // In this simulation only hops and transactions take time. Computation takes no time.
    Duration::as_secs_f64(&cost.time) / HOP_TIME.as_secs_f64()
}

/// Starts an election at each node in turn. In every order of the nodes, the starting nodes have the same distances to
/// the largest id. So one order is enough.
fn measure_single_starts(method: Method, nodes: usize) -> Result<(Vec<Cost>, usize)> {
    let mut ring = Ring::new(method, &random_ids(nodes, 0))?;
    let costs: Result<_> = (0..nodes).map(|place| ring.start_at(place)).collect();
    Ok((costs?, 0))
}

/// Starts elections at all nodes at once, in rings with ascending ids, descending ids and random orders.
fn measure_simultaneous_starts(method: Method, nodes: usize) -> Result<(Vec<Cost>, usize)> {
    let ascending = drawn_from(nodes);
    let descending = ascending.iter().rev().copied().collect();
    let orders = (1..=RANDOM_ORDERS).map(|seed| random_ids(nodes, seed));
    let costs: Result<_> = [ascending, descending]
        .into_iter()
        .chain(orders)
        .map(|ids| Ring::new(method, &ids)?.start_at_all())
        .collect();
    Ok((costs?, 2))
}

fn drawn_from(nodes: usize) -> Vec<u32> {
    (1..).take(nodes).collect()
}

fn random_ids(nodes: usize, seed: u64) -> Vec<u32> {
    let mut rng = Rng::new(seed, Stream::Plan);
    let mut ids = drawn_from(nodes);
    for at in (1..nodes).rev() {
        ids.swap(at, rng.index(at + 1));
    }
    ids
}

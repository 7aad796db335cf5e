//! Elections of one method in rings of one size, started by one node or by all.

use std::time::Duration;

use anyhow::Result;
use ring_codec::andrews::Method;
use ring_sim::kernel::rng::{Rng, Stream};

use super::ring::{Cost, HOP, Ring};

/// Orders in which nodes follow one another that are drawn for a mean.
const ORDERS: u64 = 30;

/// Who starts an election.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// One node: each in turn.
    One,
    /// All in the same instant, in several orders.
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

/// The least, the mean and the most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread(pub [f64; 3]);

impl Spread {
    pub(crate) const NAMES: [&'static str; 3] = ["best", "mean", "worst"];

    /// The extremes of all, and the mean of those that were drawn.
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52")]
    fn of(all: &[f64], drawn: &[f64]) -> Self {
        let least = all.iter().copied().fold(f64::MAX, f64::min);
        let most = all.iter().copied().fold(0.0, f64::max);
        Self([least, drawn.iter().sum::<f64>() / drawn.len() as f64, most])
    }
}

/// What elections of one method cost in rings of one size.
#[derive(Debug)]
pub(crate) struct Measured {
    pub method: Method,
    pub start: Start,
    pub nodes: usize,
    pub messages: Spread,
    /// In hops.
    pub time: Spread,
}

pub(crate) fn all(nodes: usize) -> Result<Vec<Measured>> {
    let mut all = Vec::new();
    for method in [Method::RingBased, Method::ChangRoberts, Method::Bully] {
        for start in Start::BOTH {
            let (costs, drawn) = match start {
                Start::One => one(method, nodes)?,
                Start::All => at_once(method, nodes)?,
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

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52")]
fn messages(cost: &Cost) -> f64 {
    cost.messages as f64
}

fn hops(cost: &Cost) -> f64 {
    // Computing takes no time, transactions do.
    Duration::as_secs_f64(&cost.time) / HOP.as_secs_f64()
}

/// Every node starts one: however they follow one another, each distance from the largest is there once.
fn one(method: Method, nodes: usize) -> Result<(Vec<Cost>, usize)> {
    let mut ring = Ring::new(method, &drawn(nodes, 0))?;
    let costs: Result<_> = (0..nodes).map(|place| ring.start_at(place)).collect();
    Ok((costs?, 0))
}

/// Ascending ids, descending ones, then orders that are drawn.
fn at_once(method: Method, nodes: usize) -> Result<(Vec<Cost>, usize)> {
    let ascending = drawn_from(nodes);
    let descending = ascending.iter().rev().copied().collect();
    let orders = (1..=ORDERS).map(|seed| drawn(nodes, seed));
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

/// Ids in an order that is drawn.
fn drawn(nodes: usize, seed: u64) -> Vec<u32> {
    let mut rng = Rng::new(seed, Stream::Plan);
    let mut ids = drawn_from(nodes);
    for at in (1..nodes).rev() {
        ids.swap(at, rng.index(at + 1));
    }
    ids
}

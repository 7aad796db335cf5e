//! Measures in memory how the numbers of restores, datagrams and passes grow with the number of nodes.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_proto::jitterbug::{Options, State};

use super::chart;
use super::ring::{Count, Ring};

const ELECTION_LIMIT: Duration = Duration::from_secs(60);
/// Time in which the list of nodes reaches all nodes of the ring.
const REST_TIME: Duration = Duration::from_secs(10);
const IDLE_TIME: Duration = Duration::from_secs(10);

/// Cost of rings of one size.
#[derive(Debug)]
pub(crate) struct Growth {
    nodes: usize,
    form: Cost,
    fail_over: Cost,
    idle: Cost,
}

#[derive(Debug, Clone, Copy)]
struct Cost {
    time: Duration,
    sent: Count,
}

/// Name of an action, and its cost.
type Action = (&'static str, fn(&Growth) -> &Cost);
/// Name of a curve, and its values.
type Curve = (&'static str, fn(&Growth) -> f64);
/// A chart: file, label of the vertical axis, and curves.
type Chart<'a> = (&'a str, &'a str, &'a [Curve]);

pub(crate) fn measure(nodes: usize) -> Result<Growth> {
    let mut ring = Ring::new(nodes, Options::default());
    let start = (ring.now(), Count::default());
    ring.leader(ELECTION_LIMIT).context("no node is elected")?;
    let form = cost(&ring, start);
    ring.run(REST_TIME);
    let lost = ring.has_state(State::Orphan);
    ensure!(
        lost == 0,
        "{lost} of {nodes} nodes are orphans in a ring at rest"
    );
    let start = (ring.now(), ring.count());
    ring.run(IDLE_TIME);
    let idle = cost(&ring, start);
    let leader = ring.leader(ELECTION_LIMIT).context("the token is lost")?;
    ring.kill(leader);
    let start = (ring.now(), ring.count());
    ring.leader(ELECTION_LIMIT).context("no node takes over")?;
    Ok(Growth {
        nodes,
        form,
        idle,
        fail_over: cost(&ring, start),
    })
}

fn cost(ring: &Ring, (from, before): (Duration, Count)) -> Cost {
    let after = ring.count();
    Cost {
        time: ring.now().saturating_sub(from),
        sent: Count {
            broadcast: after.broadcast - before.broadcast,
            unicast: after.unicast - before.unicast,
            passes: after.passes - before.passes,
            restores: after.restores - before.restores,
        },
    }
}

impl Cost {
    #[expect(clippy::cast_precision_loss, reason = "less than 2^52")]
    fn datagrams(&self) -> f64 {
        (self.sent.broadcast + self.sent.unicast) as f64
    }

    #[expect(clippy::cast_precision_loss, reason = "less than 2^52")]
    fn passes(&self) -> f64 {
        self.sent.passes as f64 / self.time.as_secs_f64()
    }
}

pub(crate) fn table(all: &[Growth]) -> String {
    let mut text = "| | nodes | restores | datagrams to all | to one | time |\n".to_owned();
    text += "|---|---:|---:|---:|---:|---:|\n";
    let feats: [Action; 2] = [
        ("start", |it| &it.form),
        ("a leader's death", |it| &it.fail_over),
    ];
    for (name, of) in feats {
        for growth in all {
            let Cost { time, sent } = of(growth);
            let Count {
                broadcast,
                unicast,
                restores,
                ..
            } = sent;
            let (nodes, time) = (growth.nodes, time.as_secs_f64());
            let _ = writeln!(
                text,
                "| {name} | {nodes} | {restores} | {broadcast} | {unicast} | {time:.2} s |"
            );
        }
    }
    text += "\n| idle, nodes | passes per second | messages per second on connections | datagrams per second |\n";
    text += "|---:|---:|---:|---:|\n";
    for growth in all {
        let passes = growth.idle.passes();
        let datagrams = growth.idle.datagrams() / growth.idle.time.as_secs_f64();
        let _ = writeln!(
            text,
            "| {} | {passes:.1} | {:.1} | {datagrams:.1} |",
            growth.nodes,
            3.0 * passes
        );
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "less than 2^52")]
pub(crate) fn draw(all: &[Growth], folder: &Path) -> Result<()> {
    let charts: [Chart<'_>; 3] = [
        (
            "jitterbug-datagrams.svg",
            "datagrams until there is a leader",
            &[
                ("start", |it| it.form.datagrams()),
                ("leader's death", |it| it.fail_over.datagrams()),
            ],
        ),
        (
            "jitterbug-restores.svg",
            "restores until there is a leader",
            &[
                ("start", |it| it.form.sent.restores as f64),
                ("leader's death", |it| it.fail_over.sent.restores as f64),
            ],
        ),
        (
            "jitterbug-idle.svg",
            "passes per second, idle",
            &[("idle", |it| it.idle.passes())],
        ),
    ];
    for (file, what, of) in charts {
        let curve = |(color, (name, value)): (usize, &Curve)| {
            let points = all.iter().map(|it| (it.nodes as f64, value(it)));
            chart::Curve::new(name, color, points.collect())
        };
        let curves: Vec<chart::Curve> = of.iter().enumerate().map(curve).collect();
        chart::draw(&folder.join(file), ["nodes", what], &curves)?;
    }
    Ok(())
}

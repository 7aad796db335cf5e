//! Compares named locks with the token of the ring, and with etcd and Redis.
//!
//! Each node has one daemon. The rings of all builds run all the time, each on a separate segment. All locks are
//! measured in turn.

mod client;
pub(crate) mod full;
mod latency;
mod load;
mod throughput;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use ring_control::lab2::Grade;
use ring_segment::{Layout, Node, Segment};

use crate::contest::{Lock, median};
use crate::real::daemon::Daemon;
use crate::real::fabric::{Fabric, Kind};
use crate::real::start::Start;
use crate::rivals::{etcd, redis};
use client::Subject;
pub(crate) use client::lock_name;
use latency::{Latencies, SITUATIONS, Times, connect, measure_ring, measure_rival};
use load::{Load, Work};
pub(crate) use throughput::ByName;
use throughput::PROGRAMS_PER_NODE;

const NODES: usize = 3;
const GRADES: [Grade; 2] = [Grade::Alone, Grade::Quorum];

/// Compare named locks with the token.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Number of measurements of each lock, in turn.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Time of each measurement.
    #[arg(long, default_value = "300ms")]
    time: humantime::Duration,
    /// Also measure etcd and Redis.
    #[arg(long)]
    rivals: bool,
    /// Another build of `ringd` (may be repeated). Builds are measured in turn.
    #[arg(long, default_value = env!("CARGO_BIN_EXE_ringd"))]
    ringd: Vec<PathBuf>,
    /// Measure each build also with this `ringd` option.
    #[arg(long)]
    busy_poll: Option<String>,
}

/// Samples of one lock.
#[derive(Debug, Default)]
struct Column {
    name: String,
    latencies: Vec<Latencies>,
    /// Samples of many programs with random names.
    random: Vec<Load>,
    /// Samples of a thousand programs that hold their locks.
    held: Vec<Load>,
}

impl Column {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }
}

/// A ring, and the columns of its token and its named locks at each grade.
struct Ring {
    /// The build of its daemons, and their option.
    title: String,
    _fabric: Fabric,
    daemons: Vec<Daemon>,
    columns: Vec<(Subject, Grade, Column)>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    ring_segment::enter()?;
    let time: Duration = options.time.into();
    let mut rings = Vec::new();
    for ringd in &options.ringd {
        rings.push(Ring::start(ringd, None)?);
        if let Some(busy_poll) = &options.busy_poll {
            rings.push(Ring::start(ringd, Some(busy_poll))?);
        }
    }
    let rivals = options.rivals.then(Rivals::new).transpose()?;
    let mut others = [Column::new("etcd"), Column::new("Redis")];
    for _ in 0..options.rounds {
        for ring in &mut rings {
            ring.measure(time)?;
        }
        if let Some(rivals) = &rivals {
            rivals.measure(&mut others, time)?;
        }
    }
    let others = if options.rivals { &others[..] } else { &[] };
    for ring in &rings {
        if rings.len() > 1 {
            println!("\n{}:\n", ring.title);
        }
        let own = ring.columns.iter().map(|(_, _, column)| column);
        let columns: Vec<_> = own.chain(others).collect();
        print(&columns);
    }
    Ok(())
}

impl Ring {
    fn start(ringd: &Path, busy_poll: Option<&str>) -> Result<Self> {
        let fabric = Fabric::new(Kind::Bridge, NODES)?;
        let size = NODES.to_string();
        let mut options = vec!["--ring-size", &size];
        let mut title = ringd.display().to_string();
        if let Some(busy_poll) = busy_poll {
            options.extend(["--busy-poll", busy_poll]);
            title.push_str(" --busy-poll ");
            title.push_str(busy_poll);
        }
        let daemons = Daemon::ring(&Start::default(), &fabric.places, ringd, &options)?;
        let mut columns = Vec::new();
        for grade in GRADES {
            for (subject, what) in [(Subject::Token, "token"), (Subject::Name, "name")] {
                // After its start, a ring grants no named lock for some seconds.
                for mut client in connect(&daemons, subject, grade)? {
                    client.lock()?;
                    client.unlock()?;
                }
                let column = Column::new(&format!("{what}, {}", grade.name()));
                columns.push((subject, grade, column));
            }
        }
        Ok(Self {
            title,
            _fabric: fabric,
            daemons,
            columns,
        })
    }

    fn measure(&mut self, time: Duration) -> Result<()> {
        let daemons = &self.daemons;
        for (subject, grade, column) in &mut self.columns {
            let latencies = measure_ring(daemons, *subject, *grade, time)?;
            column.latencies.push(latencies);
            if *subject == Subject::Name {
                column
                    .random
                    .push(load::take_random(daemons, *grade, time)?);
                column.held.push(load::take_held(daemons, *grade, time)?);
            }
        }
        Ok(())
    }
}

/// Segment of etcd and Redis. The server of Redis has a separate node.
struct Rivals {
    segment: Segment,
}

impl Rivals {
    fn new() -> Result<Self> {
        let layout = Layout::new(NODES + 1).addresses().without_capture();
        let segment = layout.bridge()?;
        for node in segment.nodes() {
            node.ns().ip("link set lo up\n")?;
        }
        Ok(Self { segment })
    }

    fn measure(&self, [etcd, redis]: &mut [Column; 2], time: Duration) -> Result<()> {
        let (nodes, server) = (&self.segment.nodes()[..NODES], self.segment.node(NODES));
        let members = etcd::start(nodes)?;
        measure_column(etcd, nodes, etcd::clients, time)?;
        drop(members);
        let process = redis::start(server)?;
        measure_column(redis, nodes, |nodes| redis::clients(nodes, server), time)?;
        drop(process);
        Ok(())
    }
}

fn measure_column<L: ByName>(
    column: &mut Column,
    nodes: &[Node],
    clients: impl Fn(&[Node]) -> Result<Vec<L>>,
    time: Duration,
) -> Result<()> {
    column
        .latencies
        .push(measure_rival(|| clients(nodes), time)?);
    let programs = nodes.iter().cycle().take(nodes.len() * PROGRAMS_PER_NODE);
    let programs: Vec<Node> = programs.cloned().collect();
    let load = load::take_from_rival(clients(&programs)?, time)?;
    column.random.push(load);
    Ok(())
}

/// Prints one table. Times without a unit are in microseconds.
fn print(columns: &[&Column]) {
    let names: Vec<_> = columns.iter().map(|it| it.name.as_str()).collect();
    println!(
        "| µs: p50 (p99) | {} | name ÷ token, p50 |",
        names.join(" | ")
    );
    println!("|---|{}---|", "---:|".repeat(columns.len()));
    for (at, (situation, compared)) in SITUATIONS.into_iter().enumerate() {
        let cells = columns
            .iter()
            .map(|column| times(column.latencies.iter().filter_map(|it| it[at])));
        let cells: Vec<_> = cells.collect();
        println!(
            "| {situation} | {} | {} |",
            cells.join(" | "),
            ratios(columns, at, compared)
        );
    }
    let random = format!("{} programs, random names", NODES * PROGRAMS_PER_NODE);
    let held = format!("{} programs, one name each", throughput::NAMES);
    let loads: [(_, LoadsOf); 2] = [(random, |it| &it.random), (held, |it| &it.held)];
    for (programs, loads) in loads {
        for (figure, text) in FIGURES {
            let cells = columns.iter().map(|column| match loads(column) {
                [] => "-".to_owned(),
                loads => text(loads),
            });
            let cells: Vec<_> = cells.collect();
            println!("| {programs}: {figure} | {} | |", cells.join(" | "));
        }
    }
}

/// Function that chooses some loads of a column.
type LoadsOf = fn(&Column) -> &[Load];

/// Function that returns the text of a figure. The figure is the median of the loads.
type Figure = fn(&[Load]) -> String;

/// Figures of many programs.
const FIGURES: [(&str, Figure); 6] = [
    ("takes per second", |loads| {
        format!("{:.0}", median(loads, |it| it.rate))
    }),
    ("take", |loads| times(loads.iter().map(|it| it.times))),
    ("CPU of all daemons per take", |loads| {
        work(loads, |it| it.daemons / 1e3)
    }),
    ("CPU of the program per take", |loads| {
        work(loads, |it| it.programs / 1e3)
    }),
    ("busiest daemon, % of a core", |loads| {
        work(loads, |it| it.busiest * 100.0)
    }),
    ("frames per take", |loads| work(loads, |it| it.frames)),
];

/// Returns for each grade the ratio between the times of the named lock and of the token. `compared` is the situation
/// of the token.
fn ratios(columns: &[&Column], situation: usize, compared: usize) -> String {
    let mut ratios = Vec::new();
    for (pair, grade) in columns.chunks_exact(2).zip(GRADES) {
        let [token, name] = [0, 1].map(|at| &pair[at].latencies);
        let rounds = token.iter().zip(name);
        let values =
            rounds.filter_map(|(token, name)| Some(name[situation]?.p50 / token[compared]?.p50));
        let values: Vec<f64> = values.collect();
        ratios.push(format!(
            "{:.2} ({})",
            median(&values, |it| *it),
            grade.name()
        ));
    }
    ratios.join(", ")
}

fn times(samples: impl Iterator<Item = Times>) -> String {
    let samples: Vec<_> = samples.collect();
    if samples.is_empty() {
        return "-".to_owned();
    }
    let micros = |value| median(&samples, value) / 1e3;
    format!("{:.1} ({:.0})", micros(|it| it.p50), micros(|it| it.p99))
}

/// Returns a figure of the work. It is unknown for other systems.
fn work(loads: &[Load], value: fn(&Work) -> f64) -> String {
    let works: Vec<_> = loads.iter().filter_map(|it| it.work).collect();
    if works.is_empty() {
        return "-".to_owned();
    }
    format!("{:.1}", median(&works, value))
}

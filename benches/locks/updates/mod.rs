//! Lock-set test, which counts the updates that are lost under a lock during faults. Jepsen uses the same test for
//! etcd's locks.
//!
//! The nodes are network namespaces on a bridge, and share one kernel.

mod faults;
mod locks;
mod processes;
mod trial;

use std::ops::Range;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, ValueEnum, value_parser};
use ring_segment::Rng;

use faults::Fault;
use locks::{Lock, Locks, Target};
pub(crate) use trial::Addition;

/// Count the updates that are lost under a lock during faults.
///
/// Two clients on every node add elements to a set in a shared file. Each client takes the lock, reads the set and
/// works for a while. Then it writes the set with its new element, and releases the lock. With --names, there are
/// several sets with separate locks, and each client chooses a set at random. During this time, faults affect nodes
/// whose clients are at work. Each fault lasts longer than every timeout. At the end, a set must contain every element
/// whose client exited with 0. A missing element is a lost update: two clients held the same lock at the same time.
///
/// Exit codes: 0 if no update is lost, 1 if updates are lost, 2 or 101 if the run itself fails.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Lock that the clients use.
    #[arg(long = "with", value_name = "LOCK")]
    lock: Lock,
    /// Faults. Each fault gets a new set, and lasts for SECONDS.
    #[arg(long, value_delimiter = ',', default_value = "all")]
    faults: Vec<Fault>,
    /// Number of named locks, each with a set [default: one lock, which is the ring's token for ringd]
    #[arg(long, value_parser = value_parser!(u8).range(1..))]
    names: Option<u8>,
    /// Number of nodes. Etcd usually has 3.
    #[arg(long, default_value_t = 5, value_parser = value_parser!(u8).range(2..=200))]
    nodes: u8,
    /// Time for each fault.
    #[arg(long, default_value_t = 20.0)]
    seconds: f64,
    /// Seed of all random choices [default: random]
    #[arg(long)]
    seed: Option<u64>,
}

impl Options {
    /// Returns the faults to cause. Exits if a fault cannot affect this lock.
    fn kinds(&self, target: &Target) -> Vec<Fault> {
        let mut known = target.fault_settings().0.to_vec();
        if known.len() > 1 {
            known.push(Fault::Mixed);
        }
        if self.faults.contains(&Fault::All) {
            return known;
        }
        if let Some(fault) = self.faults.iter().find(|fault| !known.contains(fault)) {
            let text = format!(
                "the fault {} cannot affect the lock {}\n",
                name(fault),
                name(&self.lock)
            );
            let error = crate::Options::command().error(ErrorKind::InvalidValue, text);
            error.exit();
        }
        self.faults.clone()
    }
}

pub(crate) fn run(options: &Options) -> ExitCode {
    match count_lost(options) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn count_lost(options: &Options) -> Result<usize> {
    let target = Target::new(options.lock, options.names);
    let (kinds, nodes) = (options.kinds(&target), usize::from(options.nodes));
    ring_segment::enter_beside_others()?;
    let seed = options.seed.unwrap_or_else(|| Rng::new().u64(..1_000_000));
    let mut chance = Rng::with_seed(seed);
    let locks = Locks::start(target, nodes)?;
    let time = Duration::from_secs_f64(options.seconds);
    let (lock, sets) = (name(&options.lock), locks.target.sets.len());
    println!("{lock}: {nodes} nodes, {sets} sets, {time:?} a fault, seed {seed}\n");
    println!("| fault | times | tried | acknowledged | lost | unconfirmed |");
    println!("|---|---:|---:|---:|---:|---:|");
    let (mut all, mut losses) = (0, Vec::new());
    for kind in kinds {
        let outcome = trial::run(&locks, kind, time, &mut chance);
        let outcome = outcome.map_err(|error| error.context(locks.log_tails()))?;
        let trial::Outcome {
            faults,
            tried,
            acknowledged,
            lost,
            unconfirmed,
        } = outcome;
        let (fault, times, count) = (name(&kind), faults.len(), lost.len());
        println!("| {fault} | {times} | {tried} | {acknowledged} | {count} | {unconfirmed} |");
        let is_tried = acknowledged > 0 && (kind == Fault::None || times > 0);
        ensure!(
            is_tried,
            "no client tried to add an element\n{}",
            locks.log_tails()
        );
        all += count;
        for (element, at) in lost.iter().take(3) {
            let before = faults.iter().rfind(|fault| fault.0 < *at);
            let before = before.map_or("no fault", |fault| &fault.1);
            losses.push(format!(
                "lost with {fault}: {element}, acknowledged after {before}"
            ));
        }
    }
    losses.push(format!("{all} updates lost"));
    println!("\n{}", losses.join("\n"));
    Ok(all)
}

fn name(value: &impl ValueEnum) -> String {
    let named = value.to_possible_value();
    named.map_or_else(String::new, |it| it.get_name().to_owned())
}

fn draw_time(seconds: Range<f64>, chance: &mut Rng) -> Duration {
    let share = chance.f64();
    Duration::from_secs_f64(seconds.start + share * (seconds.end - seconds.start))
}

//! Measures a large ring while programs on all its machines hold as many named locks as a ring should have.
//!
//! All machines are namespaces of one machine, so their daemons share its CPUs. Begin with [`Stand::measure`].

mod holders;
mod idle;
mod lists;
mod report;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Args;
use ring_control::lab2::Grade;

use super::GRADES;
use super::client::{Client, Subject};
use super::latency::{Times, hand_over, take_in_turn};
use crate::contest::{Lock, float};
use crate::real::daemon::Daemon;
use crate::real::fabric::{Fabric, Kind};
use crate::real::start::Start;
use holders::{Holders, long_name};
use idle::{Idle, count_sent};
use lists::{List, await_answer, await_list};
use report::{Rows, compare, millis, seconds};

/// Number of names that programs hold.
const LOCKS: u64 = 1_000;
/// Largest number of names in a table ([I51](../../../../docs/reference/lab2/locks.md#I51)).
const NAMES_MAX: u64 = 1_024;
/// Number of machines that take one more name. Their names must fit into the table.
const TAKERS: u64 = 20;
/// Number of machines that compete for one name.
const RIVALS: usize = 3;
/// Time for which takes or handovers are measured.
const TAKES_TIME: Duration = Duration::from_secs(1);
/// Time after which a lock is lost if its lease is not renewed.
const LEASE: Duration = Duration::from_millis(1_600);

/// Measure a large ring with 1,000 named locks.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Number of machines.
    #[arg(long, default_value_t = 30)]
    machines: usize,
    /// Time of each measurement of the idle ring.
    #[arg(long, default_value = "5s")]
    time: humantime::Duration,
    /// Command that starts each daemon, for example `chrt --fifo 1`.
    #[arg(long, value_delimiter = ' ')]
    through: Vec<String>,
    /// Another build of `ringd`.
    #[arg(long, default_value = env!("CARGO_BIN_EXE_ringd"))]
    ringd: PathBuf,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    ring_segment::enter()?;
    let load = || fs::read_to_string("/proc/loadavg");
    let before = load()?;
    let mut stand = Stand::start(options)?;
    let mut columns = Vec::new();
    for grade in GRADES {
        columns.push(stand.measure(grade)?);
    }
    report::print(options.machines, &columns);
    println!(
        "\nLoad of the machine before and after: {}, {}",
        before.trim(),
        load()?.trim()
    );
    Ok(())
}

struct Stand<'a> {
    options: &'a Options,
    start: Start,
    ring_options: [String; 2],
    fabric: Fabric,
    daemons: Vec<Daemon>,
}

impl<'a> Stand<'a> {
    fn start(options: &'a Options) -> Result<Self> {
        let fabric = Fabric::new(Kind::Bridge, options.machines)?;
        let ring_options = ["--ring-size".to_owned(), options.machines.to_string()];
        let start = Start {
            placement: None,
            through: options.through.clone(),
        };
        let arguments = ring_options.each_ref().map(String::as_str);
        let daemons = Daemon::ring(&start, &fabric.places, &options.ringd, &arguments)?;
        Ok(Self {
            options,
            start,
            ring_options,
            fabric,
            daemons,
        })
    }

    /// Measures the ring with locks of a grade. At the beginning and at the end, no program has a lock.
    fn measure(&mut self, grade: Grade) -> Result<Rows> {
        let mut rows = Rows::new();
        // After its start, a ring grants no named lock for some seconds.
        self.take_more(grade)?;
        let empty = (self.idle()?, self.take_more(grade)?, self.hand_over(grade)?);
        let mut holders = Holders::new(self.daemons.len(), grade);
        self.fill(&mut holders, &mut rows)?;
        let full = (self.idle()?, self.take_more(grade)?, self.hand_over(grade)?);
        compare(&empty, &full, &mut rows);
        self.kill_owner(grade, &mut holders, &mut rows)?;
        self.overfill(grade, &mut holders, &mut rows)?;
        self.release(holders, &mut rows)?;
        Ok(rows)
    }

    fn idle(&self) -> Result<Idle> {
        Idle::measure(&self.daemons, &self.fabric.places, self.options.time.into())
    }

    /// Makes one machine after the other take a name that no other program has.
    fn take_more(&self, grade: Grade) -> Result<Times> {
        let takers = self.daemons.iter().zip(LOCKS..LOCKS + TAKERS);
        let takers = takers.map(|(daemon, number)| connect(daemon, number, grade));
        let mut takers = takers.collect::<Result<Vec<_>>>()?;
        take_in_turn(&mut takers, |_| Ok(()), TAKES_TIME)
    }

    /// Makes some machines compete for one name.
    fn hand_over(&self, grade: Grade) -> Result<Times> {
        let rivals = self.daemons.iter().take(RIVALS);
        let rivals = rivals.map(|daemon| connect(daemon, LOCKS, grade));
        hand_over(rivals.collect::<Result<_>>()?, TAKES_TIME)
    }

    /// Makes programs on all machines take all locks.
    fn fill(&self, holders: &mut Holders, rows: &mut Rows) -> Result<()> {
        holders.add(&self.daemons, 0..LOCKS)?;
        let places = &self.fabric.places;
        let before = count_sent(places)?;
        let began = Instant::now();
        let took = holders.take_all()?;
        let lasted = began.elapsed().as_secs_f64();
        let frames = count_sent(places)? - before;
        let count = float(took.len());
        let shown = await_list(&self.daemons, &holders.list())?;
        rows.push((
            "takes per second, all machines together",
            format!("{:.0}", count / lasted),
        ));
        rows.push(("time of one of these takes", millis(&Times::new(&took)?)));
        rows.push(("frames per take", format!("{:.1}", frames / count)));
        rows.push((
            "time until all machines list the same locks",
            seconds(shown),
        ));
        Ok(())
    }

    /// Kills the daemon that owns the token, and starts it again later.
    fn kill_owner(&mut self, grade: Grade, holders: &mut Holders, rows: &mut Rows) -> Result<()> {
        // The daemon of a program that holds the token is the owner.
        let mut keeper = Client::connect(&self.daemons[0].control(), Subject::Token, grade)?;
        keeper.lock()?;
        let mut next = connect(&self.daemons[1], LOCKS, grade)?;
        ensure!(holders.drop_lost()? == 0, "locks are lost without a fault");
        let survivors = holders.list().len() - holders.count_held(0);
        let killed = Instant::now();
        self.daemons[0].kill()?;
        next.lock()?;
        rows.push((
            "death of the owner: time until the next take is granted",
            seconds(killed.elapsed()),
        ));
        next.unlock()?;
        holders.drop_lost()?;
        await_list(&self.daemons[1..], &holders.list())?;
        rows.push((
            "time until the locks of its machine are free",
            seconds(killed.elapsed()),
        ));
        holders.drop_lost()?;
        rows.push((
            "locks of the other machines that survive",
            format!("{} of {survivors}", holders.list().len()),
        ));
        self.restart(holders, rows)
    }

    /// Starts the daemon of the first machine again. The programs of this machine take their locks again.
    fn restart(&mut self, holders: &mut Holders, rows: &mut Rows) -> Result<()> {
        let arguments = self.ring_options.each_ref().map(String::as_str);
        let (daemon, place) = (&mut self.daemons[0], &self.fabric.places[0]);
        let began = Instant::now();
        daemon.start_again(&self.start, 0, place, &self.options.ringd, &arguments)?;
        await_answer(daemon)?;
        let answered = began.elapsed();
        let listed = await_list([&*daemon], &holders.list())?;
        rows.push(("restart: time until the daemon answers", seconds(answered)));
        rows.push(("time from then until it lists all locks", seconds(listed)));
        holders.replace(0, daemon)?;
        holders.take_all()?;
        await_list(&self.daemons, &holders.list())?;
        rows.push((
            "time until all machines list all locks again",
            seconds(began.elapsed()),
        ));
        Ok(())
    }

    /// Takes as many names as a table may have, and one more. Also takes wrong names.
    fn overfill(&self, grade: Grade, holders: &mut Holders, rows: &mut Rows) -> Result<()> {
        holders.add(&self.daemons, LOCKS..NAMES_MAX)?;
        holders.take_all()?;
        // The daemon of the first machine has just restarted.
        let mut client = connect(&self.daemons[1], NAMES_MAX, grade)?;
        rows.push(("one name too many", client.expect_refusal()?));
        let mut reasons = BTreeSet::new();
        for name in ["two words".to_owned(), long_name(0) + "0"] {
            client.rename(name);
            reasons.insert(client.expect_refusal()?);
        }
        let reasons: Vec<_> = reasons.into_iter().collect();
        rows.push((
            "a name with a blank, and one of 65 bytes",
            reasons.join("; "),
        ));
        ensure!(holders.drop_lost()? == 0, "locks are lost without a fault");
        await_list(&self.daemons, &holders.list())?;
        Ok(())
    }

    /// Makes half of the programs release their locks at the same time, and then ends the other programs.
    fn release(&self, mut holders: Holders, rows: &mut Rows) -> Result<()> {
        let began = Instant::now();
        let released = holders.release_half()?;
        let lost = holders.drop_lost()?;
        await_list(&self.daemons, &holders.list())?;
        rows.push((
            "half of the programs release their locks at once: time until all machines list this",
            seconds(began.elapsed()),
        ));
        thread::sleep(LEASE);
        let lost = lost + holders.drop_lost()?;
        let count = holders.list().len();
        rows.push((
            "locks of the other half that survive",
            format!("{count} of {}, and {released} are released", count + lost),
        ));
        drop(holders);
        await_list(&self.daemons, &List::new())?;
        Ok(())
    }
}

fn connect(daemon: &Daemon, number: u64, grade: Grade) -> Result<Client> {
    let mut client = Client::connect(&daemon.control(), Subject::Name, grade)?;
    client.rename(long_name(number));
    Ok(client)
}

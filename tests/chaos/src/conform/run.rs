//! One judgment: a ring of two `ringd`s and the judged program, faults, and the report.

mod faults;
mod healing;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use ring_segment::{Daemon, Layout, MacAddr, Message, Rng, Seen, Segment, Timing, frame, now};

use super::candidate::Candidate;
use super::checks::{self, Calm};
use super::report::{Outcome, Report};
use super::work::{Contenders, Works};
use super::{ConformOptions, Level, votes};
use faults::Fault;
use healing::members;

/// Places of the nodes on the segment: two `ringd`s, the judged program, and a station that sends invalid frames.
const DAEMONS: [usize; 2] = [0, 1];
const CANDIDATE: usize = 2;
const STRANGER: usize = 3;
/// Members of the ring.
const RING: usize = 3;
/// EtherType and length of the shortest frame.
const ETHERTYPE: u16 = ring_segment::ETHERTYPE;

const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Time that is added to the protocol's bounds, because processes need time to start and frames need time to arrive.
const BOUND_MARGIN: Duration = Duration::from_millis(1500);
/// Longest time that the program may take to join at its first start.
const JOIN_TIMEOUT: Duration = Duration::from_secs(10);
const QUIET_TIME: Duration = Duration::from_secs(3);
/// Time for which a program waits for a lock that must become free, in seconds.
const LOCK_WAIT: &str = "10";
/// Minimum number of pieces of work that a run needs to prove that locks exclude each other.
const WORKS_MIN: usize = 20;
const LEAVE_TIMEOUT: Duration = Duration::from_secs(5);

/// The checks, each with its name, and with the page and the id of its rule.
const FRAMES: (&str, &str) = ("frames", "frames.md");
const JOINS: (&str, &str) = ("joins", "promises.md Q5");
const PROFILE: (&str, &str) = ("profile", "membership.md F1");
const GARBAGE: (&str, &str) = ("garbage", "states.md R4");
const CONFIRMS: (&str, &str) = ("confirms", "grades.md G6");
const ONE_VOTE: (&str, &str) = ("one-vote", "grades.md V1");
const TRUE_VOTES: (&str, &str) = ("true-votes", "grades.md G7");
const FIRST_VOTE: (&str, &str) = ("first-vote", "grades.md G8");
const WITNESS: (&str, &str) = ("witness", "grades.md G16");
const STAYS_OUT: (&str, &str) = ("stays-out", "faults.md Z1");
const TAKES: (&str, &str) = ("takes", "states.md W4");
const HANDS_ON: (&str, &str) = ("hands-on", "passing.md P1");
const ELECTS: (&str, &str) = ("elects", "states.md C6");
const LEASE: (&str, &str) = ("lease", "states.md O4");
const LEAVES: (&str, &str) = ("leaves", "faults.md Z9");
const ONCE: (&str, &str) = ("once", "once.md J4");
const EXCLUSIVE: (&str, &str) = ("exclusive", "grades.md G1");
const EQUAL_TOKENS: (&str, &str) = ("equal-tokens", "promises.md Q1");
const HEALS: (&str, &str) = ("heals", "promises.md Q2");
const LIVES: (&str, &str) = ("lives", "promises.md Q7");

/// Runs a judgment. Prints the progress to standard error.
pub fn judge(options: &ConformOptions) -> Result<Report> {
    fs::create_dir_all(&options.folder)?;
    let mut judgment = Judgment::start(options)?;
    let mut report = Report::default();
    judgment.join(&mut report)?;
    if report.passed() {
        judgment.observe(&mut report);
        judgment.send_garbage(&mut report)?;
        judgment.witness(&mut report)?;
        judgment.once(&mut report)?;
        judgment.meet_owners();
        judgment.stop_owner()?;
        judgment.break_ring(&mut report)?;
        judgment.leave(&mut report)?;
    }
    judgment.judge_frames(&mut report);
    judgment.write_frames()?;
    Ok(report)
}

struct Judgment<'a> {
    options: &'a ConformOptions,
    candidate: Candidate,
    daemons: Vec<Daemon>,
    segment: Segment,
    calms: Vec<Calm>,
    /// Times at which the program was stopped and resumed.
    stops: Vec<(Duration, Duration)>,
    /// Times at which all three nodes were separate from each other.
    lonely: Vec<(Duration, Duration)>,
    /// The number of faults, the longest time until the ring was whole, and the faults after which the ring did not
    /// become whole.
    heals: usize,
    slowest: Duration,
    unhealed: Vec<String>,
}

impl<'a> Judgment<'a> {
    fn start(options: &'a ConformOptions) -> Result<Self> {
        let layout = Layout::new(RING + 1).random_macs(options.seed);
        let segment = layout.addresses().switch(options.seed)?;
        segment.rules().set(|rules| rules.up[STRANGER] = false);
        let mut daemons = Vec::new();
        for place in DAEMONS {
            let ringd = segment.node(place).ringd(options.binaries);
            let log = options.folder.join(format!("ringd-{place}.log"));
            let ringd = ringd.timing(&options.timing).log_to(log);
            daemons.push(ringd.option("--ring-size", RING.to_string()).spawn()?);
        }
        let node = segment.node(CANDIDATE);
        let candidate = Candidate::new(node, &options.command, &options.folder)?;
        let this = Self {
            options,
            candidate,
            daemons,
            segment,
            calms: Vec::new(),
            stops: Vec::new(),
            lonely: Vec::new(),
            heals: 0,
            slowest: Duration::ZERO,
            unhealed: Vec::new(),
        };
        for daemon in &this.daemons {
            daemon.wait_for_status(JOIN_TIMEOUT, |status| members(status) == DAEMONS.len())?;
        }
        Ok(this)
    }

    fn timing(&self) -> &Timing {
        &self.options.timing
    }

    fn mac(&self) -> MacAddr {
        self.segment.node(CANDIDATE).mac()
    }

    fn join(&mut self, report: &mut Report) -> Result<()> {
        self.candidate.start()?;
        let began = Instant::now();
        let why = self.wait_until_whole(now(), JOIN_TIMEOUT);
        self.candidate.restart_if_dead()?;
        let deaths = &self.candidate.deaths;
        match why.or_else(|| deaths.first().cloned()) {
            None => {
                let detail = format!("one owner and equal tables after {:.1?}", began.elapsed());
                report.add(JOINS, Outcome::Passed, detail);
            }
            Some(why) => {
                let detail = format!("not within {JOIN_TIMEOUT:?}: {why}");
                report.add(JOINS, Outcome::Failed, detail);
                report.add_violations(LIVES, deaths, "the program runs");
            }
        }
        Ok(())
    }

    /// Observes the ring without faults and without work.
    fn observe(&mut self, report: &mut Report) {
        let from = now();
        thread::sleep(QUIET_TIME);
        self.calms.push(Calm { from, to: now() });
        let expected = self.profiles(DAEMONS[0]).pop();
        let own = self.profiles(CANDIDATE);
        match (own.last(), expected) {
            (None, _) | (_, None) => {
                report.add(PROFILE, Outcome::NotApplicable, "it announces no profile");
            }
            (Some(own), Some(expected)) => {
                let same = own.constants == expected.constants && own.expect == expected.expect;
                let detail = format!(
                    "constants {:016x} and expect {}, ringd {:016x} and {}",
                    own.constants, own.expect, expected.constants, expected.expect
                );
                report.add_condition(PROFILE, same, detail);
            }
        }
    }

    fn profiles(&self, port: usize) -> Vec<ring_segment::Profile> {
        self.segment.capture().look(|frames| {
            let own = frames.iter().filter(|seen| seen.port == port);
            own.filter_map(Seen::profile).collect()
        })
    }

    /// Sends frames that every member must refuse. They name new authors, so a member that accepts such a frame has a
    /// different table.
    fn send_garbage(&mut self, report: &mut Report) -> Result<()> {
        let before = self.last_digest(Duration::ZERO);
        let stranger = self.segment.node(STRANGER).peer()?;
        self.segment.rules().set(|rules| rules.up[STRANGER] = true);
        for (number, payload) in garbage().into_iter().enumerate() {
            let number = u8::try_from(number).unwrap_or(u8::MAX);
            let author = MacAddr::new(2, 0xee, 0, 0, 0, number);
            let mut payload = payload;
            if let Some(place) = payload.get_mut(2..8)
                && place != [9; 6]
            {
                place.copy_from_slice(&author.octets());
            }
            for to in [MacAddr::broadcast(), self.mac()] {
                stranger.send_frame(&frame(to, author, ETHERTYPE, &payload))?;
            }
        }
        thread::sleep(2 * self.timing().waiter_timeout());
        self.segment.rules().set(|rules| rules.up[STRANGER] = false);
        self.candidate.restart_if_dead()?;
        let why = self.wait_until_whole(now(), self.bound());
        let after = self.last_digest(Duration::ZERO);
        let passed = why.is_none() && before == after && self.candidate.deaths.is_empty();
        let detail = why.unwrap_or_else(|| format!("{} kinds of invalid frames", garbage().len()));
        report.add_condition(GARBAGE, passed, detail);
        Ok(())
    }

    /// Checks that the program's confirmation gives a quorum to one of two `ringd`s.
    fn witness(&mut self, report: &mut Report) -> Result<()> {
        for place in DAEMONS {
            let other = 1 - place;
            self.daemons[other].kill()?;
            let granted = self.ringctl(
                place,
                &["run", "-q", "-r", "quorum", "-w", LOCK_WAIT, "true"],
            )?;
            self.daemons[other].start()?;
            self.heal("kill a ringd");
            if !granted {
                let detail = "one ringd and the program had no quorum";
                report.add(WITNESS, Outcome::Failed, detail);
                return Ok(());
            }
        }
        let detail = "each ringd got a lock with a quorum while the other was dead";
        report.add(WITNESS, Outcome::Passed, detail);
        Ok(())
    }

    fn once(&mut self, report: &mut Report) -> Result<()> {
        if self.options.level < Level::Full {
            report.add(ONCE, Outcome::NotApplicable, "level full");
            return Ok(());
        }
        let job = [
            "once",
            "-r",
            "all-heard",
            "-w",
            "5",
            "--every",
            "1h",
            "conform",
            "true",
        ];
        let ran = self.ringctl(0, &job)?;
        let detail = if ran {
            "all members agreed to a job"
        } else {
            "a job that needs the agreement of all members did not run"
        };
        report.add_condition(ONCE, ran, detail);
        Ok(())
    }

    fn ringctl(&self, place: usize, arguments: &[&str]) -> Result<bool> {
        let mut command = Command::new(self.options.binaries.ringctl);
        command.arg(arguments[0]).arg("--socket");
        command
            .arg(self.daemons[place].control())
            .args(&arguments[1..]);
        let streams = command.stdin(Stdio::null()).stdout(Stdio::null());
        Ok(streams.stderr(Stdio::null()).status()?.success())
    }

    /// Causes faults while programs take locks with a quorum.
    fn break_ring(&mut self, report: &mut Report) -> Result<()> {
        let mut rng = Rng::with_seed(self.options.seed);
        let mut contenders = Contenders::new(&self.options.folder)?;
        for (place, name) in DAEMONS.into_iter().zip(["ringd-0", "ringd-1"]) {
            let control = self.daemons[place].control();
            let ringctl = self.options.binaries.ringctl;
            contenders.add_daemon(name, ringctl, control, rng.u64(..))?;
        }
        if let Some(line) = &self.options.lock {
            contenders.add_line("program", &self.candidate.fill(line), rng.u64(..))?;
        }
        let end = now() + self.options.lasts;
        let mut faults = Vec::new();
        while now() < end {
            if faults.is_empty() {
                faults = Fault::all();
                rng.shuffle(&mut faults);
            }
            let Some(fault) = faults.pop() else { break };
            let calm = now();
            thread::sleep(Duration::from_millis(rng.u64(300..900)));
            self.calms.push(Calm {
                from: calm,
                to: now(),
            });
            self.cause(&fault, &mut rng)?;
            self.candidate.restart_if_dead()?;
            self.heal(&fault.text());
        }
        let Works { counts, overlaps } = contenders.finish()?;
        let works = counts.iter().map(|(_, count)| count).sum::<usize>();
        let counts: Vec<String> = (counts.iter())
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        let detail = format!("locks with a quorum: {}", counts.join(", "));
        if works < WORKS_MIN && overlaps.is_empty() {
            report.add(EXCLUSIVE, Outcome::NotApplicable, detail);
        } else {
            let overlaps: Vec<String> = (overlaps.iter())
                .map(|it| format!("{} of {works} works overlapped, first {it}", overlaps.len()))
                .collect();
            report.add_violations(EXCLUSIVE, &overlaps, detail);
        }
        let detail = format!("{} faults, slowest {:.1?}", self.heals, self.slowest);
        report.add_violations(HEALS, &self.unhealed, detail);
        let deaths = self.candidate.deaths.clone();
        report.add_violations(LIVES, &deaths, "the program ended only when it was killed");
        Ok(())
    }

    fn leave(&mut self, report: &mut Report) -> Result<()> {
        if self.options.level < Level::Full {
            report.add(LEAVES, Outcome::NotApplicable, "level full");
            return self.candidate.kill();
        }
        let from = now();
        let status = self.candidate.terminate(LEAVE_TIMEOUT)?;
        thread::sleep(self.timing().heartbeat);
        let left = self.segment.capture().look(|frames| {
            let mut own = frames.iter().rev().take_while(|seen| seen.at >= from);
            own.any(|seen| seen.port == CANDIDATE && seen.message == Message::Leaving)
        });
        let sent = if left { "LEAVING" } else { "no LEAVING" };
        let end = status.map_or("no end".to_owned(), |status| status.to_string());
        let detail = format!("{sent} after SIGTERM, then {end}");
        report.add_condition(LEAVES, left && status.is_some(), detail);
        Ok(())
    }

    fn judge_frames(&self, report: &mut Report) {
        let frames = self.segment.capture().frames();
        let (timing, level) = (self.timing(), self.options.level);
        let own = frames.iter().filter(|seen| seen.port == CANDIDATE).count();
        let violations = checks::malformed(&frames, CANDIDATE, self.mac());
        report.add_violations(FRAMES, &violations, format!("{own} frames"));

        let lasts = timing.waiter_timeout();
        let votes = votes::check(&frames, CANDIDATE, &self.candidate.starts, lasts);
        let confirmed = checks::confirmed(&frames, CANDIDATE, &self.calms, timing, &votes.barred);
        let detail = format!(
            "{} of {} heartbeats in calms that it may confirm",
            confirmed.used, confirmed.all
        );
        report.add_condition(CONFIRMS, confirmed.all > 0 && confirmed.is_good(), detail);
        let count = format!("{} confirmations", votes.count);
        report.add_violations(ONE_VOTE, &votes.second, count.clone());
        report.add_violations(TRUE_VOTES, &votes.wrong, count);
        let starts = format!("{} starts", self.candidate.starts.len());
        report.add_violations(FIRST_VOTE, &votes.early, starts);

        // At a lower level, the judge does not check that the numbers of the program's tokens grow.
        let forgetful = (level < Level::Full).then(|| self.mac());
        let violations = checks::equal_tokens(&frames, forgetful);
        report.add_violations(
            EQUAL_TOKENS,
            &violations,
            format!("{} frames", frames.len()),
        );
        if level == Level::Voter {
            let violations = checks::ambitions(&frames, CANDIDATE);
            report.add_violations(STAYS_OUT, &violations, "it only confirms");
            for check in [TAKES, HANDS_ON, ELECTS, LEASE] {
                report.add(check, Outcome::NotApplicable, "level small");
            }
            return;
        }
        report.add(STAYS_OUT, Outcome::NotApplicable, "level voter");
        let taken = checks::taken(&frames, CANDIDATE, self.mac(), &self.calms);
        let detail = format!("{} of {} offers in calms", taken.used, taken.all);
        report.add_condition(TAKES, taken.all > 0 && taken.is_good(), detail);
        let handed_on = checks::handed_on(&frames, CANDIDATE, &self.calms);
        let detail = format!("{} of {} offers in calms", handed_on.used, handed_on.all);
        report.add_condition(HANDS_ON, handed_on.all > 0 && handed_on.is_good(), detail);
        let bound = timing.new_owner_bound() + BOUND_MARGIN;
        let long = |span: &&(Duration, Duration)| span.1 >= span.0 + bound;
        let lonely: Vec<_> = self.lonely.iter().filter(long).collect();
        if lonely.is_empty() {
            report.add(
                ELECTS,
                Outcome::NotApplicable,
                "it was not alone for long enough",
            );
        } else {
            let elected = |span: &&&(Duration, Duration)| {
                checks::has_heartbeat(&frames, CANDIDATE, (span.0, span.1))
            };
            let count = lonely.iter().filter(elected).count();
            let detail = format!("alone {} times, elected itself {count} times", lonely.len());
            report.add_condition(ELECTS, count == lonely.len(), detail);
        }
        let (occasions, violations) = checks::stale_claims(&frames, CANDIDATE, &self.stops, timing);
        if occasions == 0 {
            let detail = "it was never stopped for long while it was the owner";
            report.add(LEASE, Outcome::NotApplicable, detail);
        } else {
            report.add_violations(LEASE, &violations, format!("stopped {occasions} times"));
        }
    }

    /// Writes all frames to a file of the run's folder, as text.
    fn write_frames(&self) -> Result<()> {
        let path = self.options.folder.join("frames.log");
        let mut file = BufWriter::new(File::create(path)?);
        for seen in self.segment.capture().frames() {
            writeln!(file, "{}", votes::describe(&seen))?;
        }
        Ok(file.flush()?)
    }

    /// Returns the maximum time from a fault until the ring is whole.
    fn bound(&self) -> Duration {
        self.timing().one_owner_bound() + self.timing().new_owner_bound() + BOUND_MARGIN
    }
}

/// Returns payloads that every receiver must refuse. An author that consists of six bytes of value 9 stays, but the
/// source of the frame replaces every other author.
fn garbage() -> Vec<Vec<u8>> {
    let with = |kind: u8, reserved: u8, body: &[u8]| {
        [&[kind, reserved, 0, 0, 0, 0, 0, 0][..], body].concat()
    };
    let mut too_many = vec![0; 12];
    too_many.extend([0xff, 0xff]);
    vec![
        // An unknown kind, a reserved byte, an author that is not the source, and a short header.
        with(0, 0, &[]),
        with(200, 0, &[]),
        with(8, 1, &[]),
        [&[8, 0][..], &[9; 6]].concat(),
        vec![8, 0, 2],
        // A short body, a progress above the limit, and a count above the limit.
        with(2, 0, &[0; 20]),
        with(6, 0, &[0xff; 18]),
        with(7, 0, &too_many),
        with(11, 0, &[0xff, 0xff]),
    ]
}

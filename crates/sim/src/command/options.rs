//! The command line of `ring-sim`.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ring_text::parse_duration;

use super::Error;
use crate::andrews;
use crate::ftn;
use crate::jitterbug;
use crate::kernel::kinds::{self, Kind};
use crate::lab2::{FaultKind, Faults, Settings};

const MAX_NODES: u64 = 1 << 16;
/// The default seed.
const SEED: u64 = 1;
/// The default number of nodes.
const NODES: u64 = 5;

const EXAMPLES: &str = "\
Examples:
  ring-sim                                  make one run with all kinds of fault
  ring-sim --seed 7 --faults drop,pause     make another run, with two kinds of fault
  ring-sim --seeds 0..10000                 make many runs, on all cores
  ring-sim --seed 7 --record /tmp/seven     write the run to files in a directory
  ring-sim --schedule sim-7.json            repeat a kept run
  ring-sim --system ftn --seeds 0..1000     simulate servers and clients of tokens
  ring-sim --system jitterbug --seed 7      simulate nodes of Jitterbug
  ring-sim --system andrews --seed 7        simulate a coordinated ring, and its database
  ring-sim replay eth0.pcapng               repeat a recording of ringctl dump

Exit codes:
  0  no rule was broken, or the outputs of a recording are the same
  1  a rule was broken, or an output differs
  2  wrong usage, or a file that is not a schedule or a recording
  3  a file cannot be read or written";

/// Simulate rings and their faults, and check the rules.
///
/// ring-sim runs the same state machines as the daemon. Time and the network are simulated. Each run begins with the
/// faults, which last for --time. Then the faults end, and the ring must recover. The seed determines the whole run:
/// the same seed makes the same run, byte by byte, on every machine. The simulator uses no network.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "ring-sim",
    version,
    args_override_self = true,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_long_help = after_help(),
    after_help = "--help says more."
)]
pub struct Options {
    /// The command; without a command, ring-sim simulates.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Simulate this system.
    #[arg(long, value_name = "SYSTEM", value_enum, default_value = "lab2")]
    pub system: SimulatedSystem,

    /// Make one run with this seed [default: 1]
    #[arg(
        long,
        value_name = "S",
        allow_negative_numbers = true,
        value_parser = parse_seed,
        conflicts_with_all = ["seeds", "schedule"]
    )]
    pub seed: Option<u64>,

    /// Make runs with the seeds from A to B - 1, on all cores.
    #[arg(long, value_name = "A..B", value_parser = parse_seeds, conflicts_with = "schedule")]
    pub seeds: Option<Range<u64>>,

    /// Set the number of nodes [default: 5]
    ///
    /// For Jitterbug and Andrews, the seed chooses 2 to 8 nodes by default.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse_number::<1, MAX_NODES>)]
    pub nodes: Option<u64>,

    /// Set the number of FTN servers [default: the seed chooses]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse_number::<1, 9>)]
    pub servers: Option<u64>,

    /// Set the number of FTN clients [default: the seed chooses]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse_number::<0, 64>)]
    pub clients: Option<u64>,

    /// Set the simulated duration of the faults.
    #[arg(long, value_name = "D", default_value = "60s", value_parser = parse_time)]
    pub time: Duration,

    /// Choose kinds of fault: all, none, or a comma-separated list.
    ///
    /// To remove a kind from the list, write - before its name: all,-pause.
    #[arg(
        long,
        value_name = "LIST",
        default_value = "all",
        allow_hyphen_values = true,
        value_parser = parse_faults
    )]
    pub faults: String,

    /// Write the files of the run to DIR.
    ///
    /// For lab2, the files are schedule.json, frames.pcapng and events.jsonl. For other systems, the files are
    /// schedule.json and trace.txt. If there are many runs, ring-sim writes one run per broken rule: the first run that
    /// broke this rule.
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,

    /// Run a saved schedule instead of a seed.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["nodes", "time", "faults"])]
    pub schedule: Option<PathBuf>,
}

/// A command of `ring-sim`.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Repeat a recording of ringd, and compare the outputs.
    ///
    /// ringctl dump writes a recording. This command gives the recorded inputs to the state machine, and compares the
    /// outputs. It prints the first difference.
    Replay(ReplayOptions),
}

/// Options of `ring-sim replay`.
#[derive(Debug, Clone, Args)]
pub struct ReplayOptions {
    /// The recording.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Keep the recording in DIR as a test.
    ///
    /// The tests of ring-sim repeat each recording in crates/sim/tests/sim/recordings, and fail at a difference. Use
    /// such a test while you repair a fault. Commit no recording, because a new field of the state machine makes it
    /// unreadable.
    #[arg(long, value_name = "DIR")]
    pub write_test: Option<PathBuf>,
}

/// A system that can be simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SimulatedSystem {
    /// Rings.
    Lab2,
    /// Servers and clients of the token service.
    Ftn,
    /// Jitterbug's nodes.
    Jitterbug,
    /// Nodes of the coordinated ring, and their database.
    Andrews,
}

impl SimulatedSystem {
    const fn max_nodes(self) -> usize {
        match self {
            Self::Lab2 | Self::Ftn => usize::MAX,
            Self::Jitterbug => jitterbug::MAX_NODES,
            Self::Andrews => andrews::MAX_NODES,
        }
    }

    /// Checks that the list names only kinds of fault that the system has.
    fn check_faults(self, list: &str) -> Result<(), String> {
        match self {
            Self::Lab2 => list.parse::<Faults>().map(drop),
            Self::Ftn => list.parse::<ftn::Faults>().map(drop),
            Self::Jitterbug => list.parse::<jitterbug::Faults>().map(drop),
            Self::Andrews => list.parse::<andrews::Faults>().map(drop),
        }
    }

    /// Returns one line per kind of fault: its name and its effect.
    fn kinds(self) -> String {
        match self {
            Self::Lab2 => lines::<FaultKind>(),
            Self::Ftn => lines::<ftn::FaultKind>(),
            Self::Jitterbug => lines::<jitterbug::FaultKind>(),
            Self::Andrews => lines::<andrews::FaultKind>(),
        }
    }
}

fn lines<K: Kind>() -> String {
    let kinds = K::KINDS.iter();
    kinds.fold(String::new(), |text, kind| {
        text + &format!("  {:<10} {}\n", kind.name(), kind.help())
    })
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Selection {
    Seed(u64),
    Seeds(Range<u64>),
    Schedule(PathBuf),
}

impl Options {
    pub(super) fn selection(&self) -> Selection {
        match (&self.schedule, &self.seeds) {
            (Some(path), _) => Selection::Schedule(path.clone()),
            (None, Some(seeds)) => Selection::Seeds(seeds.clone()),
            (None, None) => Selection::Seed(self.seed.unwrap_or(SEED)),
        }
    }

    pub(super) fn settings(&self, seed: u64) -> Settings {
        Settings {
            seed,
            nodes: number(self.lab2_nodes()),
            time: self.time,
            faults: self.faults.parse().unwrap_or_default(),
            idle_hold: None,
        }
    }

    /// Returns the settings of the token service.
    pub(super) fn ftn_settings(&self, seed: u64) -> ftn::Settings {
        ftn::Settings {
            seed,
            servers: self.servers.map(number),
            clients: self.clients.map(number),
            time: self.time,
            faults: self.faults.parse().unwrap_or_default(),
        }
    }

    /// Returns the settings of a system in which all nodes have the same role.
    pub(super) fn settings_of<K: Kind>(&self, seed: u64) -> kinds::Settings<K> {
        kinds::Settings {
            seed,
            nodes: self.nodes.map(number),
            time: self.time,
            faults: self.faults.parse().unwrap_or_default(),
        }
    }

    pub(super) fn lab2_nodes(&self) -> u64 {
        self.nodes.unwrap_or(NODES)
    }

    /// Checks that the options fit the system.
    pub(super) fn check(&self) -> Result<(), Error> {
        let is_ftn = self.system == SimulatedSystem::Ftn;
        let most = self.system.max_nodes();
        if self.nodes.is_some_and(|nodes| nodes > most as u64) {
            let what = format!("a run of this system has at most {most} nodes");
            return Err(Error::Usage(what));
        }
        if !is_ftn && (self.servers.is_some() || self.clients.is_some()) {
            let what = "--servers and --clients are for --system ftn; use --nodes for a ring";
            return Err(Error::Usage(what.into()));
        }
        self.system.check_faults(&self.faults).map_err(Error::Usage)
    }

    /// Returns the directory for the schedules of failing runs.
    pub(super) fn keep(&self) -> PathBuf {
        self.record
            .as_deref()
            .unwrap_or(Path::new("."))
            .to_path_buf()
    }
}

fn number(given: u64) -> usize {
    usize::try_from(given).unwrap_or(usize::MAX)
}

fn after_help() -> String {
    let systems = SimulatedSystem::value_variants().iter();
    let kinds = systems.fold(String::new(), |text, &system| {
        let of = match system.to_possible_value() {
            Some(name) if system != SimulatedSystem::Lab2 => {
                format!(" with --system {}", name.get_name())
            }
            _ => String::new(),
        };
        text + &format!("Kinds of fault{of}:\n{}\n", system.kinds())
    });
    kinds + EXAMPLES
}

/// Accepts the kinds of fault of any system, because the system is not known yet. `check` checks the kinds later.
fn parse_faults(text: &str) -> Result<String, String> {
    let mut systems = SimulatedSystem::value_variants().iter();
    if systems.any(|system| system.check_faults(text).is_ok()) {
        return Ok(text.into());
    }
    SimulatedSystem::Lab2
        .check_faults(text)
        .map(|()| text.into())
}

/// The maximum of the upper end of a range of seeds. Each thread takes several seeds at a time, so it may also take
/// seeds beyond the end of the range. With this maximum, the counter of the seeds still cannot overflow.
const MAX_SEED: u64 = 1 << 63;

fn parse_number<const MIN: u64, const MAX: u64>(text: &str) -> Result<u64, String> {
    let number = text.parse().ok();
    let within = number.filter(|number| (MIN..=MAX).contains(number));
    within.ok_or_else(|| format!("give a whole number from {MIN} to {MAX}"))
}

fn parse_seed(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "not a seed: give a whole number, as in 7".to_owned())
}

fn parse_seeds(text: &str) -> Result<Range<u64>, String> {
    let (from, to) = text.split_once("..").ok_or("give A..B, as in 0..1000")?;
    let number = |text: &str| {
        let parsed = text.trim().parse::<u64>();
        parsed.map_err(|_| format!("'{text}' is not a seed: give A..B, as in 0..1000"))
    };
    let seeds = number(from)?..number(to)?;
    if seeds.is_empty() {
        return Err("an empty range: B must be more than A".into());
    }
    if seeds.end > MAX_SEED {
        return Err(format!("B can be at most {MAX_SEED}"));
    }
    Ok(seeds)
}

/// The maximum of `--time`. The simulation of a year would take days.
const MAX_TIME: Duration = Duration::from_secs(365 * 24 * 60 * 60);

fn parse_time(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text)?;
    if time > MAX_TIME {
        return Err("give at most a year".into());
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(arguments: &[&str]) -> Result<Options, String> {
        Options::try_parse_from(["ring-sim"].iter().chain(arguments))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_declaration_is_valid() {
        Options::command().debug_assert();
    }

    #[test]
    fn without_options_one_seed_meets_all_faults() {
        let options = parse(&[]).unwrap();
        assert_eq!(options.selection(), Selection::Seed(1));
        let settings = options.settings(1);
        assert_eq!((settings.nodes, settings.faults), (5, Faults::all()));
        assert_eq!(settings.time, Duration::from_secs(60));
    }

    #[test]
    fn given_options_are_used() {
        let given = [
            "--seeds",
            "3..9",
            "--nodes",
            "7",
            "--time",
            "5s",
            "--faults",
            "drop,-drop,twin",
        ];
        let options = parse(&given).unwrap();
        assert_eq!(options.selection(), Selection::Seeds(3..9));
        let settings = options.settings(4);
        assert_eq!((settings.seed, settings.nodes), (4, 7));
        assert_eq!(settings.faults, Faults::only(FaultKind::Twin));
        let kept = parse(&["--schedule", "a.json", "--record", "dir"]).unwrap();
        assert_eq!(kept.selection(), Selection::Schedule("a.json".into()));
        assert_eq!(kept.keep(), Path::new("dir"));
    }

    #[test]
    fn invalid_options_are_refused_with_a_reason() {
        let cases = [
            (["--seed", "x"], "not a seed: give a whole number"),
            (["--seed", "-1"], "not a seed: give a whole number"),
            (["--seeds", "9..3"], "more than A"),
            (["--seeds", "9"], "A..B"),
            (["--seeds", "a..3"], "not a seed"),
            (["--nodes", "0"], "from 1 to 65536"),
            (["--nodes", "x"], "from 1 to 65536"),
            (["--time", "5"], "no unit"),
            (["--time", "9000000h"], "a year"),
            (["--faults", "gremlins"], "no fault 'gremlins'"),
        ];
        for (given, reason) in cases {
            let error = parse(&given).unwrap_err();
            assert!(error.contains(reason), "{given:?}: {error}");
        }
        let error = parse(&["--seed", "1", "--seeds", "1..2"]).unwrap_err();
        assert!(error.contains("cannot be used with"), "{error}");
    }

    #[test]
    fn help_names_every_kind_of_fault() {
        let help = Options::command().term_width(200).render_long_help();
        let help = help.to_string();
        for kind in FaultKind::ALL {
            assert!(help.contains(kind.help()), "{kind:?}");
        }
    }
}

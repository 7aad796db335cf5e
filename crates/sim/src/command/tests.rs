use std::path::Path;
use std::time::Duration;

use clap::Parser;

use super::system::{self, SystemCommand};
use super::{Error, Options, andrews, ftn, jitterbug, lab2};
use crate::kernel::schedule as kernel;
use crate::kernel::stats::Tally as _;
use crate::lab2::{Action, Fault, Outcome, Rule, Schedule, Stats, Violation};

type Lab2 = lab2::Lab2<ring_proto::lab2::Lab2>;

/// Lab2 with an additional rule for these tests. A schedule that changes a node's address breaks this rule.
struct Spoilt;

impl SystemCommand for Spoilt {
    const COMMAND: &'static str = Lab2::COMMAND;
    const REPORT: &'static str = Lab2::REPORT;

    type Schedule = Schedule;

    fn schedule(options: &Options, seed: u64) -> Schedule {
        Lab2::schedule(options, seed)
    }

    fn headline(schedule: &Schedule) -> String {
        Lab2::headline(schedule)
    }

    fn play(schedule: &Schedule, most: usize) -> (Outcome, Vec<String>) {
        let (mut outcome, lines) = Lab2::play(schedule, most);
        let mut actions = schedule.actions.iter();
        let moves = actions.find(|action| matches!(action.fault, Fault::Address { .. }));
        outcome.violations.extend(moves.map(|moves| Violation {
            at: Duration::from_micros(moves.at_us),
            node: None,
            rule: Rule::Stored,
            details: "an address has changed".into(),
        }));
        (outcome, lines)
    }

    fn text(schedule: &Schedule) -> serde_json::Result<String> {
        Lab2::text(schedule)
    }

    fn record(schedule: &Schedule, directory: &Path) -> Result<(), Error> {
        Lab2::record(schedule, directory)
    }
}

/// Returns whether no rule was broken, and the output.
fn sim<S: SystemCommand>(arguments: &str) -> Result<(bool, String), Error> {
    let given = ["sim"].into_iter().chain(arguments.split(' '));
    let options = Options::try_parse_from(given).expect("a valid command line");
    let mut printed = Vec::new();
    let whole = system::run::<S>(&options, &mut printed)?;
    let printed = String::from_utf8(printed).expect("UTF-8 output");
    Ok((whole, printed))
}

fn read(path: &Path) -> Schedule {
    super::files::read_schedule(path).expect("a kept schedule")
}

/// A seed whose schedule changes nodes' addresses and has other faults.
const SEED: &str = "--seed 4 --nodes 3 --time 60s --faults crash,drop,address";

#[test]
fn a_failing_schedule_is_shrunk_printed_and_kept_and_still_fails() {
    let directory = tempfile::tempdir().unwrap();
    let keep = directory.path().display();
    let (whole, printed) = sim::<Spoilt>(&format!("{SEED} --record {keep}")).unwrap();
    assert!(!whole, "{printed}");
    assert!(printed.contains("BROKEN with seed 4"), "{printed}");
    assert!(printed.contains("What led to it"), "{printed}");
    let long = read(&directory.path().join("schedule.json"));
    let kept = directory.path().join("sim-4.json");
    let short = read(&kept);
    assert!(printed.contains(&short.to_text().unwrap()), "{printed}");
    // The violation needs only one action, but the shortened schedule may contain a few earlier actions.
    assert!(
        short.actions.len() <= 3 && long.actions.len() > 10,
        "{short:?}"
    );
    assert!(short.time_us < long.time_us, "{short:?}");
    assert!(Spoilt::play(&short, 0).0.breaks(Rule::Stored));
    let kept = format!("--schedule {}", kept.display());
    let (whole, printed) = sim::<Spoilt>(&kept).unwrap();
    assert!(!whole && printed.contains("What led to it"), "{printed}");
    assert!(sim::<Lab2>(&kept).unwrap().0);
}

#[test]
fn equal_seeds_have_equal_fingerprints() {
    let of = |seeds: &str| {
        let arguments = format!("--seeds {seeds} --nodes 3 --time 1s");
        let (_, printed) = sim::<Lab2>(&arguments).unwrap();
        let mut lines = printed.lines();
        let line = lines.find(|line| line.starts_with("fingerprint"));
        line.expect("it is printed").to_owned()
    };
    assert_eq!(of("3..19"), of("3..19"));
    assert_ne!(of("3..19"), of("4..20"));
}

#[test]
fn each_failing_seed_of_many_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let keep = directory.path().display();
    let many = SEED.replace("--seed 4", "--seeds 3..6");
    let (whole, printed) = sim::<Spoilt>(&format!("{many} --record {keep}")).unwrap();
    assert!(!whole && printed.contains("seed 4: "), "{printed}");
    let entries = std::fs::read_dir(directory.path()).unwrap();
    let recorded = |entry: &std::fs::DirEntry| entry.path().join("events.jsonl").exists();
    let recorded = entries.filter(|entry| entry.as_ref().is_ok_and(recorded));
    assert_eq!(recorded.count(), 1, "{printed}");
    let (whole, printed) = sim::<Lab2>(&many).unwrap();
    assert!(
        whole && printed.contains("Nothing was broken."),
        "{printed}"
    );
    assert!(printed.contains("3 of 3 nodes"), "{printed}");
}

#[test]
fn an_invalid_schedule_is_refused_with_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.json");
    let refused = || sim::<Lab2>(&format!("--schedule {}", path.display())).unwrap_err();
    assert_eq!(refused().exit_code(), 3);
    std::fs::write(&path, "{\"seed\": 1}").unwrap();
    assert_eq!(refused().exit_code(), 2);
    assert!(refused().to_string().contains("nodes"), "{}", refused());
    let mut none = Schedule {
        about: String::new(),
        seed: 1,
        nodes: 0,
        time_us: 1,
        idle_hold_us: 1,
        heartbeat_us: 100_000,
        take_timeout_us: 5_000,
        take_attempts: 3,
        forget_us: 86_400_000_000,
        preferences: vec![],
        latency_us: (1, 1),
        keys: crate::kernel::keys::NodeKeys::default(),
        stay_dead: vec![],
        lasting: None,
        actions: vec![],
    };
    std::fs::write(&path, none.to_text().unwrap()).unwrap();
    assert!(refused().to_string().contains("0 nodes"), "{}", refused());
    none.nodes = 1;
    none.latency_us = (u64::MAX, 0);
    std::fs::write(&path, none.to_text().unwrap()).unwrap();
    assert!(refused().to_string().contains("a minute"), "{}", refused());
    none.latency_us = (1, 1);
    none.time_us = u64::MAX;
    std::fs::write(&path, none.to_text().unwrap()).unwrap();
    assert!(refused().to_string().contains("a year"), "{}", refused());
    none.time_us = 1;
    let fault = Fault::Rate {
        node: 0,
        millionths: i32::MIN,
    };
    none.actions = vec![Action { at_us: 0, fault }];
    std::fs::write(&path, none.to_text().unwrap()).unwrap();
    assert!(refused().to_string().contains("\"rate\""), "{}", refused());
    none.actions.clear();
    let misspelt = none.to_text().unwrap().replace("stay_dead", "stay_death");
    let misspelt = misspelt.replace("\"seed\"", "\"sed\": 1, \"seed\"");
    std::fs::write(&path, misspelt).unwrap();
    assert!(refused().to_string().contains("`sed`"), "{}", refused());
}

#[test]
fn reports_name_only_existing_counters() {
    fn fill_report<S: SystemCommand>() -> String {
        <S::Schedule as kernel::Schedule>::Stats::default().fill(S::REPORT)
    }
    let options = Options::try_parse_from(["sim"]).unwrap();
    let schedule = Lab2::schedule(&options, 1);
    for report in [
        fill_report::<Lab2>(),
        Lab2::report(&schedule, &Stats::default()),
        fill_report::<ftn::Ftn>(),
        fill_report::<jitterbug::Jitterbug>(),
        fill_report::<andrews::Andrews>(),
    ] {
        assert!(!report.contains('{'), "{report}");
    }
}

#[test]
fn ranges_of_seeds_without_an_end_are_refused() {
    let refused = |seeds: &str| Options::try_parse_from(["sim", "--seeds", seeds]).is_err();
    assert!(refused("18446744073709551605..18446744073709551615") && refused("3..3"));
    assert!(!refused("0..1000000"));
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let error = sim::<Lab2>("--time 1s --record /dev/null/here").unwrap_err();
    assert_eq!(error.exit_code(), 3);
    assert!(error.to_string().contains("/dev/null/here"), "{error}");
}

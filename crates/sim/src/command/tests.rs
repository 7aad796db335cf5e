use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use clap::Parser;
use ring_codec::lab2::{Digest, Token};
use ring_proto::lab2::{Command, Constants, Durable, Event, Lab2, State};
use ring_proto::time::{Instant, Now};
use ring_proto::{LinkState, Machine, Sent, Stored, Ticket, Transmit};

use super::system::{self, Simulation};
use super::{Error, Options, andrews, ftn, jitterbug, lab2};
use crate::kernel::schedule as kernel;
use crate::kernel::stats::Tally as _;
use crate::lab2::{Action, Fault, Rule, Schedule, Stats, Subject, replay};

/// A machine that no longer stores anything once its interface has changed.
struct Spoilt {
    machine: Lab2,
    /// How often it was told what the interface is like.
    told: u32,
}

impl Subject for Spoilt {
    fn start(constants: Constants, durable: Durable) -> Self {
        Self {
            machine: Lab2::start(constants, durable),
            told: 0,
        }
    }
    fn state(&self) -> State {
        self.machine.state()
    }
    fn held(&self) -> Option<Token> {
        self.machine.held()
    }
    fn may_use(&self) -> bool {
        self.machine.may_use()
    }
    fn lease_until(&self, now: Instant) -> Option<Instant> {
        Subject::lease_until(&self.machine, now)
    }
    fn carries(&self, token: Token) -> bool {
        Subject::carries(&self.machine, token)
    }

    fn has_held(&self, token: Token) -> bool {
        Subject::has_held(&self.machine, token)
    }
    fn quorum_until(&self) -> Option<Instant> {
        self.machine.quorum_until()
    }
    fn quorum_size(&self) -> usize {
        self.machine.quorum_size()
    }
    fn is_unfit(&self) -> bool {
        self.machine.is_unfit()
    }
    fn digest(&self) -> Digest {
        self.machine.digest()
    }
    fn members_in_order(&self) -> Option<usize> {
        self.machine.members_in_order()
    }
    fn is_finished(&self) -> bool {
        self.machine.is_finished()
    }
}

impl Machine for Spoilt {
    type Peer = ();
    type Net = LinkState;
    type Job = Infallible;
    type Command = Command;
    type Event = Event;
    type Durable = Durable;

    fn handle_message(&mut self, now: Now, (): (), frame: &[u8], age: Duration) {
        self.machine.handle_message(now, (), frame, age);
    }
    fn handle_command(&mut self, now: Now, command: Command) {
        self.machine.handle_command(now, command);
    }
    fn handle_link(&mut self, now: Now, link: LinkState) {
        self.told += 1;
        self.machine.handle_link(now, link);
    }
    fn handle_timeout(&mut self, now: Now) {
        self.machine.handle_timeout(now);
    }
    fn handle_sent(&mut self, now: Now, ticket: Ticket, sent: Sent) {
        self.machine.handle_sent(now, ticket, sent);
    }
    fn handle_stored(&mut self, now: Now, stored: Stored) {
        self.machine.handle_stored(now, stored);
    }
    fn poll_durable(&mut self) -> Option<Durable> {
        self.machine.poll_durable().filter(|_| self.told < 2)
    }
    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit> {
        self.machine.poll_transmit(buf)
    }
    fn poll_event(&mut self) -> Option<Event> {
        self.machine.poll_event()
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.machine.poll_timeout()
    }
}

/// What a command line comes to: whether nothing was broken, and what it printed.
fn sim<M: Subject>(arguments: &str) -> Result<(bool, String), Error> {
    let given = ["sim"].into_iter().chain(arguments.split(' '));
    let options = Options::try_parse_from(given).expect("a command line that can be read");
    let mut printed = Vec::new();
    let whole = system::run::<lab2::Lab2<M>>(&options, &mut printed)?;
    let printed = String::from_utf8(printed).expect("people can read it");
    Ok((whole, printed))
}

fn read(path: &Path) -> Schedule {
    super::files::read_schedule(path, Schedule::check).expect("a schedule that was kept")
}

/// A seed that changes nodes' addresses, among much else.
const SEED: &str = "--seed 4 --nodes 3 --time 60s --faults crash,drop,address";

#[test]
fn what_fails_is_shrunk_printed_and_kept_and_still_fails() {
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
    // It takes one. A few more may be left of those that come before.
    assert!(
        short.actions.len() <= 3 && long.actions.len() > 10,
        "{short:?}"
    );
    assert!(short.time_us < long.time_us, "{short:?}");
    let broken = replay::<Spoilt>(&short, None).violations;
    assert_eq!(broken[0].rule, Rule::Stored);
    // The machine that ships has nothing against it.
    assert_eq!(replay::<Lab2>(&short, None).violations, []);
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
fn of_many_seeds_each_that_fails_is_named() {
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
fn a_file_that_is_no_schedule_is_refused_with_a_reason() {
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
        latency_us: (1, 1),
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
fn reports_name_only_counters_that_there_are() {
    fn filled<S: Simulation>() -> String {
        <S::Schedule as kernel::Schedule>::Stats::default().fill(S::REPORT)
    }
    let options = Options::try_parse_from(["sim"]).unwrap();
    let schedule = lab2::Lab2::<Lab2>::schedule(&options, 1);
    for report in [
        filled::<lab2::Lab2<Lab2>>(),
        lab2::Lab2::<Lab2>::report(&schedule, &Stats::default()),
        filled::<ftn::Ftn>(),
        filled::<jitterbug::Jitterbug>(),
        filled::<andrews::Andrews>(),
    ] {
        assert!(!report.contains('{'), "{report}");
    }
}

#[test]
fn seeds_that_have_no_end_are_refused() {
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

//! Tests of recordings: simulated nodes are recorded, and their recordings are repeated.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command as Process;
use std::time::Duration;

use ring_codec::lab2::{Digest, Frame, Kind, Token};
use ring_proto::lab2::{
    Command, Constants, Diagnostic, Event, Inspect, JobName, Lab2, LockView, OnceProgress, RunView,
    State, StoredStamp, StoredState,
};
use ring_proto::time::{Instant, Now};
use ring_proto::{LinkState, Machine, SendOutcome, StoreOutcome, Ticket, Transmit};
use ring_recording::{About, Recorded};
use ring_sim::lab2::{Faults, Settings, run};
use ring_sim::recording::{Repetition, read, repeat};

thread_local! {
    /// The files of all recordings of this thread. The simulator returns no state machines.
    static FILES: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// A state machine that is recorded. At its end, its recording becomes a file.
struct RecordedNode(Recorded<Lab2>);

impl Drop for RecordedNode {
    fn drop(&mut self) {
        let Some(recording) = self.0.take_recording() else {
            return;
        };
        let about = About {
            system: "lab2".to_owned(),
            version: "1.2.3".to_owned(),
            ring: "simulated".to_owned(),
            reason: "a test".to_owned(),
        };
        let mut file = Vec::new();
        ring_recording::write(&mut file, &about, &recording, |event| {
            Some(format!("{event:?}"))
        })
        .expect("written");
        FILES.with_borrow_mut(|files| files.push(file));
    }
}

impl Machine for RecordedNode {
    type Peer = ();
    type Net = LinkState;
    type Command = Command;
    type Event = Event;
    type Durable = StoredState;
    type Job = <Lab2 as Machine>::Job;

    fn handle_message(&mut self, now: Now, (): (), message: &[u8], age: Duration) {
        self.0.handle_message(now, (), message, age);
    }

    fn handle_command(&mut self, now: Now, command: Command) {
        self.0.handle_command(now, command);
    }

    fn handle_link(&mut self, now: Now, net: LinkState) {
        self.0.handle_link(now, net);
    }

    fn handle_timeout(&mut self, now: Now) {
        self.0.handle_timeout(now);
    }

    fn handle_sent(&mut self, now: Now, ticket: Ticket, sent: SendOutcome) {
        self.0.handle_sent(now, ticket, sent);
    }

    fn wants_flush_report(&self) -> bool {
        self.0.wants_flush_report()
    }

    fn handle_flushed(&mut self, by: Now) {
        self.0.handle_flushed(by);
    }

    fn handle_stored(&mut self, now: Now, stored: StoreOutcome) {
        self.0.handle_stored(now, stored);
    }

    fn poll_durable(&mut self) -> Option<StoredState> {
        self.0.poll_durable()
    }

    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit> {
        self.0.poll_transmit(buf)
    }

    fn poll_event(&mut self) -> Option<Event> {
        let event = self.0.poll_event();
        if event.is_none() {
            self.0.end_iteration();
        }
        event
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.0.poll_timeout()
    }
}

impl Inspect for RecordedNode {
    fn start(constants: Constants, durable: StoredState) -> Self {
        Self(Recorded::new(Lab2::start(constants, durable)))
    }

    fn with_preference(self, preference: u8) -> Self {
        let machine: &Lab2 = &self.0;
        Self(Recorded::new(Inspect::with_preference(
            machine.clone(),
            preference,
        )))
    }

    fn with_stamps(self, stamps: Vec<StoredStamp>) -> Self {
        let machine: &Lab2 = &self.0;
        Self(Recorded::new(Inspect::with_stamps(machine.clone(), stamps)))
    }

    fn once(&self) -> Option<(u64, OnceProgress)> {
        Inspect::once(&*self.0)
    }

    fn run_of(&self, job: JobName) -> Option<RunView> {
        Inspect::run_of(&*self.0, job)
    }

    fn lock_lease_end(&self, session: u64) -> Option<Instant> {
        Inspect::lock_lease_end(&*self.0, session)
    }

    fn lock_views(&self) -> Vec<LockView> {
        Inspect::lock_views(&*self.0)
    }

    fn quorum_locks_hash(&self) -> u64 {
        Inspect::quorum_locks_hash(&*self.0)
    }

    fn wants_report(&self) -> bool {
        Inspect::wants_report(&*self.0)
    }

    fn survey_deadline(&self) -> Option<Instant> {
        Inspect::survey_deadline(&*self.0)
    }

    fn state(&self) -> State {
        Inspect::state(&*self.0)
    }

    fn held_token(&self) -> Option<Token> {
        Inspect::held_token(&*self.0)
    }

    fn may_use(&self) -> bool {
        Inspect::may_use(&*self.0)
    }

    fn lease_until(&self, now: Instant) -> Option<Instant> {
        Inspect::lease_until(&*self.0, now)
    }

    fn carries(&self, token: Token) -> bool {
        Inspect::carries(&*self.0, token)
    }

    fn has_held(&self, token: Token) -> bool {
        Inspect::has_held(&*self.0, token)
    }

    fn quorum_until(&self) -> Option<Instant> {
        Inspect::quorum_until(&*self.0)
    }

    fn quorum_size(&self) -> usize {
        Inspect::quorum_size(&*self.0)
    }

    fn is_unfit(&self) -> bool {
        Inspect::is_unfit(&*self.0)
    }

    fn lasting_problems(&self) -> Vec<Diagnostic> {
        Inspect::lasting_problems(&*self.0)
    }

    fn digest(&self) -> Digest {
        Inspect::digest(&*self.0)
    }

    fn members_in_order(&self) -> Option<usize> {
        Inspect::members_in_order(&*self.0)
    }

    fn is_finished(&self) -> bool {
        Inspect::is_finished(&*self.0)
    }
}

/// Simulates a ring, and returns the files of the recordings of its nodes.
fn record(seed: u64, faults: Faults) -> Vec<Vec<u8>> {
    let settings = Settings {
        seed,
        nodes: 4,
        time: Duration::from_secs(20),
        faults,
        idle_hold: None,
    };
    let outcome = run::<RecordedNode>(&settings);
    assert_eq!(outcome.violations, [], "seed {seed}");
    FILES.take()
}

/// Checks that the state machine has the recorded outputs.
fn check(path: &Path, file: &[u8]) {
    let recording = read::<Lab2>(file).expect("a recording");
    let repetition = repeat(&recording);
    assert!(
        matches!(repetition, Repetition::Same { .. }),
        "{}: {repetition}",
        path.display()
    );
}

#[test]
fn recordings_of_nodes_with_all_faults_repeat() {
    for seed in 0..10 {
        let files = record(seed, Faults::all());
        assert!(files.len() >= 4, "seed {seed}: {} files", files.len());
        files
            .iter()
            .for_each(|file| check(Path::new("memory"), file));
    }
}

#[test]
fn recordings_of_surveys_repeat() {
    let mut kinds = BTreeSet::new();
    for file in record(1, "survey".parse().expect("a kind of fault")) {
        check(Path::new("memory"), &file);
        let recording = read::<Lab2>(&file).expect("a recording");
        let frames = recording.records().filter(|(_, frame)| !frame.is_empty());
        kinds
            .extend(frames.map(|(_, frame)| Frame::decode(frame).expect("a frame").message.kind()));
    }
    for kind in [Kind::Survey, Kind::Report, Kind::Probe, Kind::Measures] {
        assert!(kinds.contains(&kind), "{kind:?} is not in {kinds:?}");
    }
}

/// Checks each recording in a directory. Returns the number of recordings.
fn check_directory(directory: &Path) -> usize {
    let entries = match fs::read_dir(directory) {
        // Git keeps no empty directory.
        Err(error) if error.kind() == ErrorKind::NotFound => return 0,
        entries => entries.expect("the directory of recordings"),
    };
    let mut count = 0;
    for entry in entries {
        let path = entry.expect("a directory entry").path();
        check(&path, &fs::read(&path).expect("a file"));
        count += 1;
    }
    count
}

/// Checks the recordings that a developer keeps while a fault is repaired. No commit contains one, because each new
/// field of the state machine would make it unreadable.
#[test]
fn kept_recordings_repeat() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sim");
    check_directory(&tests.join("recordings"));
}

#[test]
fn the_command_repeats_a_recording_and_keeps_it_as_a_test() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("node.pcapng");
    let recordings = record(0, Faults::NONE);
    fs::write(&file, &recordings[0]).expect("written");
    let kept = directory.path().join("kept");
    assert_eq!(check_directory(&kept), 0);
    let output = Process::new(env!("CARGO_BIN_EXE_ring-sim"))
        .arg("replay")
        .arg(&file)
        .arg("--write-test")
        .arg(&kept)
        .output()
        .expect("ring-sim is built");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(
        text.starts_with("simulated of ringd 1.2.3: a test\nthe same: "),
        "{text}"
    );
    assert_eq!(check_directory(&kept), 1);
}

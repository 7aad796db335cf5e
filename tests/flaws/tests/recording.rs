#![forbid(unsafe_code)]
//! The repetition of a recording shows that a state machine behaves differently.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_flaws::Flaw;
use ring_proto::lab2::{Command, Constants, Lab2, State, StoredState};
use ring_proto::time::{Instant, Now};
use ring_proto::{LinkState, Machine, SendOutcome, StoreOutcome};
use ring_recording::{About, Recorded};
use ring_sim::recording::Repetition;

/// A recorded node without other members.
struct Node {
    machine: Recorded<Lab2>,
    now: Now,
}

impl Node {
    fn new() -> Self {
        let blank = StoredState {
            my_token_number: 0,
            known: None,
            stamp: None,
        };
        let now = Now {
            monotonic: Instant::from_nanos(1_000_000_000),
            wall: 1_700_000_000_000_000_000,
        };
        let machine = Recorded::new(Lab2::new(Constants::default(), blank));
        let mut node = Self { machine, now };
        let up = LinkState::Up {
            mac: MacAddr([2, 0, 0, 0, 0, 1]),
            ip: [0; 16],
            mtu: 1500,
        };
        node.machine.handle_link(now, up);
        node.take_outputs();
        node
    }

    fn take_outputs(&mut self) {
        while self.machine.poll_durable().is_some() {
            self.machine.handle_stored(self.now, StoreOutcome::Done);
        }
        let mut buffer = [0; 2048];
        while let Some(transmit) = self.machine.poll_transmit(&mut buffer) {
            let ticket = transmit.ticket;
            let outcome = SendOutcome::Accepted;
            self.machine.handle_sent(self.now, ticket, outcome);
        }
        while self.machine.poll_event().is_some() {}
        self.machine.end_iteration();
    }

    /// Lets this time pass without an input. After this time, the timers that are due fire.
    fn pass(&mut self, time: Duration) {
        self.now.monotonic = self.now.monotonic + time;
        self.now.wall += u64::try_from(time.as_nanos()).expect("a short time");
        self.machine.handle_timeout(self.now);
        self.take_outputs();
    }
}

/// Returns a recording of an owner that is stalled for so long that its lease expires.
fn recording() -> Vec<u8> {
    let mut node = Node::new();
    for _ in 0..10_000 {
        node.pass(Duration::from_millis(1));
    }
    assert_eq!(node.machine.state(), State::Owner);
    node.machine.handle_command(node.now, Command::WantToken);
    node.take_outputs();
    node.pass(Duration::from_secs(10));
    let recording = node.machine.take_recording().expect("a recording");
    let about = About {
        system: "lab2".to_owned(),
        version: String::new(),
        ring: String::new(),
        reason: String::new(),
    };
    let mut file = Vec::new();
    ring_recording::write(&mut file, &about, &recording, |_| None).expect("written");
    file
}

#[test]
fn a_recording_shows_the_first_output_that_a_flaw_changes() {
    let recording = recording();
    let repeat = |flaw: &Flaw| flaw.repeat(&recording).expect("a recording");
    let sound = repeat(&Flaw::none());
    assert!(matches!(sound, Repetition::Same { .. }), "{sound}");
    // Without the rule, the owner keeps its expired token.
    let spoilt = repeat(&Flaw::by_name("no_lease").expect("a flaw"));
    let Repetition::Different(difference) = &spoilt else {
        panic!("no output differs: {spoilt}");
    };
    assert!(difference.expected.contains("WHERE_IS_TOKEN"), "{spoilt}");
    assert!(difference.got.contains("TOKEN_IS_HERE"), "{spoilt}");
}

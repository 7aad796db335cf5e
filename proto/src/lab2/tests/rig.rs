//! A test rig for one state machine, which is node n5. A test passes frames to the rig, and the rig returns the frames
//! of n5 as lines of text.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{FRAME_LEN_MAX, Message, NO_IP};

pub(crate) use super::notation::*;
use crate::lab2::{Command, Constants, Event, Lab2, Presence, State, StoredState};
use crate::time::{Instant, Now};
use crate::{LinkState, Machine, SendOutcome, StoreOutcome, Transmit};

/// A state machine, its clock and its output.
pub(crate) struct Rig {
    pub machine: Lab2,
    pub now: Now,
    pub events: Vec<Event>,
    /// State that the node stored last.
    pub durable: StoredState,
    /// Encoded frames that the last input caused.
    pub frames: Vec<Vec<u8>>,
    /// Encoded frames of the last input that caused frames.
    pub last_frames: Vec<Vec<u8>>,
    /// Whether the link refuses a frame.
    pub refuse: fn(&str) -> bool,
    /// Whether writes fail.
    pub disk_full: bool,
    /// Duration of the process's stall after each frame that it passes to the link.
    pub stalls: Duration,
}

impl Rig {
    /// Returns a LOOSER with the test constants and no stored state. The LOOSER has just asked for the token.
    pub(crate) fn looser() -> Self {
        Self::start(constants(), BLANK).0
    }

    /// Returns a node whose link has just come up, and the frames that it has sent.
    pub(crate) fn start(constants: Constants, durable: StoredState) -> (Self, Vec<String>) {
        constants.check().expect("constants that can work");
        let mut rig = Self {
            machine: Lab2::new(constants, durable),
            now: Now {
                monotonic: Instant::from_nanos(1_000_000_000),
                wall: 0,
            },
            events: Vec::new(),
            durable,
            frames: Vec::new(),
            last_frames: Vec::new(),
            refuse: |_| false,
            disk_full: false,
            stalls: Duration::ZERO,
        };
        let said = rig.link_up();
        (rig, said)
    }

    /// Returns a WAITER that knows n3 and has just heard of 10-n3-1 at n3.
    pub(crate) fn waiter() -> Self {
        Self::waiter_with(constants())
    }

    pub(crate) fn waiter_with(constants: Constants) -> Self {
        let (mut rig, _) = Self::start(constants, BLANK);
        rig.hear(3, was_here(token(10), 3));
        rig.hear_all(3, here(token(10)));
        assert_eq!(rig.state(), State::Waiter);
        rig.forget();
        rig
    }

    /// Returns an OWNER that knows n3 and n7 and has just taken 11-n3-1 from n3.
    pub(crate) fn owner() -> Self {
        Self::owner_with(constants())
    }

    pub(crate) fn owner_with(constants: Constants) -> Self {
        let mut rig = Self::waiter_with(constants);
        rig.hear(7, ping(NO_IP));
        rig.hear(3, take(token(11)));
        assert_eq!(rig.state(), State::Owner);
        rig.forget();
        rig
    }

    /// Returns an OWNER of 11-n3-1 that knows n3 and n7 and has just offered 12-n3-1 to n7.
    pub(crate) fn giver() -> Self {
        let mut rig = Self::owner();
        assert_eq!(rig.pass_time(IDLE_HOLD), ["TAKE_TOKEN 12-n3-1 to n7"]);
        rig.forget();
        rig
    }

    /// Returns a LOOSER that knows n3 and 10-n3-1 and has just asked again.
    pub(crate) fn asking() -> Self {
        let mut rig = Self::looser();
        rig.hear(3, was_here(token(10), 3));
        assert_eq!(rig.pass_time(LOOSER_TIMEOUT), ["WHERE_IS_TOKEN to all"]);
        rig.forget();
        rig
    }

    /// Returns a candidate that knows n3 and has just announced 11-n5-1.
    pub(crate) fn candidate() -> Self {
        let mut rig = Self::asking();
        let said = rig.pass_time(ANSWER_TIMEOUT);
        assert_eq!(said, ["GENERATING_TOKEN 11-n5-1 to all"]);
        rig.forget();
        rig
    }

    /// Forgets earlier events, so that a test sees only the events that the test causes.
    fn forget(&mut self) {
        self.events.clear();
    }

    pub(crate) fn state(&self) -> State {
        self.machine.state()
    }

    /// Returns the token that the node holds or knows, as text.
    pub(crate) fn token(&self) -> String {
        self.machine.token().map_or("none".into(), show)
    }

    pub(crate) fn link_up(&mut self) -> Vec<String> {
        self.link(LinkState::Up {
            mac: mac(ME),
            ip: ip(ME),
            mtu: 1500,
        })
    }

    pub(crate) fn link(&mut self, link: LinkState) -> Vec<String> {
        let now = self.now;
        self.input(|machine| machine.handle_link(now, link))
    }

    pub(crate) fn command(&mut self, command: Command) -> Vec<String> {
        let now = self.now;
        self.input(|machine| machine.handle_command(now, command))
    }

    /// Receives a unicast frame.
    pub(crate) fn hear(&mut self, from: u8, message: Message<'_>) -> Vec<String> {
        let message = with_digest(message, self.machine.digest());
        self.hear_bytes(&frame(mac(from), mac(ME), message), Duration::ZERO)
    }

    /// Receives a broadcast frame.
    pub(crate) fn hear_all(&mut self, from: u8, message: Message<'_>) -> Vec<String> {
        let message = with_digest(message, self.machine.digest());
        let bytes = frame(mac(from), MacAddr::BROADCAST, message);
        self.hear_bytes(&bytes, Duration::ZERO)
    }

    /// Receives a unicast frame that waited for `age`.
    pub(crate) fn hear_late(
        &mut self,
        from: u8,
        message: Message<'_>,
        age: Duration,
    ) -> Vec<String> {
        let message = with_digest(message, self.machine.digest());
        self.hear_bytes(&frame(mac(from), mac(ME), message), age)
    }

    pub(crate) fn hear_bytes(&mut self, bytes: &[u8], age: Duration) -> Vec<String> {
        let now = self.now;
        self.input(|machine| machine.handle_message(now, (), bytes, age))
    }

    /// Advances the time from deadline to deadline. Returns the frames that were sent.
    pub(crate) fn pass_time(&mut self, time: Duration) -> Vec<String> {
        let timed = self.timeline(time);
        timed.into_iter().map(|(_, line)| line).collect()
    }

    /// Advances the time like [`pass_time`](Self::pass_time). Returns the frames, each with the time since the start.
    pub(crate) fn timeline(&mut self, time: Duration) -> Vec<(Duration, String)> {
        let start = self.now.monotonic;
        let end = start + time;
        let mut said = Vec::new();
        while let Some(due) = self.machine.poll_timeout().filter(|&due| due <= end) {
            self.move_to(due);
            let now = self.now;
            let lines = self.input(|machine| machine.handle_timeout(now));
            let at = now.monotonic.since(start);
            said.extend(lines.into_iter().map(|line| (at, line)));
        }
        self.move_to(end);
        said
    }

    /// Advances the time while the process is stalled.
    pub(crate) fn stall(&mut self, time: Duration) {
        self.move_to(self.now.monotonic + time);
    }

    /// Resumes a stalled process. The process handles expired timeouts before waiting frames.
    pub(crate) fn wake(&mut self) -> Vec<String> {
        let now = self.now;
        self.input(|machine| machine.handle_timeout(now))
    }

    fn move_to(&mut self, to: Instant) {
        self.now.monotonic = to.max(self.now.monotonic);
    }

    /// Passes an input to the state machine and handles all its outputs, as the contract demands. Returns its frames.
    fn input(&mut self, input: impl FnOnce(&mut Lab2)) -> Vec<String> {
        input(&mut self.machine);
        let mut said = Vec::new();
        self.frames.clear();
        loop {
            while let Some(durable) = self.machine.poll_durable() {
                let stored = if self.disk_full {
                    StoreOutcome::Failed
                } else {
                    self.durable = durable;
                    StoreOutcome::Done
                };
                self.machine.handle_stored(self.now, stored);
            }
            let mut buf = [0xaa; FRAME_LEN_MAX];
            let Some(Transmit { len, ticket, .. }) = self.machine.poll_transmit(&mut buf) else {
                break;
            };
            assert_stored(&buf[..len], self.durable);
            let line = line(&buf[..len]);
            let sent = if (self.refuse)(&line) {
                SendOutcome::Failed
            } else {
                said.push(line);
                self.frames.push(buf[..len].to_vec());
                SendOutcome::Accepted
            };
            self.machine.handle_sent(self.now, ticket, sent);
            self.stall(self.stalls);
            if self.machine.wants_flush_report() {
                self.machine.handle_flushed(self.now);
            }
        }
        while let Some(event) = self.machine.poll_event() {
            self.events.push(event);
        }
        if !self.frames.is_empty() {
            self.last_frames.clone_from(&self.frames);
        }
        said
    }

    /// Returns the time until an application may rely on the token.
    pub(crate) fn settles_in(&self) -> Duration {
        let at = self.machine.reliable_from().expect("the link is up");
        at.since(self.now.monotonic)
    }

    /// Returns the numbers of the members.
    pub(crate) fn members(&self) -> Vec<u8> {
        self.machine.members().map(|m| m.mac.0[5]).collect()
    }

    /// Returns the IP address of a member.
    pub(crate) fn ip_of(&self, n: u8) -> Option<[u8; 16]> {
        let mut members = self.machine.members();
        members.find(|m| m.mac == mac(n)).map(|m| m.ip)
    }

    pub(crate) fn presence_of(&self, n: u8) -> Presence {
        let mut members = self.machine.members();
        let found = members.find(|m| m.mac == mac(n));
        found.expect("a member").presence
    }

    /// Returns the number of turns in which the owner will skip a member.
    pub(crate) fn penalty_of(&self, n: u8) -> u32 {
        let mut members = self.machine.members();
        let found = members.find(|m| m.mac == mac(n));
        found.expect("a member").penalty
    }
}

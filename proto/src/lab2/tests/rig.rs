//! One machine at arm's length: what it hears goes in, what it says comes out as lines of text.
//! The machine is node n5.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{MAX_FRAME_LEN, Message, NO_IP};

pub(crate) use super::notation::*;
use crate::lab2::{Command, Constants, Durable, Event, Lab2, Presence, State};
use crate::time::{Instant, Now};
use crate::{LinkState, Machine, Sent, Stored, Transmit};

/// A machine, its clock and everything that came out of it.
pub(crate) struct Rig {
    pub machine: Lab2,
    pub now: Now,
    pub events: Vec<Event>,
    /// What the machine has had stored last.
    pub durable: Durable,
    /// The frames of the last input, as they lie on the wire.
    pub frames: Vec<Vec<u8>>,
    /// Which frames the link refuses.
    pub refuse: fn(&str) -> bool,
    /// Nothing can be stored.
    pub disk_full: bool,
    /// How long the process stands still each time that it has handed a frame to the link.
    pub stalls: Duration,
}

impl Rig {
    /// A LOOSER that has asked just now, with the usual constants and no memory.
    pub(crate) fn looser() -> Self {
        Self::start(constants(), BLANK).0
    }

    /// A node at the moment that its link comes up, and what it says.
    pub(crate) fn start(constants: Constants, durable: Durable) -> (Self, Vec<String>) {
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
            refuse: |_| false,
            disk_full: false,
            stalls: Duration::ZERO,
        };
        let said = rig.link_up();
        (rig, said)
    }

    /// A WAITER that has heard of 10-n3-1 at n3 just now; n3 is known.
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

    /// An OWNER that has taken 11-n3-1 from n3 just now; n3 and n7 are known.
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

    /// An OWNER of 11-n3-1 that has offered 12-n3-1 to n7 just now; n3 and n7 are known.
    pub(crate) fn giver() -> Self {
        let mut rig = Self::owner();
        assert_eq!(rig.pass_time(IDLE_HOLD), ["TAKE_TOKEN 12-n3-1 to n7"]);
        rig.forget();
        rig
    }

    /// A LOOSER that knows 10-n3-1 and has asked again just now; n3 is known.
    pub(crate) fn asking() -> Self {
        let mut rig = Self::looser();
        rig.hear(3, was_here(token(10), 3));
        assert_eq!(rig.pass_time(LOOSER_TIMEOUT), ["WHERE_IS_TOKEN to all"]);
        rig.forget();
        rig
    }

    /// A candidate with 11-n5-1 that has said so just now; n3 is known.
    pub(crate) fn candidate() -> Self {
        let mut rig = Self::asking();
        let said = rig.pass_time(ANSWER_TIMEOUT);
        assert_eq!(said, ["GENERATING_TOKEN 11-n5-1 to all"]);
        rig.forget();
        rig
    }

    /// Forgets the events so far, so that a test sees its own.
    fn forget(&mut self) {
        self.events.clear();
    }

    pub(crate) fn state(&self) -> State {
        self.machine.state()
    }

    /// The token held or known, as text.
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

    /// A frame to this node.
    pub(crate) fn hear(&mut self, from: u8, message: Message<'_>) -> Vec<String> {
        let message = with_digest(message, self.machine.digest());
        self.hear_bytes(&frame(mac(from), mac(ME), message), Duration::ZERO)
    }

    /// A frame to all.
    pub(crate) fn hear_all(&mut self, from: u8, message: Message<'_>) -> Vec<String> {
        let message = with_digest(message, self.machine.digest());
        let bytes = frame(mac(from), MacAddr::BROADCAST, message);
        self.hear_bytes(&bytes, Duration::ZERO)
    }

    /// A frame that has waited for `age`.
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

    /// Lets time pass from deadline to deadline; what was said meanwhile.
    pub(crate) fn pass_time(&mut self, time: Duration) -> Vec<String> {
        let timed = self.timeline(time);
        timed.into_iter().map(|(_, line)| line).collect()
    }

    /// Like [`pass_time`](Self::pass_time), with the time from the start at which it was said.
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

    /// Lets time pass without the machine having a chance to do anything: a stopped process.
    pub(crate) fn sleep_through(&mut self, time: Duration) {
        self.move_to(self.now.monotonic + time);
    }

    /// The machine wakes up and sees what time it is.
    pub(crate) fn wake(&mut self) -> Vec<String> {
        let now = self.now;
        self.input(|machine| machine.handle_timeout(now))
    }

    fn move_to(&mut self, to: Instant) {
        self.now.monotonic = to.max(self.now.monotonic);
    }

    /// Gives the machine an input and drains it as the contract says.
    fn input(&mut self, input: impl FnOnce(&mut Lab2)) -> Vec<String> {
        input(&mut self.machine);
        let mut said = Vec::new();
        self.frames.clear();
        loop {
            while let Some(durable) = self.machine.poll_durable() {
                let stored = if self.disk_full {
                    Stored::Failed
                } else {
                    self.durable = durable;
                    Stored::Done
                };
                self.machine.handle_stored(self.now, stored);
            }
            let mut buf = [0xaa; MAX_FRAME_LEN];
            let Some(Transmit { len, ticket, .. }) = self.machine.poll_transmit(&mut buf) else {
                break;
            };
            assert_stored(&buf[..len], self.durable);
            let line = line(&buf[..len]);
            let sent = if (self.refuse)(&line) {
                Sent::Failed
            } else {
                said.push(line);
                self.frames.push(buf[..len].to_vec());
                Sent::Accepted
            };
            self.machine.handle_sent(self.now, ticket, sent);
            self.sleep_through(self.stalls);
            if self.machine.asks_when_left() {
                self.machine.handle_left(self.now);
            }
        }
        while let Some(event) = self.machine.poll_event() {
            self.events.push(event);
        }
        said
    }

    /// How long it is until an application may rely on the token.
    pub(crate) fn settles_in(&self) -> Duration {
        let at = self.machine.settled_at().expect("the link is up");
        at.since(self.now.monotonic)
    }

    /// The members' numbers.
    pub(crate) fn members(&self) -> Vec<u8> {
        self.machine.members().map(|m| m.mac.0[5]).collect()
    }

    /// The ip held for a member.
    pub(crate) fn ip_of(&self, n: u8) -> Option<[u8; 16]> {
        let mut members = self.machine.members();
        members.find(|m| m.mac == mac(n)).map(|m| m.ip)
    }

    /// Whether a member is there.
    pub(crate) fn presence_of(&self, n: u8) -> Presence {
        let mut members = self.machine.members();
        let found = members.find(|m| m.mac == mac(n));
        found.expect("a member").presence
    }

    /// For how many turns a member is passed over.
    pub(crate) fn penalty_of(&self, n: u8) -> u32 {
        let mut members = self.machine.members();
        let found = members.find(|m| m.mac == mac(n));
        found.expect("a member").penalty
    }
}

//! One machine at arm's length: what it hears goes in, what it says comes out as lines of text.
//!
//! The machine is node n5. A token is written `progress:author#number`, a frame as
//! `KIND what-it-carries to whom`.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Frame, MAX_FRAME_LEN, Member, Message, NO_IP, Token};

use crate::proto::lab2::{Command, Constants, Durable, Event, Lab2, State};
use crate::proto::time::{Instant, Now};
use crate::proto::{LinkState, Machine, Sent, Transmit};

/// The machine under test.
pub const ME: u8 = 5;
/// Stands for the digest that the machine itself has: tables agree.
pub const SAME: Digest = Digest {
    size: u32::MAX,
    hash: 1,
};
/// A digest that no table here has.
pub const OTHER: Digest = Digest {
    size: u32::MAX,
    hash: 2,
};
/// Nothing stored by an earlier run.
pub const BLANK: Durable = Durable {
    my_token_number: 0,
    known: None,
};
/// HEART_BEAT_PERIOD of the default constants.
pub const HEARTBEAT: Duration = Duration::from_millis(100);
/// TAKE_TIMEOUT of the default constants.
pub const TAKE_TIMEOUT: Duration = Duration::from_millis(5);
/// IDLE_HOLD of the default constants.
pub const IDLE_HOLD: Duration = Duration::from_millis(10);
/// WAITER_TIMEOUT of the default constants.
pub const WAITER_TIMEOUT: Duration = Duration::from_millis(400);
/// LOOSER_TIMEOUT of the default constants.
pub const LOOSER_TIMEOUT: Duration = Duration::from_millis(200);
/// LOOSER_ANSWER_TIMEOUT of the default constants.
pub const ANSWER_TIMEOUT: Duration = Duration::from_millis(100);

pub const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The address of node `n`.
pub const fn mac(n: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, n])
}

/// 10.0.0.n as the protocol carries it.
pub const fn ip(n: u8) -> [u8; 16] {
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, n]
}

/// A token of n3's first chain.
pub const fn token(progress: u64) -> Token {
    token_of(progress, 3, 1)
}

pub const fn token_of(progress: u64, author: u8, number: u32) -> Token {
    Token {
        progress,
        author: mac(author),
        number,
    }
}

pub const fn take(token: Token) -> Message<'static> {
    Message::TakeToken {
        token,
        digest: SAME,
        data: b"",
    }
}

pub const fn here(token: Token) -> Message<'static> {
    Message::TokenIsHere {
        token,
        digest: SAME,
        data: b"",
    }
}

pub const fn was_here(token: Token, holder: u8) -> Message<'static> {
    Message::TokenWasHereRecently {
        token,
        holder: mac(holder),
    }
}

pub const fn ping(ip: [u8; 16]) -> Message<'static> {
    Message::Ping { digest: SAME, ip }
}

pub const fn generating(token: Token) -> Message<'static> {
    Message::GeneratingToken { token }
}

pub fn member(n: u8, ip: [u8; 16]) -> Member {
    Member { mac: mac(n), ip }
}

/// A message with the machine's own digest where [`SAME`] stands for it.
fn with_digest(message: Message<'_>, own: Digest) -> Message<'_> {
    let real = |digest| if digest == SAME { own } else { digest };
    match message {
        Message::TakeToken {
            token,
            digest,
            data,
        } => Message::TakeToken {
            token,
            digest: real(digest),
            data,
        },
        Message::TokenIsHere {
            token,
            digest,
            data,
        } => Message::TokenIsHere {
            token,
            digest: real(digest),
            data,
        },
        Message::Ping { digest, ip } => Message::Ping {
            digest: real(digest),
            ip,
        },
        Message::RingMembers { digest, members } => Message::RingMembers {
            digest: real(digest),
            members,
        },
        other => other,
    }
}

/// A whole frame as it lies on the wire.
pub fn frame(from: MacAddr, to: MacAddr, message: Message<'_>) -> Vec<u8> {
    let frame = Frame {
        destination: to,
        author: from,
        message,
    };
    let mut buf = [0; MAX_FRAME_LEN];
    let len = frame
        .encode(0x88b5, &mut buf)
        .expect("tests write legal frames");
    buf[..len].to_vec()
}

/// A frame's content, for asserting on.
pub fn decode(frame: &[u8]) -> Frame<'_> {
    Frame::decode(frame).expect("machines send valid frames")
}

fn name(mac: MacAddr) -> String {
    if mac == MacAddr::BROADCAST {
        "all".into()
    } else {
        format!("n{}", mac.0[5])
    }
}

/// `progress:author#number`.
pub fn show(token: Token) -> String {
    format!("{}:{}#{}", token.progress, name(token.author), token.number)
}

/// A frame as a line of text.
pub fn line(bytes: &[u8]) -> String {
    let Frame {
        destination,
        message,
        ..
    } = decode(bytes);
    let carries = match message {
        Message::TakeToken { token, .. }
        | Message::TokenIsHere { token, .. }
        | Message::GeneratingToken { token } => format!("{} ", show(token)),
        Message::TokenWasHereRecently { token, holder } => {
            format!("{} at {} ", show(token), name(holder))
        }
        Message::RingMembers { members, .. } => format!("{} ", members.len()),
        Message::Ping { .. } | Message::WhereIsToken | Message::WantToken | Message::Leaving => {
            String::new()
        }
    };
    format!("{} {carries}to {}", message.kind(), name(destination))
}

/// Section 2: what a frame tells of a token has been stored before it leaves.
pub fn assert_stored(bytes: &[u8], durable: Durable) {
    let (Message::TakeToken { token, .. }
    | Message::TokenIsHere { token, .. }
    | Message::TokenWasHereRecently { token, .. }) = decode(bytes).message
    else {
        return;
    };
    let known = durable.known.expect("a token was stored");
    assert!(!token.is_stronger_than(&known), "{} told", show(token));
    if token.author == decode(bytes).author {
        assert!(token.number <= durable.my_token_number, "number not stored");
    }
}

/// A machine, its clock and everything that came out of it.
pub struct Rig {
    pub machine: Lab2,
    pub now: Now,
    pub events: Vec<Event>,
    /// What the machine has had stored last.
    pub durable: Durable,
    /// The frames of the last input, as they lie on the wire.
    pub frames: Vec<Vec<u8>>,
    /// Which frames the link refuses.
    pub refuse: fn(&str) -> bool,
}

impl Rig {
    /// A LOOSER that has asked just now, with default constants and no memory.
    pub fn looser() -> Self {
        Self::start(Constants::default(), BLANK).0
    }

    /// A node at the moment that its link comes up, and what it says.
    pub fn start(constants: Constants, durable: Durable) -> (Self, Vec<String>) {
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
        };
        let said = rig.link_up();
        (rig, said)
    }

    /// A WAITER that has heard of 10:n3#1 at n3 just now; n3 is known.
    pub fn waiter() -> Self {
        Self::waiter_with(Constants::default())
    }

    pub fn waiter_with(constants: Constants) -> Self {
        let (mut rig, _) = Self::start(constants, BLANK);
        rig.hear(3, was_here(token(10), 3));
        rig.hear_all(3, here(token(10)));
        assert_eq!(rig.state(), State::Waiter);
        rig.forget();
        rig
    }

    /// An OWNER that has taken 11:n3#1 from n3 just now; n3 and n7 are known.
    pub fn owner() -> Self {
        Self::owner_with(Constants::default())
    }

    pub fn owner_with(constants: Constants) -> Self {
        let mut rig = Self::waiter_with(constants);
        rig.hear(7, ping(NO_IP));
        rig.hear(3, take(token(11)));
        assert_eq!(rig.state(), State::Owner);
        rig.forget();
        rig
    }

    /// An OWNER of 11:n3#1 that has offered 12:n3#1 to n7 just now; n3 and n7 are known.
    pub fn giver() -> Self {
        let mut rig = Self::owner();
        assert_eq!(rig.pass_time(IDLE_HOLD), ["TAKE_TOKEN 12:n3#1 to n7"]);
        rig.forget();
        rig
    }

    /// A LOOSER that knows 10:n3#1 and has asked again just now; n3 is known.
    pub fn asking() -> Self {
        let mut rig = Self::looser();
        rig.hear(3, was_here(token(10), 3));
        assert_eq!(rig.pass_time(LOOSER_TIMEOUT), ["WHERE_IS_TOKEN to all"]);
        rig.forget();
        rig
    }

    /// A candidate with 11:n5#1 that has said so just now; n3 is known.
    pub fn candidate() -> Self {
        let mut rig = Self::asking();
        let said = rig.pass_time(ANSWER_TIMEOUT);
        assert_eq!(said, ["GENERATING_TOKEN 11:n5#1 to all"]);
        rig.forget();
        rig
    }

    /// Forgets the events so far, so that a test sees its own.
    fn forget(&mut self) {
        self.events.clear();
    }

    pub fn state(&self) -> State {
        self.machine.state()
    }

    /// The token held or known, as text.
    pub fn token(&self) -> String {
        self.machine.token().map_or("none".into(), show)
    }

    pub fn link_up(&mut self) -> Vec<String> {
        self.link(LinkState::Up {
            mac: mac(ME),
            ip: ip(ME),
            mtu: 1500,
        })
    }

    pub fn link(&mut self, link: LinkState) -> Vec<String> {
        let now = self.now;
        self.input(|machine| machine.handle_link(now, link))
    }

    pub fn command(&mut self, command: Command) -> Vec<String> {
        let now = self.now;
        self.input(|machine| machine.handle_command(now, command))
    }

    /// A frame to this node.
    pub fn hear(&mut self, from: u8, message: Message<'_>) -> Vec<String> {
        let message = with_digest(message, self.machine.digest());
        self.hear_bytes(&frame(mac(from), mac(ME), message), Duration::ZERO)
    }

    /// A frame to all.
    pub fn hear_all(&mut self, from: u8, message: Message<'_>) -> Vec<String> {
        let message = with_digest(message, self.machine.digest());
        let bytes = frame(mac(from), MacAddr::BROADCAST, message);
        self.hear_bytes(&bytes, Duration::ZERO)
    }

    /// A frame that has waited for `age`.
    pub fn hear_late(&mut self, from: u8, message: Message<'_>, age: Duration) -> Vec<String> {
        let message = with_digest(message, self.machine.digest());
        self.hear_bytes(&frame(mac(from), mac(ME), message), age)
    }

    pub fn hear_bytes(&mut self, bytes: &[u8], age: Duration) -> Vec<String> {
        let now = self.now;
        self.input(|machine| machine.handle_frame(now, bytes, age))
    }

    /// Lets time pass from deadline to deadline; what was said meanwhile.
    pub fn pass_time(&mut self, time: Duration) -> Vec<String> {
        let timed = self.timeline(time);
        timed.into_iter().map(|(_, line)| line).collect()
    }

    /// Like [`pass_time`](Self::pass_time), with the time from the start at which it was said.
    pub fn timeline(&mut self, time: Duration) -> Vec<(Duration, String)> {
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
    pub fn sleep_through(&mut self, time: Duration) {
        self.move_to(self.now.monotonic + time);
    }

    /// The machine wakes up and sees what time it is.
    pub fn wake(&mut self) -> Vec<String> {
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
            self.durable = self.machine.poll_durable().unwrap_or(self.durable);
            let mut buf = [0xaa; MAX_FRAME_LEN];
            let Some(Transmit { len, ticket }) = self.machine.poll_transmit(&mut buf) else {
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
        }
        while let Some(event) = self.machine.poll_event() {
            self.events.push(event);
        }
        said
    }

    /// The members' numbers.
    pub fn members(&self) -> Vec<u8> {
        self.machine.members().map(|m| m.mac.0[5]).collect()
    }

    /// The ip held for a member.
    pub fn ip_of(&self, n: u8) -> Option<[u8; 16]> {
        let mut members = self.machine.members();
        members.find(|m| m.mac == mac(n)).map(|m| m.ip)
    }

    /// For how many turns a member is passed over.
    pub fn penalty_of(&self, n: u8) -> u32 {
        let mut members = self.machine.members();
        let found = members.find(|m| m.mac == mac(n));
        found.expect("a member").penalty
    }
}

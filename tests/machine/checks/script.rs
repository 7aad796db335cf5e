//! Scripts for the Lab2 state machine that any bytes can be read as.

use arbitrary::Arbitrary;

/// The options of the state machine.
#[derive(Debug, Arbitrary)]
pub(super) struct MachineOptions {
    /// Selects an idle hold: none, short, or the default.
    pub idle_hold: u8,
    /// TAKE_ATTEMPTS - 1.
    pub attempts: u8,
    /// Whether the table holds only four members.
    pub small_table: bool,
    /// Selects the number of expected members, or none.
    pub expect: u8,
}

/// One input.
#[derive(Debug, Arbitrary)]
pub(super) enum Step {
    /// Receives a frame of valid form.
    Hear(ScriptedFrame),
    /// Receives any bytes.
    Garbage(Vec<u8>),
    /// Wakes the state machine this many milliseconds after its deadline.
    TimeOut(u8),
    /// Wakes the state machine without a reason, after this many microseconds.
    Pass(u16),
    /// Sets the monotonic clock back by this many milliseconds for one input.
    ClockBack(u8),
    /// Sets the wall clock by this many hours.
    WallClock(i8),
    /// Changes the interface.
    Link(LinkChange),
    /// Gives a command.
    Command(ScriptedCommand),
    /// Refuses the next frames, at most sixteen.
    Refuse(u8),
    /// Restarts the process with its stored state.
    Restart,
}

/// A change of the interface.
#[derive(Debug, Arbitrary)]
pub(super) enum LinkChange {
    Down,
    Up,
    /// Brings it up with the last byte of another IP.
    Ip(u8),
    /// Brings it up with one of two addresses.
    Mac(bool),
    /// Brings it up with another MTU, from a very small one to more than Ethernet's.
    Mtu(u8),
}

/// A command.
#[derive(Debug, Arbitrary)]
pub(super) enum ScriptedCommand {
    Want,
    Done,
    /// The length of the data.
    Data(u16),
    Confirm,
    Pause(bool),
    /// To one of the stations, or to the next member.
    Yield(Option<u8>),
    ShutDown,
    Leave,
    /// The number of the station.
    Forget(u8),
    /// A job that runs once.
    Once(Job),
    /// The end of the last job, in one of its forms.
    EndOnce(u8),
}

/// A job, with the number of its name.
#[derive(Debug, Arbitrary)]
pub(super) struct Job {
    pub name: u8,
    /// The period in minutes.
    pub minutes: u8,
    pub retry: bool,
    pub require: u8,
}

/// A received frame.
#[derive(Debug, Arbitrary)]
pub(super) struct ScriptedFrame {
    /// Selects one of eight stations.
    pub from: u8,
    pub to: Destination,
    pub what: ScriptedMessage,
    /// The time for which it has waited in the queue, in milliseconds.
    pub age: u8,
    /// The profile of its author, if any.
    pub says: Option<ScriptedProfile>,
}

/// The profile of a member.
#[derive(Debug, Arbitrary)]
pub(super) struct ScriptedProfile {
    /// The flags; one says that the member hears nobody.
    pub flags: u8,
    /// An eighth of the MTU.
    pub mtu: u8,
    /// Whether its constants are the node's.
    pub same: bool,
    /// A multiple of 4 ms, or any time.
    pub patience: Result<u8, u64>,
    pub shortest: Result<u8, u64>,
    pub take: Result<u8, u64>,
    pub expect: u8,
}

/// The destination of a frame.
#[derive(Debug, Arbitrary, Clone, Copy, PartialEq, Eq)]
pub(super) enum Destination {
    Me,
    All,
    Other,
}

/// The message of a frame.
#[derive(Debug, Arbitrary)]
pub(super) enum ScriptedMessage {
    TakeToken(TokenChoice),
    /// With a number if it is a heartbeat.
    TokenIsHere(TokenChoice, bool, Option<u32>),
    /// The last field tells whether the author is paused.
    Ping(bool, u8, bool),
    Promise(ScriptedPromise),
    TokenWasHereRecently(TokenChoice, u8),
    WhereIsToken,
    GeneratingToken(TokenChoice),
    /// Whether the digest is the node's own, and members by number and IP.
    RingMembers(bool, Vec<(u8, u8)>),
    WantToken,
    Leaving,
    /// Stations that the author has removed.
    Forget(Vec<u8>),
    Stamps(ScriptedStamps),
}

/// A message about jobs.
#[derive(Debug, Arbitrary)]
pub(super) struct ScriptedStamps {
    pub token: TokenChoice,
    pub purpose: u8,
    /// Whether it answers the last question of the node; otherwise with this number.
    pub serial: Option<u8>,
    /// Whether the digest is that of the node's last question.
    pub same: bool,
    pub stamps: Vec<ScriptedStamp>,
}

/// The last run of a job.
#[derive(Debug, Arbitrary)]
pub(super) struct ScriptedStamp {
    pub name: u8,
    /// The progress of its token, relative to the known one.
    pub more: i8,
    pub number: u8,
    pub runner: u8,
    pub outcome: u8,
    pub minutes: u8,
    /// The seconds since it began, if that is known.
    pub age: Option<u16>,
    pub before: Option<u16>,
}

/// A promise, mostly for one of the latest heartbeats.
#[derive(Debug, Arbitrary)]
pub(super) struct ScriptedPromise {
    pub token: TokenChoice,
    /// The number of heartbeats since the confirmed one.
    pub ago: u8,
    /// The duration in milliseconds, or any time.
    pub lasts: Result<u8, u64>,
}

/// A token, described from the node's point of view.
#[derive(Debug, Arbitrary)]
pub(super) enum TokenChoice {
    /// The strongest known token.
    Known,
    /// The token that the node holds.
    Held,
    /// The token of the last offer.
    Offered,
    /// A token of the same or of another chain, with this much more progress than the known one.
    Near { more: i8, author: u8, number: u8 },
    Any {
        progress: u64,
        author: u8,
        number: u32,
    },
}

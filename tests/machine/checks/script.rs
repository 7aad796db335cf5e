//! Scripts for the Lab2 state machine. Any bytes are a valid script.

use arbitrary::Arbitrary;

/// The options of the state machine.
#[derive(Debug, Arbitrary)]
pub(super) struct MachineOptions {
    /// Selects the idle hold: zero, a short hold, or the default.
    pub idle_hold: u8,
    /// TAKE_ATTEMPTS minus 1.
    pub attempts: u8,
    /// Whether the table has space for only four members.
    pub small_table: bool,
    /// Selects the number of expected members, or leaves this option out.
    pub expect: u8,
}

/// One input.
#[derive(Debug, Arbitrary)]
pub(super) enum Step {
    /// Receives a frame of valid form.
    Hear(ScriptedFrame),
    /// Receives arbitrary bytes.
    Garbage(Vec<u8>),
    /// Wakes the state machine this many milliseconds after its deadline.
    TimeOut(u8),
    /// Wakes the state machine after this many microseconds, although its deadline is later.
    Pass(u16),
    /// Sets the monotonic clock back by this many milliseconds for one input.
    ClockBack(u8),
    /// Moves the wall clock by this many hours.
    WallClock(i8),
    /// Changes the interface.
    Link(LinkChange),
    /// Gives the state machine a command.
    Command(ScriptedCommand),
    /// Makes the link refuse this many of the next frames, at most sixteen.
    Refuse(u8),
    /// Restarts the node's process with its stored state.
    Restart,
}

/// A change of the interface.
#[derive(Debug, Arbitrary)]
pub(super) enum LinkChange {
    Down,
    Up,
    /// Brings the interface up with a new IP. The field is the last byte of the IP.
    Ip(u8),
    /// Brings the interface up with one of two MAC addresses.
    Mac(bool),
    /// Brings the interface up with a new MTU. The MTU may be very small, or larger than the MTU of Ethernet.
    Mtu(u8),
}

#[derive(Debug, Arbitrary)]
pub(super) enum ScriptedCommand {
    Want,
    Done,
    /// The length of the data.
    Data(u16),
    Confirm,
    Pause(bool),
    /// Hands the token over to one of the stations, or to the next member.
    Yield(Option<u8>),
    ShutDown,
    Leave,
    /// The number of the station.
    Forget(u8),
    /// A job that runs once.
    Once(Job),
    /// Ends the last job with one of the possible results.
    EndOnce(u8),
    /// Takes a named lock.
    TakeLock(Take),
    /// Ends a session; the field is the number of sessions that began after it.
    ReleaseLock(u8),
}

/// A take of a named lock. The number `name` selects the name of the lock.
#[derive(Debug, Arbitrary)]
pub(super) struct Take {
    pub name: u8,
    pub shared: bool,
    pub grade: u8,
}

/// A job. The number `name` selects the name of the job.
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
    /// The age of the frame: its time in the queue, in milliseconds.
    pub age: u8,
    /// The profile of the frame's author; `None` if the frame has no profile.
    pub says: Option<ScriptedProfile>,
    /// The standing of the frame's author; `None` if the frame has no standing.
    pub stands: Option<ScriptedStanding>,
}

/// The profile of a member.
#[derive(Debug, Arbitrary)]
pub(super) struct ScriptedProfile {
    /// The flags. One flag means that the member hears no other member.
    pub flags: u8,
    /// The MTU divided by 8.
    pub mtu: u8,
    /// Whether the member has the same constants as the node.
    pub same: bool,
    /// A number of units of 4 ms, or any number of nanoseconds.
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
    /// The last field is the number of the heartbeat, or `None` if the message is no heartbeat.
    TokenIsHere(TokenChoice, bool, Option<u32>),
    /// The last field is `true` if the author is paused.
    Ping(bool, u8, bool),
    Promise(ScriptedPromise),
    TokenWasHereRecently(TokenChoice, u8),
    WhereIsToken,
    GeneratingToken(TokenChoice),
    /// The first field is true if the digest is the digest of the node. The list has the numbers of the members and of
    /// their IPs.
    RingMembers(bool, Vec<(u8, u8)>),
    WantToken,
    Leaving,
    /// Stations that the author has removed.
    Forget(Vec<u8>),
    Stamps(ScriptedStamps),
    Locks(ScriptedLocks),
    LocksQuestion(ScriptedQuestion),
}

/// A message about named locks.
#[derive(Debug, Arbitrary)]
pub(super) struct ScriptedLocks {
    pub token: TokenChoice,
    pub purpose: u8,
    /// Whether the message is about the table of grade quorum.
    pub quorum: bool,
    /// The serial number. The number `None` stands for the node's last renewal.
    pub serial: Option<u8>,
    /// Selects one of four hashes: of the node's table, of this table with the records, of only the records, or an
    /// unrelated hash.
    pub hash: u8,
    /// Selects the range of keys.
    pub range: u8,
    pub records: Vec<ScriptedRecord>,
}

/// A record of a named lock.
#[derive(Debug, Arbitrary)]
pub(super) struct ScriptedRecord {
    pub name: u8,
    pub member: u8,
    /// The number of sessions of the node that began after the session of this record.
    pub session: u8,
    pub shared: bool,
    pub grade: u8,
    pub state: u8,
    pub ticket: u8,
    /// The progress of the fencing token, relative to the known progress.
    pub more: i8,
    pub author: u8,
    pub number: u8,
    pub flag: u8,
    /// The seconds since the request; `None` if they are unknown.
    pub age: Option<u8>,
}

/// A question about the records of a table.
#[derive(Debug, Arbitrary)]
pub(super) struct ScriptedQuestion {
    pub quorum: bool,
    pub from: u64,
    /// The sum of each range of keys. The sum of a range without records is 0.
    pub sum: u8,
}

/// The standing of a member.
#[derive(Debug, Arbitrary)]
pub(super) struct ScriptedStanding {
    pub token: TokenChoice,
    pub change: u8,
    pub same_quorum: bool,
    pub same_others: bool,
    /// A number of units of 4 ms; `None` if the time is unknown.
    pub settles: Option<u8>,
}

/// A message about jobs.
#[derive(Debug, Arbitrary)]
pub(super) struct ScriptedStamps {
    pub token: TokenChoice,
    pub purpose: u8,
    /// The number of the question that the message answers. The number `None` stands for the node's last question.
    pub serial: Option<u8>,
    /// Whether the digest is equal to the digest of the node's last question.
    pub same: bool,
    pub stamps: Vec<ScriptedStamp>,
}

/// The last run of a job.
#[derive(Debug, Arbitrary)]
pub(super) struct ScriptedStamp {
    pub name: u8,
    /// The progress of the run's token, relative to the known progress.
    pub more: i8,
    pub number: u8,
    pub runner: u8,
    pub outcome: u8,
    pub minutes: u8,
    /// The seconds since the start of the run; `None` if the start is unknown.
    pub age: Option<u16>,
    pub before: Option<u16>,
}

/// A promise. In most cases it confirms one of the latest heartbeats.
#[derive(Debug, Arbitrary)]
pub(super) struct ScriptedPromise {
    pub token: TokenChoice,
    /// The number of heartbeats that the node sent after the confirmed heartbeat.
    pub ago: u8,
    /// The duration in units of 4 ms, or any number of nanoseconds.
    pub lasts: Result<u8, u64>,
}

/// A token, described from the node's point of view.
#[derive(Debug, Arbitrary)]
pub(super) enum TokenChoice {
    /// The strongest known token.
    Known,
    /// The token that the node holds.
    Held,
    /// The token that was offered last.
    Offered,
    /// A token of the known token's chain or of a different chain. `more` is the difference between the progress of
    /// this token and the known progress.
    Near { more: i8, author: u8, number: u8 },
    Any {
        progress: u64,
        author: u8,
        number: u32,
    },
}

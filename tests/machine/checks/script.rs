//! What happens to one machine, as any bytes can be read.

use arbitrary::Arbitrary;

/// What kind of machine it is.
#[derive(Debug, Arbitrary)]
pub(super) struct Nature {
    /// Chooses among idle holds that make different machines: none, short, the default.
    pub idle_hold: u8,
    /// TAKE_ATTEMPTS, less one.
    pub attempts: u8,
    /// Whether the table holds four members only.
    pub small_table: bool,
    /// How many members are expected; none: it does not know.
    pub expect: u8,
}

/// One input.
#[derive(Debug, Arbitrary)]
pub(super) enum Step {
    /// A frame of a valid form.
    Hear(Heard),
    /// Any bytes.
    Garbage(Vec<u8>),
    /// The machine's time comes, and it is woken so many milliseconds late.
    TimeOut(u8),
    /// So many microseconds pass and the machine is woken for nothing.
    Pass(u16),
    /// The caller's clock goes back by so many milliseconds.
    ClockBack(u8),
    /// The wall clock is set by so many hours.
    WallClock(i8),
    /// The interface changes.
    Link(LinkChange),
    /// An application or the operator wants something.
    Command(Order),
    /// The link refuses so many frames, sixteen at most, from now on.
    Refuse(u8),
    /// The process dies and is started again with what it has stored.
    Restart,
}

/// A change of the interface.
#[derive(Debug, Arbitrary)]
pub(super) enum LinkChange {
    Down,
    Up,
    /// Up with the last byte of another ip.
    Ip(u8),
    /// Up with another address, one of two.
    Mac(bool),
    /// Up with another MTU, from one that carries hardly anything to one of Ethernet and more.
    Mtu(u8),
}

/// What is asked of the machine.
#[derive(Debug, Arbitrary)]
pub(super) enum Order {
    Want,
    Done,
    /// With so many bytes of data.
    Data(u16),
    Confirm,
    Pause(bool),
    /// To one of the stations, or the next.
    Yield(Option<u8>),
    ShutDown,
    Leave,
    /// One of the stations.
    Forget(u8),
    /// A job that is to run once.
    Once(Job),
    /// The job that was asked for last has ended, in one of the ways there are.
    EndOnce(u8),
}

/// A job, by the number of its name.
#[derive(Debug, Arbitrary)]
pub(super) struct Job {
    pub name: u8,
    /// Its period in minutes.
    pub minutes: u8,
    pub retry: bool,
    pub require: u8,
}

/// A frame that is heard.
#[derive(Debug, Arbitrary)]
pub(super) struct Heard {
    /// Chooses one of eight stations.
    pub from: u8,
    pub to: To,
    pub what: What,
    /// Milliseconds that it has waited in the queue.
    pub age: u8,
    /// What its author says of itself; none: nothing.
    pub says: Option<Says>,
}

/// What a member says of itself.
#[derive(Debug, Arbitrary)]
pub(super) struct Says {
    /// Flags, of which one is that it hears nobody.
    pub flags: u8,
    /// The MTU, an eighth of it.
    pub mtu: u8,
    /// Whether its constants are the machine's.
    pub same: bool,
    /// Milliseconds, times four, or any time at all.
    pub patience: Result<u8, u64>,
    pub shortest: Result<u8, u64>,
    pub take: Result<u8, u64>,
    pub expect: u8,
}

/// Whom a frame is addressed to.
#[derive(Debug, Arbitrary, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    Me,
    All,
    Other,
}

/// What a frame says.
#[derive(Debug, Arbitrary)]
pub(super) enum What {
    TakeToken(Which),
    /// With a number, if it is a heartbeat.
    TokenIsHere(Which, bool, Option<u32>),
    /// Perhaps from one that is paused.
    Ping(bool, u8, bool),
    Promise(Pledge),
    TokenWasHereRecently(Which, u8),
    WhereIsToken,
    GeneratingToken(Which),
    /// Whether the digest is the machine's own; members by number and ip.
    RingMembers(bool, Vec<(u8, u8)>),
    WantToken,
    Leaving,
    /// Stations that the author has removed.
    Forget(Vec<u8>),
    Stamps(Telling),
}

/// What is said of jobs.
#[derive(Debug, Arbitrary)]
pub(super) struct Telling {
    pub token: Which,
    pub purpose: u8,
    /// Whether it answers what the machine has last asked; else with this number.
    pub serial: Option<u8>,
    /// Whether the digest is the one that the machine has last asked with.
    pub same: bool,
    pub stamps: Vec<Run>,
}

/// The last run of a job.
#[derive(Debug, Arbitrary)]
pub(super) struct Run {
    pub name: u8,
    /// Of its token, from what is known.
    pub more: i8,
    pub number: u8,
    pub runner: u8,
    pub outcome: u8,
    pub minutes: u8,
    /// Seconds since it began, if that is known.
    pub age: Option<u16>,
    pub before: Option<u16>,
}

/// A promise, for one of the latest heartbeats mostly.
#[derive(Debug, Arbitrary)]
pub(super) struct Pledge {
    pub token: Which,
    /// So many heartbeats ago.
    pub ago: u8,
    /// For so many milliseconds, or any time at all.
    pub lasts: Result<u8, u64>,
}

/// A token, told by what the machine knows.
#[derive(Debug, Arbitrary)]
pub(super) enum Which {
    /// The strongest one known.
    Known,
    /// The one held.
    Held,
    /// The one last offered.
    Offered,
    /// Of another chain or the same, with this much more progress than is known.
    Near { more: i8, author: u8, number: u8 },
    /// Any.
    Any {
        progress: u64,
        author: u8,
        number: u32,
    },
}

//! What happens to one machine, as any bytes can be read.

use arbitrary::{Arbitrary, Unstructured};

/// What kind of machine it is.
#[derive(Debug, Arbitrary)]
pub struct Nature {
    /// Chooses among idle holds that make different machines: none, short, the default.
    pub idle_hold: u8,
    /// TAKE_ATTEMPTS, less one.
    pub attempts: u8,
    /// Whether the table holds four members only.
    pub small_table: bool,
    /// How many members are expected; none: it does not know.
    pub expect: u8,
}

/// A machine and the steps of its life. Bytes that run out in the middle of a step end it there.
pub fn read(data: &[u8]) -> Option<(Nature, impl Iterator<Item = Step>)> {
    let mut data = Unstructured::new(data);
    let nature = data.arbitrary().ok()?;
    let steps = std::iter::from_fn(move || {
        let left = !data.is_empty();
        left.then(|| data.arbitrary().ok()).flatten()
    });
    Some((nature, steps))
}

/// One input.
#[derive(Debug, Arbitrary)]
pub enum Step {
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
pub enum LinkChange {
    Down,
    Up,
    /// Up with the last byte of another ip.
    Ip(u8),
    /// Up with another address, one of two.
    Mac(bool),
}

/// What is asked of the machine.
#[derive(Debug, Arbitrary)]
pub enum Order {
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
}

/// A frame that is heard.
#[derive(Debug, Arbitrary)]
pub struct Heard {
    /// Chooses one of eight stations.
    pub from: u8,
    pub to: To,
    pub what: What,
    /// Milliseconds that it has waited in the queue.
    pub age: u8,
}

/// Whom a frame is addressed to.
#[derive(Debug, Arbitrary, Clone, Copy, PartialEq, Eq)]
pub enum To {
    Me,
    All,
    Other,
}

/// What a frame says.
#[derive(Debug, Arbitrary)]
pub enum What {
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
}

/// A promise, for one of the latest heartbeats mostly.
#[derive(Debug, Arbitrary)]
pub struct Pledge {
    pub token: Which,
    /// So many heartbeats ago.
    pub ago: u8,
    /// For so many milliseconds, or any time at all.
    pub lasts: Result<u8, u64>,
}

/// A token, told by what the machine knows.
#[derive(Debug, Arbitrary)]
pub enum Which {
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

//! The time from a request to its grant, and from a release to the next grant.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use ring_control::lab2::Grade;

use super::client::{Client, Subject};
use crate::REST_TIME;
use crate::contest::{self, Lock, percentile};
use crate::real::daemon::Daemon;

/// Measured situations of a lock. [`Latencies`] has one value for each situation. The number is the index of the
/// token's situation with which the named lock is compared. No program can take a token that another program keeps.
pub(super) const SITUATIONS: [(&str, usize); 6] = [
    ("take, the token has just come to another node", 0),
    ("the same, rested", 1),
    ("take, another node keeps the token", 0),
    ("take again and again on one node", 3),
    ("the same, this node keeps the token", 3),
    ("handover, 3 nodes contend", 5),
];

/// Times in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub p50: f64,
    pub p99: f64,
}

impl Times {
    pub(super) fn new(sorted: &[Duration]) -> Result<Self> {
        Ok(Self {
            p50: percentile(sorted, 50)?,
            p99: percentile(sorted, 99)?,
        })
    }
}

/// The times of each situation.
pub(super) type Latencies = [Option<Times>; SITUATIONS.len()];

/// Measures a lock of a ring.
pub(super) fn measure_ring(
    daemons: &[Daemon],
    subject: Subject,
    grade: Grade,
    time: Duration,
) -> Result<Latencies> {
    let mut clients = connect(daemons, subject, grade)?;
    let mut movers = connect(daemons, Subject::Token, Grade::Alone)?;
    let count = movers.len();
    // The mover's daemon hands the released token to its successor. With three nodes, the measured node gets the token
    // last.
    let mut move_token = |at, rest| {
        let mover: &mut Client = &mut movers[(at + 1) % count];
        mover.lock()?;
        mover.unlock()?;
        thread::sleep(rest);
        Ok(())
    };
    let moved = take_in_turn(&mut clients, |at| move_token(at, Duration::ZERO), time)?;
    let rested = take_in_turn(&mut clients, |at| move_token(at, REST_TIME), time)?;
    let again = take_again(&mut clients[0], time)?;
    let [mut kept, mut kept_here] = [None; 2];
    if subject == Subject::Name {
        let last = count - 1;
        let mut keeper = Client::connect(&daemons[last].control(), Subject::Token, grade)?;
        keeper.lock()?;
        kept = Some(take_in_turn(&mut clients[..last], |_| Ok(()), time)?);
        kept_here = Some(take_again(&mut clients[last], time)?);
        keeper.unlock()?;
    }
    let handed = hand_over(connect(daemons, subject, grade)?, time)?;
    Ok([
        Some(moved),
        Some(rested),
        kept,
        Some(again),
        kept_here,
        Some(handed),
    ])
}

/// Measures a lock that does not depend on a token.
pub(super) fn measure_rival<L: Lock>(
    clients: impl Fn() -> Result<Vec<L>>,
    time: Duration,
) -> Result<Latencies> {
    let mut latencies = [None; SITUATIONS.len()];
    let mut all = clients()?;
    latencies[0] = Some(take_in_turn(&mut all, |_| Ok(()), time)?);
    latencies[3] = Some(take_again(&mut all[0], time)?);
    latencies[5] = Some(hand_over(clients()?, time)?);
    Ok(latencies)
}

pub(super) fn connect(daemons: &[Daemon], subject: Subject, grade: Grade) -> Result<Vec<Client>> {
    let sockets = daemons.iter().map(Daemon::control);
    sockets
        .map(|socket| Client::connect(&socket, subject, grade))
        .collect()
}

/// Makes one client after the other take the lock, and release it. Calls `prepare` with the client's number before each
/// take.
pub(super) fn take_in_turn<L: Lock>(
    clients: &mut [L],
    mut prepare: impl FnMut(usize) -> Result<()>,
    time: Duration,
) -> Result<Times> {
    let mut took = Vec::new();
    let began = Instant::now();
    while began.elapsed() < time {
        for (at, client) in clients.iter_mut().enumerate() {
            prepare(at)?;
            let asked = Instant::now();
            client.lock()?;
            took.push(asked.elapsed());
            client.unlock()?;
        }
    }
    took.sort_unstable();
    Times::new(&took)
}

fn take_again<L: Lock>(client: &mut L, time: Duration) -> Result<Times> {
    let (took, _) = contest::measure_uncontended(client, time)?;
    Times::new(&took)
}

pub(super) fn hand_over<L: Lock>(clients: Vec<L>, time: Duration) -> Result<Times> {
    Times::new(&contest::contend(clients, time)?.hand_overs)
}

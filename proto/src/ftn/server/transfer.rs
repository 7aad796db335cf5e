//! Handing tokens over to the server that is responsible for them now (`docs/ftn.md`, section 4).

use ring_codec::List;
use ring_codec::ftn::{Assignment, Holders, Message, Token as Entry};

use super::parts::Part;
use super::token::Token;
use super::{Event, Reason, Server};
use crate::backoff::Backoff;
use crate::ftn::{MAX_DATA, MAX_NAME, PART, RETRY, RETRY_MAX, WINDOW};
use crate::time::Instant;

/// What an assignment and a datagram take beside name, data and holders, in bytes at most.
const OVERHEAD: usize = 16;
/// What a session takes among the holders, in bytes at most.
const HOLDER: usize = 5;
/// The most holders that a TRANSFER names: a survey finds the others.
const HOLDERS: usize = 100;

/// The tokens that go to a server which is BOOTING.
#[derive(Debug, Clone, Hash)]
pub(super) struct Outgoing {
    to: usize,
    configuration: u64,
    parts: Vec<Vec<u32>>,
    /// Bytes of the last part.
    filled: usize,
    /// The next part to be sent for the first time.
    next: usize,
    /// Parts that were sent and not acknowledged.
    flight: Vec<(usize, Backoff)>,
    tokens: usize,
}

impl Outgoing {
    /// At least one part, even if empty.
    pub(super) fn new(to: usize, configuration: u64) -> Self {
        Self {
            to,
            configuration,
            parts: vec![Vec::new()],
            filled: 0,
            next: 0,
            flight: Vec::new(),
            tokens: 0,
        }
    }

    pub(super) const fn to(&self) -> usize {
        self.to
    }

    /// A token is to go as well.
    pub(super) fn add(&mut self, id: u32, token: &Token) {
        let holders = token.holding().take(HOLDERS).count() * HOLDER;
        let size = token.name().len() + token.data().len() + holders + OVERHEAD;
        if self.filled > 0 && self.filled + size + OVERHEAD > PART {
            self.parts.push(Vec::new());
            self.filled = 0;
        }
        self.filled += size;
        self.tokens += 1;
        if let Some(part) = self.parts.last_mut() {
            part.push(id);
        }
    }

    /// When a part is to be repeated.
    pub(super) fn due(&self) -> Option<Instant> {
        self.flight.iter().map(|(_, backoff)| backoff.due()).min()
    }

    /// The parts that are to be sent now: those that are to be repeated, and new ones up to the window.
    fn take_due(&mut self, now: Instant) -> Vec<usize> {
        let mut due = Vec::new();
        for (part, backoff) in &mut self.flight {
            if backoff.is_due(now) {
                backoff.repeated(now, RETRY_MAX);
                due.push(*part);
            }
        }
        while self.flight.len() < WINDOW && self.next < self.parts.len() {
            self.flight.push((self.next, Backoff::new(now, RETRY)));
            due.push(self.next);
            self.next += 1;
        }
        due
    }

    /// A part has come to its server; `None`: that was known.
    fn acknowledge(&mut self, part: usize) -> Option<Vec<u32>> {
        let at = self.flight.iter().position(|(sent, _)| *sent == part)?;
        self.flight.swap_remove(at);
        self.parts.get_mut(part).map(std::mem::take)
    }

    fn is_over(&self) -> bool {
        self.flight.is_empty() && self.next == self.parts.len()
    }
}

impl Server {
    /// Sends what is due of the tokens that go to a server, `at` among those that some go to.
    pub(super) fn send_parts(&mut self, now: Instant, at: usize) {
        let Some(outgoing) = self.knowledge.outgoing.get_mut(at) else {
            return;
        };
        let due = outgoing.take_due(now);
        let (to, msgnum) = (outgoing.to, msgnum_of(outgoing.configuration));
        let (Ok(parts), Some(address)) = (
            i32::try_from(outgoing.parts.len()),
            self.servers.address(to),
        ) else {
            return;
        };
        for part in due {
            let ids = self.knowledge.outgoing[at].parts[part].iter();
            let tokens: Vec<(&Token, Vec<i32>)> = ids
                .filter_map(|id| self.tokens.get(*id))
                .map(|token| (token, token.holding().take(HOLDERS).collect()))
                .collect();
            let assignments: Vec<Assignment<'_>> = tokens
                .iter()
                .map(|(token, holders)| Assignment {
                    token: Entry {
                        name: token.name(),
                        data: token.data(),
                    },
                    holders: match holders[..] {
                        [] => Holders::Nobody,
                        [one] if token.access() < 0 => Holders::Exclusive(one),
                        _ => Holders::Shared(holders[..].into()),
                    },
                })
                .collect();
            let message = Message::Transfer {
                msgnum,
                // There are not more parts than `parts`, which fits.
                part: i32::try_from(part).unwrap_or_default(),
                parts,
                assignments: assignments[..].into(),
            };
            // As many servers as there can be fit.
            self.out
                .send(address, i32::try_from(to).unwrap_or_default(), message);
        }
    }

    /// Repeats what was not acknowledged.
    pub(super) fn on_transfer_due(&mut self, now: Instant) {
        for at in 0..self.knowledge.outgoing.len() {
            if self.knowledge.outgoing[at]
                .due()
                .is_some_and(|due| due <= now)
            {
                self.send_parts(now, at);
            }
        }
    }

    /// A part has come to the server that it was for: that has its tokens now.
    pub(super) fn on_transferred(&mut self, now: Instant, server: usize, msgnum: i64, part: i32) {
        let is_it = |outgoing: &Outgoing| {
            outgoing.to == server && msgnum_of(outgoing.configuration) == msgnum
        };
        let found = self.knowledge.outgoing.iter().position(is_it);
        let acknowledged = found.and_then(|at| {
            let part = usize::try_from(part).ok()?;
            Some((at, self.knowledge.outgoing[at].acknowledge(part)?))
        });
        let Some((at, ids)) = acknowledged else {
            return self.drop_from_server(server, Reason::Late);
        };
        self.out.counters.transferred += ids.len() as u64;
        for id in ids {
            self.tokens.remove(id);
        }
        self.send_parts(now, at);
        if self.knowledge.outgoing[at].is_over() {
            let tokens = self.knowledge.outgoing[at].tokens;
            self.knowledge.outgoing.remove(at);
            self.out.event(Event::Transferred { server, tokens });
        }
    }

    /// Another server hands over tokens; they are taken only for the present configuration.
    pub(super) fn on_transfer(
        &mut self,
        now: Instant,
        server: usize,
        (msgnum, part, parts): (i64, i32, i32),
        assignments: List<'_, Assignment<'_>>,
    ) {
        use ring_codec::ftn::ServerState::{Booting, Down};
        let mine = self.view.state(self.index);
        let takes = msgnum == msgnum_of(self.view.number())
            && mine == Booting
            && self.own != Down
            && self.leader().is_some();
        if !takes {
            return self.drop_from_server(server, Reason::Late);
        }
        let is_legal = |a: &Assignment<'_>| {
            (1..=MAX_NAME).contains(&a.token.name.len()) && a.token.data.len() <= MAX_DATA
        };
        if !assignments.iter().all(|assignment| is_legal(&assignment)) {
            return self.drop_from_server(server, Reason::TooLong);
        }
        let (Ok(number), Ok(of)) = (u32::try_from(part), u32::try_from(parts)) else {
            return self.drop_from_server(server, Reason::Malformed);
        };
        let survey = self.knowledge.survey.as_mut();
        let awaited = survey.and_then(|survey| survey.transfers.get_mut(&server));
        // After the survey this server has all parts: the answer to one of them was lost.
        let took = awaited.map_or(Part::Duplicate, |awaited| awaited.take(number, of));
        match took {
            Part::New => {
                for Assignment { token, holders } in assignments {
                    self.take_transferred(now, token, all_of(&holders));
                }
            }
            Part::Duplicate => self.out.counters.duplicates += 1,
            Part::Disagrees => return self.drop_from_server(server, Reason::Malformed),
        }
        self.send_server(server, Message::Transferred { msgnum, part });
        self.try_end_survey(now);
    }
}

/// Who held a token, if that is said of all. A server that was still asking says nobody, as of a free one.
fn all_of(holders: &Holders<'_>) -> Option<Vec<i32>> {
    match holders {
        Holders::Nobody => None,
        Holders::Exclusive(one) => Some(vec![*one]),
        Holders::Shared(some) => {
            let some: Vec<i32> = some.iter().collect();
            (some.len() < HOLDERS).then_some(some)
        }
    }
}

/// TRANSFER's msgnum for a configuration, whose number has 56 bits.
fn msgnum_of(configuration: u64) -> i64 {
    i64::try_from(configuration).unwrap_or(i64::MAX)
}

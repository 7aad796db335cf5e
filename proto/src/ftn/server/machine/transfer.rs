//! Handing tokens over to the server that is responsible for them now (`docs/ftn.md`, section 4).

use ring_codec::List;
use ring_codec::ftn::{Assignment, Holders, Message, Token as Entry};

use super::Server;
use crate::ftn::server::knowledge::{HOLDERS, Leaving, Outgoing, Part, msgnum_of};
use crate::ftn::server::options::{GAINED_BYTES, TOKEN_BYTES};
use crate::ftn::server::output::Output;
use crate::ftn::server::tokens::{Token, Tokens};
use crate::ftn::server::{Event, Reason};
use crate::ftn::{Configuration, MAX_DATA, MAX_NAME, Servers};
use crate::time::Instant;

impl Server {
    /// Sends what is due of the tokens that go to the server `at` among those that some go to.
    pub(super) fn send_parts(&mut self, now: Instant, at: usize) {
        if let Some(outgoing) = self.knowledge.outgoing_mut().get_mut(at) {
            send_due_parts((&self.servers, &self.tokens, &mut self.out), now, outgoing);
        }
    }

    /// Repeats what was not acknowledged.
    pub(super) fn on_transfer_due(&mut self, now: Instant) {
        for at in 0..self.knowledge.outgoing().len() {
            if self.knowledge.outgoing()[at]
                .due()
                .is_some_and(|due| due <= now)
            {
                self.send_parts(now, at);
            }
        }
    }

    /// Finds what a part belongs to that a server has: its tokens, whether this server leaves, whether that was all, and how
    /// many tokens that were.
    fn acknowledge_part(
        &mut self,
        server: usize,
        msgnum: i64,
        part: i32,
    ) -> Option<(Vec<u32>, bool, bool, usize)> {
        let leaving = self.leaving.iter_mut().flat_map(Leaving::outgoing_mut);
        let mut all = self.knowledge.outgoing_mut().iter_mut().chain(leaving);
        let outgoing = all.find(|it| it.to() == server && it.msgnum() == msgnum)?;
        let ids = outgoing.acknowledge(usize::try_from(part).ok()?)?;
        let is_over = outgoing.is_over();
        Some((ids, outgoing.is_of_leaving(), is_over, outgoing.tokens()))
    }

    /// A part has come to the server that it was for: that has its tokens now.
    pub(super) fn on_transferred(&mut self, now: Instant, server: usize, msgnum: i64, part: i32) {
        let acknowledged = self.acknowledge_part(server, msgnum, part);
        let Some((ids, is_of_leaving, is_over, tokens)) = acknowledged else {
            return self.drop_from_server(server, Reason::Late);
        };
        self.out.counters.transferred += ids.len() as u64;
        if is_of_leaving {
            if let Some(leaving) = &mut self.leaving {
                leaving.note_taken(&ids);
            }
        } else {
            for id in ids {
                // The other server may have handed it back meanwhile, as it leaves.
                if !self.knowledge.has_left(id) {
                    self.tokens.remove(id);
                }
            }
            let mut outgoing = self.knowledge.outgoing().iter();
            if let Some(at) = outgoing.position(|it| it.to() == server) {
                self.send_parts(now, at);
            }
        }
        if is_over {
            self.knowledge.drop_finished();
            if let Some(leaving) = &mut self.leaving {
                leaving.drop_finished();
            }
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
        if msgnum < 0 {
            return self.on_left(server, (msgnum, part), assignments);
        }
        let mine = self.view.state(self.index);
        let takes = msgnum == msgnum_of(self.view.number())
            && mine == Booting
            && self.own != Down
            && self.leader().is_some()
            // It would leave with them: what it hands over itself is decided.
            && self.leaving.is_none();
        if !takes {
            return self.drop_from_server(server, Reason::Late);
        }
        if !assignments.iter().all(|assignment| is_legal(&assignment)) {
            return self.drop_from_server(server, Reason::TooLong);
        }
        let (Ok(number), Ok(of)) = (u32::try_from(part), u32::try_from(parts)) else {
            return self.drop_from_server(server, Reason::Malformed);
        };
        let survey = self.knowledge.survey_mut();
        // After the survey this server has all parts: the answer to one of them was lost.
        let took = survey.map_or(Part::Duplicate, |it| it.take_transfer(server, number, of));
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

impl Server {
    /// A server that leaves hands over tokens. They wait here, and are not served, until a configuration shows that server
    /// DOWN; one that makes another server responsible deletes them, and the server that leaves sends them again.
    fn on_left(
        &mut self,
        server: usize,
        (msgnum, part): (i64, i32),
        assignments: List<'_, Assignment<'_>>,
    ) {
        use ring_codec::ftn::ServerState::Down;
        let takes = msgnum == -msgnum_of(self.view.number())
            && self.view.state(self.index) != Down
            && self.view.state(server) != Down
            && self.own != Down
            && self.leader().is_some()
            && self.knowledge.sweep().is_none()
            // Two that leave would count on each other.
            && self.leaving.is_none();
        let Some(present) = self.view.configuration().cloned().filter(|_| takes) else {
            return self.drop_from_server(server, Reason::Late);
        };
        if !assignments.iter().all(|assignment| is_legal(&assignment)) {
            return self.drop_from_server(server, Reason::TooLong);
        }
        let mut states = present.states().to_vec();
        states[server] = Down;
        let without = Configuration::new(present.number(), states);
        let mine: Vec<Assignment<'_>> = assignments
            .iter()
            .filter(|Assignment { token, .. }| {
                let of = |configuration| self.servers.responsible(token.name, configuration);
                of(&present) == Some(server) && of(&without) == Some(self.index)
            })
            .collect();
        let bytes = mine.iter().map(|it| self.bytes_of_left(it.token));
        let bytes = bytes.sum();
        if !self.has_room_for_left(bytes) {
            // Its server keeps them for another one, or reports that they are lost.
            return self.drop_from_server(server, Reason::Memory);
        }
        for Assignment { token, holders } in mine {
            self.keep_left(token, all_of(&holders));
        }
        self.send_server(server, Message::Transferred { msgnum, part });
    }

    /// What a token of a server that leaves takes, in bytes, beyond what it takes already.
    fn bytes_of_left(&self, Entry { name, data }: Entry<'_>) -> usize {
        let known = self.tokens.find(name).and_then(|id| self.tokens.get(id));
        match known {
            Some(token) => data.len().saturating_sub(token.data().len()),
            None => name.len() + data.len() + TOKEN_BYTES + GAINED_BYTES,
        }
    }

    fn keep_left(&mut self, Entry { name, data }: Entry<'_>, held: Option<Vec<i32>>) {
        let now = self.now.monotonic;
        let known = self.tokens.find(name);
        let id = known.unwrap_or_else(|| self.tokens.add(name));
        self.tokens.change(now, id, |token| token.set_data(data));
        self.put_aside(now, id);
        self.knowledge.keep_left(id, held);
    }
}

/// Sends what is due of the tokens that go to a server.
pub(super) fn send_due_parts(
    (servers, tokens, out): (&Servers, &Tokens, &mut Output),
    now: Instant,
    outgoing: &mut Outgoing,
) {
    let due = outgoing.take_due(now);
    let (to, msgnum) = (outgoing.to(), outgoing.msgnum());
    let (Ok(parts), Some(address)) = (i32::try_from(outgoing.parts()), servers.address(to)) else {
        return;
    };
    for part in due {
        let ids = outgoing.part(part).iter();
        let going: Vec<(&Token, Vec<i32>)> = ids
            .filter_map(|id| tokens.get(*id))
            .map(|token| (token, token.holding().take(HOLDERS).collect()))
            .collect();
        let assignments: Vec<Assignment<'_>> = going
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
        out.send(address, i32::try_from(to).unwrap_or_default(), message);
    }
}

fn is_legal(assignment: &Assignment<'_>) -> bool {
    let Entry { name, data } = assignment.token;
    (1..=MAX_NAME).contains(&name.len()) && data.len() <= MAX_DATA
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

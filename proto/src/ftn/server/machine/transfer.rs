//! Handovers of tokens to the servers that are responsible for them now (`docs/token-service/protocol/surveys.md` K5,
//! K6 and K8, `docs/token-service/protocol/leaving.md` G7 and G8).

use ring_codec::List;
use ring_codec::ftn::{Assignment, Holders, Message, Token as Entry};

use super::Server;
use crate::ftn::server::knowledge::{Departure, HOLDERS_MAX, Handover, PartStatus, msgnum_of};
use crate::ftn::server::options::{SURVEYED_TOKEN_BYTES, TOKEN_BYTES};
use crate::ftn::server::output::Output;
use crate::ftn::server::tokens::{Token, Tokens};
use crate::ftn::server::{DropReason, Event};
use crate::ftn::{Configuration, DATA_BYTES_MAX, NAME_BYTES_MAX, Servers};
use crate::time::Instant;

impl Server {
    /// Sends the due parts of the handover at the index `at` of the list.
    pub(super) fn send_parts(&mut self, now: Instant, at: usize) {
        if let Some(handover) = self.knowledge.handovers_mut().get_mut(at) {
            send_due_parts((&self.servers, &self.tokens, &mut self.out), now, handover);
        }
    }

    /// Repeats parts that were not acknowledged.
    pub(super) fn on_transfer_due(&mut self, now: Instant) {
        for at in 0..self.knowledge.handovers().len() {
            if self.knowledge.handovers()[at]
                .due()
                .is_some_and(|due| due <= now)
            {
                self.send_parts(now, at);
            }
        }
    }

    /// Records an acknowledged part. Returns the tokens of the part, and whether this server leaves. Also returns
    /// whether the handover is complete, and the total number of its tokens.
    fn acknowledge_part(
        &mut self,
        server: usize,
        msgnum: i64,
        part: i32,
    ) -> Option<(Vec<u32>, bool, bool, usize)> {
        let departure = self.departure.iter_mut().flat_map(Departure::handovers_mut);
        let mut all = self.knowledge.handovers_mut().iter_mut().chain(departure);
        // The sign of the msgnum distinguishes a departure from a handover to a BOOTING server.
        let handover = all.find(|it| it.receiver() == server && it.msgnum() == msgnum)?;
        let ids = handover.acknowledge(usize::try_from(part).ok()?)?;
        let is_complete = handover.is_complete();
        Some((ids, handover.is_departure(), is_complete, handover.tokens()))
    }

    /// Handles TRANSFERRED: a server acknowledged the tokens of a part.
    pub(super) fn on_transferred(&mut self, now: Instant, server: usize, msgnum: i64, part: i32) {
        let acknowledged = self.acknowledge_part(server, msgnum, part);
        let Some((ids, is_departure, is_complete, tokens)) = acknowledged else {
            return self.drop_from_server(server, DropReason::Late);
        };
        self.out.counters.transferred += ids.len() as u64;
        if is_departure {
            if let Some(departure) = &mut self.departure {
                departure.record_taken(&ids);
            }
        } else {
            for id in ids {
                // The other server may be leaving too, and may have handed this token back in the meantime.
                if !self.knowledge.is_from_leaving(id) {
                    self.tokens.remove(id);
                }
            }
            // The acknowledged part makes room for another part.
            let mut handover = self.knowledge.handovers().iter();
            if let Some(at) = handover.position(|it| it.receiver() == server) {
                self.send_parts(now, at);
            }
        }
        if is_complete {
            self.knowledge.drop_finished();
            if let Some(departure) = &mut self.departure {
                departure.drop_finished();
            }
            self.out.report(Event::Transferred { server, tokens });
        }
    }

    /// Handles TRANSFER. Drops a TRANSFER that is not for the present configuration.
    pub(super) fn on_transfer(
        &mut self,
        now: Instant,
        server: usize,
        (msgnum, part, parts): (i64, i32, i32),
        assignments: List<'_, Assignment<'_>>,
    ) {
        use ring_codec::ftn::ServerState::{Booting, Down};
        if msgnum < 0 {
            return self.on_leaving_transfer(server, (msgnum, part), assignments);
        }
        let mine = self.view.state(self.index);
        let takes = msgnum == msgnum_of(self.view.number())
            && mine == Booting
            && self.own_state != Down
            && self.leader().is_some()
            // A leaving server has already decided which tokens it hands over, so a new token would be lost with it.
            && self.departure.is_none();
        if !takes {
            return self.drop_from_server(server, DropReason::Late);
        }
        if !assignments.iter().all(|assignment| is_legal(&assignment)) {
            return self.drop_from_server(server, DropReason::TooLong);
        }
        let (Ok(number), Ok(of)) = (u32::try_from(part), u32::try_from(parts)) else {
            return self.drop_from_server(server, DropReason::Malformed);
        };
        let survey = self.knowledge.survey_mut();
        // Without a survey this server has all parts. Only the answer to one of them was lost.
        let took = survey.map_or(PartStatus::Duplicate, |it| {
            it.take_transfer(server, number, of)
        });
        match took {
            PartStatus::New => {
                for Assignment { token, holders } in assignments {
                    self.add_transferred_token(now, token, complete_holders(&holders));
                }
            }
            PartStatus::Duplicate => self.out.counters.duplicates += 1,
            PartStatus::Inconsistent => {
                return self.drop_from_server(server, DropReason::Malformed);
            }
        }
        self.send_server(server, Message::Transferred { msgnum, part });
        self.try_end_survey(now);
    }
}

impl Server {
    /// Handles TRANSFER of a server that leaves. The tokens are kept, but not served, until a configuration shows the
    /// leaving server DOWN. If a configuration makes a different server responsible, the tokens are deleted, and the
    /// leaving server sends them again.
    fn on_leaving_transfer(
        &mut self,
        server: usize,
        (msgnum, part): (i64, i32),
        assignments: List<'_, Assignment<'_>>,
    ) {
        use ring_codec::ftn::ServerState::Down;
        let takes = msgnum == -msgnum_of(self.view.number())
            && self.view.state(self.index) != Down
            && self.view.state(server) != Down
            && self.own_state != Down
            && self.leader().is_some()
            && self.knowledge.sweep().is_none()
            // If both servers left, each server would rely on the other server to keep its tokens.
            && self.departure.is_none();
        let Some(present) = self.view.configuration().cloned().filter(|_| takes) else {
            return self.drop_from_server(server, DropReason::Late);
        };
        if !assignments.iter().all(|assignment| is_legal(&assignment)) {
            return self.drop_from_server(server, DropReason::TooLong);
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
        let bytes = mine.iter().map(|it| self.bytes_from_leaving(it.token));
        let bytes = bytes.sum();
        if !self.free_memory_for_leaving(bytes) {
            // The sender keeps these tokens, and hands them to another server or reports them as lost.
            return self.drop_from_server(server, DropReason::Memory);
        }
        for Assignment { token, holders } in mine {
            self.keep_from_leaving(token, complete_holders(&holders));
        }
        self.send_server(server, Message::Transferred { msgnum, part });
    }

    /// Returns the additional memory of a token from a server that leaves, in bytes.
    fn bytes_from_leaving(&self, Entry { name, data }: Entry<'_>) -> usize {
        let known = self.tokens.find(name).and_then(|id| self.tokens.get(id));
        match known {
            Some(token) => data.len().saturating_sub(token.data().len()),
            None => name.len() + data.len() + TOKEN_BYTES + SURVEYED_TOKEN_BYTES,
        }
    }

    fn keep_from_leaving(&mut self, Entry { name, data }: Entry<'_>, held: Option<Vec<i32>>) {
        let now = self.now.monotonic;
        let known = self.tokens.find(name);
        let id = known.unwrap_or_else(|| self.tokens.add(name));
        self.tokens.change(now, id, |token| token.set_data(data));
        self.withhold(now, id);
        self.knowledge.keep_from_leaving(id, held);
    }
}

/// Sends the due parts of a handover.
pub(super) fn send_due_parts(
    (servers, tokens, out): (&Servers, &Tokens, &mut Output),
    now: Instant,
    handover: &mut Handover,
) {
    let due = handover.take_due(now);
    let (to, msgnum) = (handover.receiver(), handover.msgnum());
    // Without an address the parts count as lost, and are repeated.
    let (Ok(parts), Some(address)) = (i32::try_from(handover.parts()), servers.address(to)) else {
        return;
    };
    for part in due {
        let ids = handover.part(part).iter();
        let going: Vec<(&Token, Vec<i32>)> = ids
            .filter_map(|id| tokens.get(*id))
            .map(|token| (token, token.holders().take(HOLDERS_MAX).collect()))
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
            // Cannot fail: the number of parts fits.
            part: i32::try_from(part).unwrap_or_default(),
            parts,
            assignments: assignments[..].into(),
        };
        // Cannot fail: there are at most 32 servers.
        out.send(address, i32::try_from(to).unwrap_or_default(), message);
    }
}

fn is_legal(assignment: &Assignment<'_>) -> bool {
    let Entry { name, data } = assignment.token;
    // The empty name is no token.
    (1..=NAME_BYTES_MAX).contains(&name.len()) && data.len() <= DATA_BYTES_MAX
}

/// Returns the holders, or `None` if the message perhaps lacks some holders. A message without holders may be
/// incomplete, because a server during a survey names no holders.
fn complete_holders(holders: &Holders<'_>) -> Option<Vec<i32>> {
    match holders {
        Holders::Nobody => None,
        Holders::Exclusive(one) => Some(vec![*one]),
        Holders::Shared(some) => {
            let some: Vec<i32> = some.iter().collect();
            (some.len() < HOLDERS_MAX).then_some(some)
        }
    }
}

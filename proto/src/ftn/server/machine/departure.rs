//! An orderly shutdown: this server hands its tokens to the servers that are responsible after its end
//! (`docs/token-service/protocol/leaving.md` G1 to G10).

use std::time::Duration;

use ring_codec::ftn::ServerState;

use super::Server;
use super::transfer::send_due_parts;
use crate::ftn::Configuration;
use crate::ftn::server::Event;
use crate::ftn::server::group::Role;
use crate::ftn::server::knowledge::{Departure, Handover};
use crate::time::Instant;

/// Longest time for the handover before a server leaves.
pub const LEAVING_MAX: Duration = Duration::from_secs(5);

impl Server {
    /// Starts to leave. Leaves at once if this is the second command, or if there is no token to hand over.
    pub(super) fn shut_down(&mut self, now: Instant) {
        if self.departure.is_some() || self.tokens.len() == 0 || self.servers.len() == 1 {
            return self.leave(now, false);
        }
        self.departure = Some(Departure::new(now + LEAVING_MAX));
        self.continue_departure(now);
    }

    /// Whether this server leaves and has handed over all its tokens in the present configuration. If this server keeps
    /// tokens from a second leaving server, it first waits until it is responsible for these tokens.
    pub fn has_handed_over(&self) -> bool {
        let mut departure = self.departure.iter();
        departure.any(|it| it.has_handed_over(self.view.number())) && self.knowledge.is_idle()
    }

    /// Continues a shutdown.
    pub(super) fn continue_departure(&mut self, now: Instant) {
        let Some(departure) = &mut self.departure else {
            return;
        };
        if departure.is_timed_out(now) {
            let has_handed_over = self.has_handed_over();
            return self.leave(now, has_handed_over);
        }
        if !self.is_in_force(now) || self.knowledge.sweep().is_some() {
            // The configuration does not show yet which servers are responsible without this server.
            if let Some(departure) = &mut self.departure {
                departure.pause();
            }
            return;
        }
        if self
            .other_servers()
            // If all others are DOWN, no server can take the tokens.
            .all(|server| self.view.state(server) == ServerState::Down)
        {
            return self.leave(now, false);
        }
        self.begin_handover();
        let departure = self.departure.iter_mut();
        for to in departure.flat_map(Departure::handovers_mut) {
            send_due_parts((&self.servers, &self.tokens, &mut self.out), now, to);
        }
        if self.has_handed_over() {
            self.announce_departure(now);
        }
    }

    /// Plans the destination of each token in the present configuration, unless such a plan exists.
    fn begin_handover(&mut self) {
        let (Some(departure), Some(present)) = (&self.departure, self.view.configuration()) else {
            return;
        };
        let number = present.number();
        if departure.is_planned_for(number) {
            return;
        }
        let mut states = present.states().to_vec();
        states[self.index] = ServerState::Down;
        let without = Configuration::new(number, states);
        let mut handovers: Vec<Handover> = self
            .other_servers()
            .map(|to| Handover::for_departure(to, number))
            .collect();
        for id in 0..self.tokens.id_limit() {
            let Some(token) = self.tokens.get(id) else {
                continue;
            };
            let is_own = self.servers.responsible(token.name(), present) == Some(self.index);
            let heir = self.servers.responsible(token.name(), &without);
            // Tokens of other servers wait for a configuration, or are already on their way to a BOOTING server.
            if is_own
                && !self.is_known_by_clients_only(id)
                && let Some(heir) = heir
                && let Some(to) = handovers.iter_mut().find(|it| it.receiver() == heir)
            {
                to.add(id, token.len(), token.holders().count());
            }
        }
        // Here, no receiver waits for a part without tokens. This differs from the handover to a BOOTING server.
        handovers.retain(|to| to.tokens() > 0);
        if let Some(departure) = &mut self.departure {
            departure.begin(number, handovers);
        }
    }

    // Clients will claim these tokens again at the next responsible server.
    fn is_known_by_clients_only(&self, id: u32) -> bool {
        let survey = self.knowledge.survey();
        survey.is_some_and(|survey| survey.is_known_by_clients_only(id))
    }

    /// Announces the departure. A leader sends no announcement and stops, because the other servers notice its silence.
    /// A follower repeats HEARTBEAT with DOWN until a STATE shows it DOWN.
    fn announce_departure(&mut self, now: Instant) {
        if matches!(self.role, Role::Leader(_)) {
            return self.leave(now, true);
        }
        if (self.departure.as_mut()).is_some_and(|departure| departure.take_announcement(now)) {
            self.send_heartbeat(now);
        }
    }

    pub(super) fn leave(&mut self, now: Instant, has_handed_over: bool) {
        let left_behind = if has_handed_over {
            0
        } else {
            self.left_behind()
        };
        if has_handed_over {
            self.tokens.clear();
        }
        // The last HEARTBEAT reports DOWN, so that the leader need not wait for silence.
        self.set_own_state(ServerState::Down);
        self.send_heartbeat(now);
        self.departure = None;
        self.has_left = true;
        self.out.report(Event::ShutDown { left_behind });
    }

    /// Returns the number of tokens with data that no client holds and no other server has. The data of these tokens
    /// are lost with this server.
    fn left_behind(&self) -> usize {
        let departure = self.departure.as_ref();
        let is_taken = |id: &u32| departure.is_some_and(|it| it.has_taken(self.view.number(), *id));
        // If clients hold a token that this server keeps for another server, these clients have its data.
        let is_held = |id: &u32| self.knowledge.is_held_from_leaving(*id);
        let ids = (0..self.tokens.id_limit()).filter(|id| !is_taken(id) && !is_held(id));
        let tokens = ids.filter_map(|id| self.tokens.get(id));
        let unheld = tokens.filter(|token| !token.is_held() && !token.data().is_empty());
        unheld.count()
    }
}

//! An orderly shutdown: the tokens of this server go to those that are responsible without it (`docs/ftn.md`, section 4).

use std::time::Duration;

use ring_codec::ftn::ServerState;

use super::Server;
use super::transfer::send_due_parts;
use crate::ftn::Configuration;
use crate::ftn::server::Event;
use crate::ftn::server::group::Role;
use crate::ftn::server::knowledge::{Leaving, Outgoing};
use crate::time::Instant;

/// The longest time that a server takes to hand over its tokens before it leaves.
pub const LEAVING_MAX: Duration = Duration::from_secs(5);

impl Server {
    /// Leaves: at once if there is nothing to hand over, or it is told so a second time.
    pub(super) fn shut_down(&mut self, now: Instant) {
        if self.leaving.is_some() || self.tokens.len() == 0 || self.servers.len() == 1 {
            return self.depart(now, false);
        }
        self.leaving = Some(Leaving::new(now + LEAVING_MAX));
        self.go_on_leaving(now);
    }

    /// Whether this server leaves, and all its tokens have gone to other servers under the present configuration. Those
    /// that it keeps for a server which leaves too become its own when that is DOWN: it waits for it.
    pub fn has_handed_over(&self) -> bool {
        let mut leaving = self.leaving.iter();
        leaving.any(|it| it.has_handed_over(self.view.number())) && self.knowledge.is_at_rest()
    }

    /// Does what is due of a shutdown.
    pub(super) fn go_on_leaving(&mut self, now: Instant) {
        let Some(leaving) = &mut self.leaving else {
            return;
        };
        if leaving.is_over(now) {
            let has_handed_over = self.has_handed_over();
            return self.depart(now, has_handed_over);
        }
        if !self.is_in_force(now) || self.knowledge.sweep().is_some() {
            // Nobody knows yet which servers are responsible without this one.
            if let Some(leaving) = &mut self.leaving {
                leaving.pause();
            }
            return;
        }
        if self
            .others()
            .all(|server| self.view.state(server) == ServerState::Down)
        {
            return self.depart(now, false);
        }
        self.begin_handover();
        let leaving = self.leaving.iter_mut();
        for to in leaving.flat_map(Leaving::outgoing_mut) {
            send_due_parts((&self.servers, &self.tokens, &mut self.out), now, to);
        }
        if self.has_handed_over() {
            self.say_that_it_leaves(now);
        }
    }

    /// Looks which tokens go where under the present configuration, if that was not done.
    fn begin_handover(&mut self) {
        let (Some(leaving), Some(present)) = (&self.leaving, self.view.configuration()) else {
            return;
        };
        let number = present.number();
        if leaving.is_for(number) {
            return;
        }
        let mut states = present.states().to_vec();
        states[self.index] = ServerState::Down;
        let without = Configuration::new(number, states);
        let mut outgoing: Vec<Outgoing> = self
            .others()
            .map(|to| Outgoing::of_leaving(to, number))
            .collect();
        for id in 0..self.tokens.end() {
            let Some(token) = self.tokens.get(id) else {
                continue;
            };
            let is_own = self.servers.responsible(token.name(), present) == Some(self.index);
            let heir = self.servers.responsible(token.name(), &without);
            if is_own
                && !self.is_known_by_clients_only(id)
                && let Some(heir) = heir
                && let Some(to) = outgoing.iter_mut().find(|it| it.to() == heir)
            {
                to.add(id, token.len(), token.holding().count());
            }
        }
        outgoing.retain(|to| to.tokens() > 0);
        if let Some(leaving) = &mut self.leaving {
            leaving.begin(number, outgoing);
        }
    }

    /// Those that this server has learned of from clients in a survey: they will say it again.
    fn is_known_by_clients_only(&self, id: u32) -> bool {
        let survey = self.knowledge.survey();
        survey.is_some_and(|survey| survey.is_known_by_clients_only(id))
    }

    /// A leader has nobody to tell: the others find out by its silence. A follower waits until the leader has heard it.
    fn say_that_it_leaves(&mut self, now: Instant) {
        if matches!(self.role, Role::Leader(_)) {
            return self.depart(now, true);
        }
        if (self.leaving.as_mut()).is_some_and(|leaving| leaving.take_say(now)) {
            self.heartbeat(now);
        }
    }

    /// Leaves now.
    pub(super) fn depart(&mut self, now: Instant, has_handed_over: bool) {
        let left_behind = if has_handed_over {
            0
        } else {
            self.left_behind()
        };
        if has_handed_over {
            self.tokens.clear();
        }
        self.set_own(ServerState::Down);
        self.heartbeat(now);
        self.leaving = None;
        self.has_left = true;
        self.out.event(Event::ShutDown { left_behind });
    }

    /// How many tokens have data that nobody holds and no other server has taken: they are lost with this server.
    fn left_behind(&self) -> usize {
        let leaving = self.leaving.as_ref();
        let is_taken = |id: &u32| leaving.is_some_and(|it| it.has_taken(self.view.number(), *id));
        // Clients that hold a token which is kept for another server have its data.
        let is_held = |id: &u32| self.knowledge.has_left_held(*id);
        let ids = (0..self.tokens.end()).filter(|id| !is_taken(id) && !is_held(id));
        let tokens = ids.filter_map(|id| self.tokens.get(id));
        let unheld = tokens.filter(|token| !token.is_held() && !token.data().is_empty());
        unheld.count()
    }
}

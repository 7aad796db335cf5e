//! An orderly shutdown: the tokens of this server go to those that are responsible without it (`docs/ftn.md`, section 4).

use std::collections::BTreeSet;
use std::time::Duration;

use ring_codec::ftn::ServerState;

use super::role::Role;
use super::transfer::Outgoing;
use super::{Event, Server};
use crate::ftn::{Configuration, RETRY};
use crate::time::Instant;

/// The longest time that a server takes to hand over its tokens before it leaves.
pub const LEAVING_MAX: Duration = Duration::from_secs(5);

/// A shutdown that is under way. From its beginning on the server serves no token, so what it hands over is final.
#[derive(Debug, Clone, Hash)]
pub(super) struct Leaving {
    until: Instant,
    /// The configuration for which the tokens go, and the servers that they go to.
    handover: Option<(u64, Vec<Outgoing>)>,
    /// The tokens that other servers have taken for that configuration.
    taken: BTreeSet<u32>,
    /// When to say again that the server is DOWN, as the others have all tokens.
    say: Option<Instant>,
}

impl Leaving {
    pub(super) fn outgoing_mut(&mut self) -> impl Iterator<Item = &mut Outgoing> {
        let outgoing = self.handover.iter_mut();
        outgoing.flat_map(|(_, outgoing)| outgoing)
    }

    /// Other servers have these tokens.
    pub(super) fn note_taken(&mut self, ids: &[u32]) {
        self.taken.extend(ids);
    }

    /// Says nothing for now. What is under way is begun again.
    fn pause(&mut self) {
        self.say = None;
        self.handover.take_if(|(_, outgoing)| !outgoing.is_empty());
    }

    /// Forgets the servers that have all that goes to them.
    pub(super) fn drop_finished(&mut self) {
        if let Some((_, outgoing)) = &mut self.handover {
            outgoing.retain(|to| !to.is_over());
        }
    }

    /// When something is to be done.
    pub(super) fn due(&self) -> Instant {
        let outgoing = self.handover.iter().flat_map(|(_, outgoing)| outgoing);
        let parts = outgoing.filter_map(Outgoing::due);
        parts.chain(self.say).fold(self.until, Instant::min)
    }
}

impl Server {
    /// Leaves: at once if there is nothing to hand over, or it is told so a second time.
    pub(super) fn shut_down(&mut self, now: Instant) {
        if self.leaving.is_some() || self.tokens.len() == 0 || self.servers.len() == 1 {
            return self.depart(now, false);
        }
        self.leaving = Some(Leaving {
            until: now + LEAVING_MAX,
            handover: None,
            taken: BTreeSet::new(),
            say: None,
        });
        self.go_on_leaving(now);
    }

    /// Whether this server leaves, and all its tokens have gone to other servers under the present configuration. Those
    /// that it keeps for a server which leaves too become its own when that is DOWN: it waits for it.
    #[must_use]
    pub fn has_handed_over(&self) -> bool {
        let handover = self.leaving.as_ref().and_then(|it| it.handover.as_ref());
        handover.is_some_and(|(configuration, outgoing)| {
            *configuration == self.view.number() && outgoing.is_empty()
        }) && self.knowledge.outgoing.is_empty()
            && self.knowledge.sweep.is_none()
            && self.knowledge.left.is_empty()
    }

    /// Does what is due of a shutdown.
    pub(super) fn go_on_leaving(&mut self, now: Instant) {
        let Some(leaving) = &mut self.leaving else {
            return;
        };
        if leaving.until <= now {
            let has_handed_over = self.has_handed_over();
            return self.depart(now, has_handed_over);
        }
        if !self.is_in_force(now) || self.knowledge.sweep.is_some() {
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
        let Some((configuration, mut outgoing)) =
            self.leaving.as_mut().and_then(|it| it.handover.take())
        else {
            return;
        };
        for to in &mut outgoing {
            self.send_due_parts(now, to);
        }
        if let Some(leaving) = &mut self.leaving {
            leaving.handover = Some((configuration, outgoing));
        }
        if self.has_handed_over() {
            self.say_that_it_leaves(now);
        }
    }

    /// Looks which tokens go where under the present configuration, if that was not done.
    fn begin_handover(&mut self) {
        let (Some(leaving), Some(present)) = (&self.leaving, &self.view.configuration) else {
            return;
        };
        let number = present.number();
        if leaving
            .handover
            .as_ref()
            .is_some_and(|(of, _)| *of == number)
        {
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
                to.add(id, token);
            }
        }
        outgoing.retain(|to| !to.is_without_tokens());
        if let Some(leaving) = &mut self.leaving {
            leaving.handover = Some((number, outgoing));
            leaving.taken.clear();
            leaving.say = None;
        }
    }

    /// Those that this server has learned of from clients in a survey: they will say it again.
    fn is_known_by_clients_only(&self, id: u32) -> bool {
        let survey = self.knowledge.survey.as_ref();
        let gained = survey.and_then(|survey| survey.gained.get(&id));
        gained.is_some_and(|gained| !gained.has_data_of_servers())
    }

    /// A leader has nobody to tell: the others find out by its silence. A follower waits until the leader has heard it.
    fn say_that_it_leaves(&mut self, now: Instant) {
        if matches!(self.role, Role::Leader(_)) {
            return self.depart(now, true);
        }
        let Some(leaving) = &mut self.leaving else {
            return;
        };
        if leaving.say.is_none_or(|due| due <= now) {
            leaving.say = Some(now + RETRY);
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
        let handover = self.leaving.iter().flat_map(|it| it.handover.iter());
        let is_present = handover.map(|it| it.0).any(|it| it == self.view.number());
        let taken = self.leaving.as_ref().filter(|_| is_present);
        let is_taken = |id: &u32| taken.is_some_and(|it| it.taken.contains(id));
        // Clients that hold a token which is kept for another server have its data.
        let is_held = |id: &u32| {
            let held = self.knowledge.left.get(id).and_then(Option::as_ref);
            held.is_some_and(|held| !held.is_empty())
        };
        let ids = (0..self.tokens.end()).filter(|id| !is_taken(id) && !is_held(id));
        let tokens = ids.filter_map(|id| self.tokens.get(id));
        let unheld = tokens.filter(|token| !token.is_held() && !token.data().is_empty());
        unheld.count()
    }
}

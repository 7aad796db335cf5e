//! Which tokens the server knows, how it comes to know others, and which it hands to other servers.

mod claims;
mod leaving;
mod outgoing;
mod parts;
mod survey;

pub(crate) use claims::{Gained, Source};
pub(crate) use leaving::Leaving;
pub(crate) use outgoing::{HOLDERS, Outgoing, msgnum_of};
pub(crate) use parts::{Part, Parts};
pub(crate) use survey::Survey;

use std::collections::BTreeMap;

use ring_codec::ftn::ServerState;

use crate::ftn::Configuration;

/// Which tokens the server knows, and what it does to know its others or to hand some over.
#[derive(Debug, Clone, Hash, Default)]
pub(crate) struct Knowledge {
    /// The configuration under which it knew all its tokens: it is settled for that.
    settled: Option<Configuration>,
    survey: Option<Survey>,
    outgoing: Vec<Outgoing>,
    /// Tokens that a server which leaves has handed over, and who held them, if that is said of all. They are for a
    /// configuration that shows that one DOWN.
    left: BTreeMap<u32, Option<Vec<i32>>>,
    /// The next token to look at for the present configuration; `None`: all were.
    sweep: Option<u32>,
}

impl Knowledge {
    /// The configuration under which the server knew all its tokens.
    pub(crate) const fn settled(&self) -> Option<&Configuration> {
        self.settled.as_ref()
    }

    /// From now on the server knows all its tokens under this configuration; `None`: it does not under any.
    pub(crate) fn settle(&mut self, configuration: Option<Configuration>) {
        self.settled = configuration;
    }

    pub(crate) const fn survey(&self) -> Option<&Survey> {
        self.survey.as_ref()
    }

    pub(crate) const fn survey_mut(&mut self) -> Option<&mut Survey> {
        self.survey.as_mut()
    }

    pub(crate) fn begin_survey(&mut self, survey: Survey) {
        self.survey = Some(survey);
    }

    /// Ends the survey.
    pub(crate) const fn take_survey(&mut self) -> Option<Survey> {
        self.survey.take()
    }

    /// The servers that tokens go to.
    pub(crate) fn outgoing(&self) -> &[Outgoing] {
        &self.outgoing
    }

    pub(crate) fn outgoing_mut(&mut self) -> &mut [Outgoing] {
        &mut self.outgoing
    }

    /// A token is to go to a server, if tokens go there.
    pub(crate) fn outgoing_to(&mut self, server: usize) -> Option<&mut Outgoing> {
        self.outgoing.iter_mut().find(|it| it.to() == server)
    }

    /// Tokens go to these servers under the present configuration, to no others, and all tokens are to be looked at.
    pub(crate) fn hand_over(&mut self, outgoing: Vec<Outgoing>) {
        self.outgoing = outgoing;
        self.sweep = Some(0);
    }

    /// Nothing is handed over any longer, nor looked at.
    pub(crate) fn stop(&mut self) {
        self.outgoing.clear();
        self.sweep = None;
    }

    /// Forgets the servers that have all that goes to them.
    pub(crate) fn drop_finished(&mut self) {
        self.outgoing.retain(|it| !it.is_over());
    }

    /// The next token to look at; `None`: all were looked at.
    pub(crate) const fn sweep(&self) -> Option<u32> {
        self.sweep
    }

    /// Tokens below `next` were looked at; `None`: all were. What servers that leave had handed over before has no use then.
    pub(crate) fn go_on(&mut self, next: Option<u32>) {
        self.sweep = next;
        if next.is_none() {
            self.left.clear();
        }
    }

    /// Whether all tokens were looked at, and nothing is kept for another configuration, nor to go to another server.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.outgoing.is_empty() && self.sweep.is_none() && self.left.is_empty()
    }

    /// A server that leaves has handed over a token, and says who held it.
    pub(crate) fn keep_left(&mut self, id: u32, held: Option<Vec<i32>>) {
        self.left.insert(id, held);
    }

    /// Takes out who held a token, if a server that leaves has handed it over and said that.
    pub(crate) fn take_left(&mut self, id: u32) -> Option<Vec<i32>> {
        self.left.remove(&id).flatten()
    }

    /// The tokens that servers which leave have handed over.
    pub(crate) fn left(&self) -> impl ExactSizeIterator<Item = u32> {
        self.left.keys().copied()
    }

    /// Whether a server that leaves has handed a token over.
    pub(crate) fn has_left(&self, id: u32) -> bool {
        self.left.contains_key(&id)
    }

    /// Whether it has, and said that sessions held it.
    pub(crate) fn has_left_held(&self, id: u32) -> bool {
        let held = self.left.get(&id).and_then(Option::as_ref);
        held.is_some_and(|held| !held.is_empty())
    }

    /// It knows no tokens.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// What goes to a server that is back is no longer known here, even if that server is DOWN again before this
    /// one is settled anew.
    pub(crate) fn hand_on(&mut self, configuration: &Configuration) {
        let Some(settled) = &mut self.settled else {
            return;
        };
        let states = settled.states().iter().zip(configuration.states());
        let states = states.map(|(settled, now)| match settled {
            ServerState::Down => *now,
            known => *known,
        });
        *settled = Configuration::new(settled.number(), states.collect::<Vec<_>>());
    }

    /// Whether a configuration makes this server responsible for tokens that it does not know.
    pub(crate) fn gains(&self, configuration: &Configuration) -> bool {
        self.settled.as_ref().is_none_or(|settled| {
            let mut servers = 0..settled.states().len();
            servers.any(|server| !settled.is_down(server) && configuration.is_down(server))
        })
    }
}

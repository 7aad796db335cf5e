//! The server's knowledge about its tokens: surveys, claims, and handovers to and from other servers.
//!
//! This module sends no messages, and contains neither the names nor the data of tokens. Start reading at
//! [`TokenKnowledge`].

mod claims;
mod departure;
mod handover;
mod parts;
mod survey;

pub(crate) use claims::{Source, SurveyedToken};
pub(crate) use departure::Departure;
pub(crate) use handover::{HOLDERS_MAX, Handover, msgnum_of};
pub(crate) use parts::{ArrivedParts, PartStatus};
pub(crate) use survey::Survey;

use std::collections::BTreeMap;

use ring_codec::ftn::ServerState;

use crate::ftn::Configuration;

/// The tokens that the server knows, and the surveys and handovers under way.
#[derive(Debug, Clone, Hash, Default)]
pub(crate) struct TokenKnowledge {
    /// Last configuration in which the server knew all its tokens.
    settled: Option<Configuration>,
    survey: Option<Survey>,
    handovers: Vec<Handover>,
    /// Tokens that leaving servers handed over. The value contains the holders, or `None` if the leaving server did not
    /// name all holders. This server uses tokens of a leaving server after a configuration shows the leaving server
    /// DOWN.
    from_leaving: BTreeMap<u32, Option<Vec<i32>>>,
    /// Next token of the sweep through all tokens, or `None` if the sweep is complete.
    sweep: Option<u32>,
}

impl TokenKnowledge {
    /// Returns the last configuration in which the server knew all its tokens.
    pub(crate) const fn settled_configuration(&self) -> Option<&Configuration> {
        self.settled.as_ref()
    }

    /// Sets the configuration in which the server knows all its tokens, or `None`.
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

    pub(crate) const fn take_survey(&mut self) -> Option<Survey> {
        self.survey.take()
    }

    /// Returns the handovers of tokens to servers that are BOOTING.
    pub(crate) fn handovers(&self) -> &[Handover] {
        &self.handovers
    }

    pub(crate) fn handovers_mut(&mut self) -> &mut [Handover] {
        &mut self.handovers
    }

    pub(crate) fn handover_to(&mut self, server: usize) -> Option<&mut Handover> {
        self.handovers.iter_mut().find(|it| it.receiver() == server)
    }

    /// Starts handovers under a new configuration, and a sweep through all tokens.
    pub(crate) fn start_handovers(&mut self, handovers: Vec<Handover>) {
        self.handovers = handovers;
        // A server can have a million tokens, so the sweep takes several calls.
        self.sweep = Some(0);
    }

    /// Stops all handovers and the sweep.
    pub(crate) fn stop_handovers(&mut self) {
        // A receiver drops parts of an earlier configuration.
        self.handovers.clear();
        self.sweep = None;
    }

    /// Removes the handovers that are complete.
    pub(crate) fn drop_finished(&mut self) {
        self.handovers.retain(|it| !it.is_complete());
    }

    /// Returns the next token of the sweep, or `None` if the sweep is complete.
    pub(crate) const fn sweep(&self) -> Option<u32> {
        self.sweep
    }

    /// Continues the sweep at `next`, or completes it with `None`. When the sweep is complete, tokens that leaving
    /// servers handed over under earlier configurations are useless.
    pub(crate) fn set_sweep(&mut self, next: Option<u32>) {
        self.sweep = next;
        if next.is_none() {
            self.from_leaving.clear();
        }
    }

    /// Whether there is no sweep, no handover and no token from a leaving server.
    pub(crate) fn is_idle(&self) -> bool {
        self.handovers.is_empty() && self.sweep.is_none() && self.from_leaving.is_empty()
    }

    /// Records a token that a leaving server handed over, and its holders.
    pub(crate) fn keep_from_leaving(&mut self, id: u32, held: Option<Vec<i32>>) {
        self.from_leaving.insert(id, held);
    }

    /// Removes a token that a leaving server handed over. Returns the holders of this token, if they are known.
    pub(crate) fn take_from_leaving(&mut self, id: u32) -> Option<Vec<i32>> {
        self.from_leaving.remove(&id).flatten()
    }

    /// Returns the tokens that leaving servers handed over.
    pub(crate) fn ids_from_leaving(&self) -> impl ExactSizeIterator<Item = u32> {
        self.from_leaving.keys().copied()
    }

    /// Whether a leaving server handed over a token.
    pub(crate) fn is_from_leaving(&self, id: u32) -> bool {
        self.from_leaving.contains_key(&id)
    }

    /// Whether a leaving server handed over a token, and named at least one holder of this token.
    pub(crate) fn is_held_from_leaving(&self, id: u32) -> bool {
        let held = self.from_leaving.get(&id).and_then(Option::as_ref);
        held.is_some_and(|held| !held.is_empty())
    }

    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Records that this server hands tokens over to servers that are up again. After such a handover, this server does
    /// not know the tokens. The tokens stay unknown to this server even if such a server is DOWN again before this
    /// server settles.
    pub(crate) fn record_handovers(&mut self, configuration: &Configuration) {
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
    pub(crate) fn has_new_tokens(&self, configuration: &Configuration) -> bool {
        self.settled.as_ref().is_none_or(|settled| {
            // The order of servers is fixed. So this server gets new tokens only if another server is newly DOWN.
            let mut servers = 0..settled.states().len();
            servers.any(|server| !settled.is_down(server) && configuration.is_down(server))
        })
    }
}

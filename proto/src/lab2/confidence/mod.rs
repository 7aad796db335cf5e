//! How far one may rely on a tenure: who has promised to help no other holder, and what this node has promised itself
//! (`docs/protocol.md`, "Grades" and "Backing").

mod backing;
mod grade;
mod promise;
mod support;

use std::hash::Hash;

pub use grade::Votes;
pub(crate) use promise::{promise_lasts, quiet, stride};

use super::machine::{Context, Writer};
use super::members::Members;
use super::tenure::Tenure;
use backing::Contest;
use promise::Promise;
use support::Support;

/// So many members answer a heartbeat at the most.
const LISTENERS: usize = 64;

/// What holds of the tenures of this node, and of the one that it has promised to help.
#[derive(Debug, Clone)]
pub(crate) struct Confidence {
    /// Who confirms the own tenure.
    support: Support,
    /// Whose tenure this node has confirmed last.
    promise: Option<Promise>,
    /// What this owner remembers of other owners.
    contest: Contest,
}

impl Confidence {
    pub(crate) fn new() -> Self {
        Self {
            support: Support::new(),
            promise: None,
            contest: Contest::default(),
        }
    }

    /// What the future depends on, of a node with this tenure.
    pub(crate) fn snapshot(
        &self,
        writer: &mut Writer,
        (context, members): (&Context, &Members),
        tenure: Option<&Tenure>,
    ) {
        let Self {
            support,
            promise,
            contest,
        } = self;
        let roster = members.roster(context);
        writer.age_up_to(context.started(), quiet(context, members, roster));
        if let Some(tenure) = tenure {
            let promised = promise_lasts(context, roster);
            support.snapshot(writer, tenure.token(), promised, grade::settles(context));
            contest.snapshot(writer, tenure.token(), context.constants().heartbeat);
        }
        let promise = promise.filter(|promise| promise.until > writer.now);
        promise
            .map(|it| (it.token, it.holder, it.until.since(writer.now)))
            .hash(writer);
    }
}

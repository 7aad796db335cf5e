//! Grades of tenures (`docs/protocol.md`, "Grades" and "Backing"): the promises of members to this node, and this
//! node's own promise to another one. Only the backing decides about ownership, when two owners meet. Start with
//! `grade`.

mod backing;
mod confirmations;
mod grade;
mod promise;

use std::hash::Hash;

pub use grade::Votes;
pub(crate) use promise::{answer_stride, promise_delay, promise_duration};

use super::machine::{Context, Writer};
use super::members::Members;
use super::tenure::Tenure;
use backing::Competition;
use confirmations::Confirmations;
use promise::Promise;

/// The most members that answer one heartbeat.
const ANSWERS_PER_HEARTBEAT_MAX: usize = 64;

/// Grade and promises of one node.
#[derive(Debug, Clone)]
pub(crate) struct Confidence {
    /// The members that confirm this node's tenure.
    confirmations: Confirmations,
    /// The last promise of this node.
    promise: Option<Promise>,
    /// Competing owners of this OWNER.
    competition: Competition,
}

impl Confidence {
    pub(crate) fn new() -> Self {
        Self {
            confirmations: Confirmations::new(),
            promise: None,
            competition: Competition::default(),
        }
    }

    /// Writes the parts that the future depends on, for a node with this tenure.
    pub(crate) fn snapshot(
        &self,
        writer: &mut Writer,
        (context, members): (&Context, &Members),
        tenure: Option<&Tenure>,
    ) {
        let Self {
            confirmations,
            promise,
            competition,
        } = self;
        let ring_size = members.ring_size(context);
        writer.age_up_to(
            context.started(),
            promise_delay(context, members, ring_size),
        );
        if let Some(tenure) = tenure {
            let promised = promise_duration(context, ring_size);
            confirmations.snapshot(
                writer,
                tenure.token(),
                promised,
                grade::view_settle_time(context),
            );
            competition.snapshot(writer, tenure.token(), context.constants().heartbeat);
        }
        let promise = promise.filter(|promise| promise.until > writer.now);
        promise
            .map(|it| (it.token, it.holder, it.until.since(writer.now)))
            .hash(writer);
    }
}

//! Grades of tenures (`docs/reference/lab2/grades.md`). The grade depends on the promises of members to this node. This
//! node can also make a promise to another node. When two owners meet, their backing decides which of them stays OWNER.
//! Apart from the backing, this module never decides which node is the owner. Start with `grade`.

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

/// The maximum number of members that answer one heartbeat.
const ANSWERS_PER_HEARTBEAT_MAX: usize = 64;

/// The grade and the promises of one node.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct Confidence {
    /// Members that confirm this node's tenure.
    confirmations: Confirmations,
    /// The last promise of this node.
    promise: Option<Promise>,
    /// Data about other owners that compete with this node during its tenure.
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

    /// Writes the fields on which the future behavior of a node with this tenure depends.
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
            context.start_time(),
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
        // A promise that has ended binds this node no longer.
        let promise = promise.filter(|promise| promise.until > writer.now);
        promise
            .map(|it| (it.token, it.holder, it.until.since(writer.now)))
            .hash(writer);
    }
}

//! What the machine's future depends on of jobs.

use std::hash::Hash;

use super::once::Once;
use super::telling::TELLING;
use super::{Context, Jobs};
use crate::lab2::machine::Writer;

impl Jobs {
    pub(crate) fn snapshot(&self, writer: &mut Writer, context: &Context) {
        let Self {
            stamps,
            once,
            serial,
            told,
            lacking,
            answered,
            owes,
            // Fetched after each input.
            wants: _,
        } = self;
        let heartbeat = context.constants().heartbeat;
        stamps.snapshot(writer);
        if stamps.is_empty() && once.is_none() {
            // Nothing is told or asked: what was is of no consequence.
            return;
        }
        (serial, lacking, owes).hash(writer);
        writer.age_up_to(told.last(), heartbeat * TELLING);
        writer.within(answered.last(), heartbeat);
        if let Some(Once {
            request,
            token,
            phase,
            since,
            asked,
            first,
            agreed,
        }) = once
        {
            (request, token, phase, asked, first, agreed).hash(writer);
            writer.now.since(*since).hash(writer);
        }
    }
}

//! The part of a [snapshot](crate::lab2::Lab2::snapshot) for the jobs.

use std::hash::Hash;

use super::once::OnceJob;
use super::stamps_frame::ANNOUNCEMENT_PERIODS;
use super::{Context, Jobs};
use crate::lab2::machine::Writer;

impl Jobs {
    pub(crate) fn snapshot(&self, writer: &mut Writer, context: &Context) {
        let Self {
            stamps,
            once,
            serial,
            announcements,
            incomplete_announcement,
            answers,
            is_announcement_due,
            // The queue is always empty between two inputs.
            actions: _,
        } = self;
        let heartbeat = context.constants().heartbeat;
        stamps.snapshot(writer);
        if stamps.is_empty() && once.is_none() {
            // Without stamps and requests the other fields have no effect.
            return;
        }
        (serial, incomplete_announcement, is_announcement_due).hash(writer);
        writer.age_up_to(announcements.last(), heartbeat * ANNOUNCEMENT_PERIODS);
        writer.within(answers.last(), heartbeat);
        if let Some(OnceJob {
            request,
            token,
            phase,
            since,
            asked,
            first,
            agreements,
        }) = once
        {
            (request, token, phase, asked, first, agreements).hash(writer);
            writer.now.since(*since).hash(writer);
        }
    }
}

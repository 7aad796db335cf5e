//! The part of the locks' state that affects the future, as bytes.

use std::hash::Hash;

use super::Locks;
use crate::lab2::machine::Writer;

impl Locks {
    pub(crate) fn snapshot(&self, writer: &mut Writer) {
        let Self {
            quorum,
            others,
            sessions,
            kept,
            renewals,
            duty,
            agreements,
            pending,
            keeps_token,
            power,
            heard,
            chain,
            others_show,
            questions,
            payloads,
            actions: _,
        } = self;
        for table in [quorum, others] {
            table.snapshot(writer);
        }
        sessions.snapshot(writer);
        kept.snapshot(writer);
        renewals.snapshot(writer);
        duty.is_some().hash(writer);
        if let Some(duty) = duty {
            duty.snapshot(writer);
            agreements.snapshot(writer, duty.token());
        }
        pending.len().hash(writer);
        for request in pending {
            request.snapshot(writer);
        }
        (keeps_token, power, others_show).hash(writer);
        for (member, at) in heard {
            (member, writer.now.since(*at)).hash(writer);
        }
        chain
            .map(|(token, at)| (token.author, token.number, writer.now.since(at)))
            .hash(writer);
        for question in questions {
            question.snapshot(writer);
        }
        payloads.snapshot(writer);
    }
}

//! The last frames of a node: its guardian sends them if the process of the node dies
//! (`docs/reference/lab2/faults.md Z10` to Z15).

use ring_codec::MacAddr;
use ring_codec::lab2::{Frame, Token};

use super::outbox::{Content, Outgoing};
use crate::lab2::tenure::Tenure;
use crate::lab2::{Lab2, LastFrames, LastOffer, State, StoredState};

impl Lab2 {
    /// Writes the last frames of this node into the two buffers. Returns `None` if the guardian must send nothing.
    /// `reports_ends` is whether the guardian learns that all programs with locks here have ended.
    ///
    /// An OWNER has last frames only if it could hand the token over now, or after the end of the programs. So to the
    /// members, the death of the process and these frames look like a handover and the death of the process directly
    /// after it.
    pub fn last_frames(
        &self,
        reports_ends: bool,
        offer: &mut [u8],
        leaving: &mut [u8],
    ) -> Option<LastFrames> {
        if !self.context.is_up() || self.has_left() {
            return None;
        }
        let is_owner = self.state() == State::Owner;
        // A program may work until its lease ends. The next owner may not know the named locks yet, and only this
        // process could claim them.
        let after_programs = is_owner && (self.local_work.has_work() || self.locks.has_sessions());
        if after_programs && !reports_ends {
            return None;
        }
        let offer = match self.state() {
            State::Owner => Some(self.last_offer(offer)?),
            // Without the acknowledgement, the giver would believe that its offer has failed, and would re-create the
            // token.
            State::Waiter if self.role.pending_ack().is_none() => None,
            State::Looser => None,
            State::Waiter | State::Generating => return None,
        };
        let leaving_len = self.encode_last(MacAddr::BROADCAST, Content::Leaving, leaving)?;
        Some(LastFrames {
            offer,
            leaving_len,
            after_programs,
        })
    }

    fn last_offer(&self, buf: &mut [u8]) -> Option<LastOffer> {
        let context = &self.context;
        let tenure = self.role.unoffered_tenure()?;
        let grants = self.keeps_token_for_locks() || self.locks.has_actions();
        let is_begun = self.out.outbox.has_offer() || tenure.unsent_offer(context).is_some();
        if grants || is_begun || !tenure.is_acknowledged(context) || self.is_deaf() {
            return None;
        }
        let to = (self.members).likely_successor(context, self.preferred_member())?;
        let token = self.next_token(tenure)?;
        let len = self.encode_last(to, Content::TakeToken(token), buf)?;
        let state = StoredState {
            known: Some(token),
            ..self.known.durable()
        };
        let until = self.lease_until()?;
        let constants = context.constants();
        Some(LastOffer {
            len,
            until,
            attempts: constants.take_attempts,
            interval: constants.take_timeout,
            state,
        })
    }

    /// Returns the token that the next offer contains.
    fn next_token(&self, tenure: &Tenure) -> Option<Token> {
        let (rivals, context) = (&self.rivals, &self.context);
        let step = |held| rivals.step(context.now(), held, context.waiter_timeout());
        tenure.next_token(step)
    }

    fn encode_last(&self, to: MacAddr, content: Content, buf: &mut [u8]) -> Option<usize> {
        let frame = Frame {
            destination: to,
            author: self.me(),
            message: self.message(content, None)?,
            profile: None,
            card: None,
            locks: None,
            preference: 0,
        };
        let frame = self.add_standing(Outgoing { to, content }, &frame);
        let encoded = frame.encode(self.context.constants().ethertype, buf);
        encoded.ok()
    }
}

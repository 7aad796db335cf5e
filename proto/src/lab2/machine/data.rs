//! The application's data, which the token carries. They give way where they would cost the token.

use ring_codec::MacAddr;
use ring_codec::lab2::{DATA_LEN_MAX, HEARTBEAT_LEN, Kind};

use super::timer::Timer;
use crate::lab2::{DataLimit, Diagnostic, Event, Lab2, State};

impl Lab2 {
    /// Returns how many bytes of data reach every member: a heartbeat with them fits the smallest known MTU.
    pub fn data_limit(&self) -> DataLimit {
        let (mtu, member) = self.members.smallest_mtu(&self.context);
        DataLimit {
            len: mtu.saturating_sub(HEARTBEAT_LEN).min(DATA_LEN_MAX),
            mtu,
            member,
        }
    }

    /// Changes the data and broadcasts them at once.
    pub(super) fn set_data(&mut self, data: &[u8]) {
        let may_use = self.may_use_token();
        let limit = self.data_limit();
        if may_use && data.len() <= limit.len {
            self.known.set_data(data);
            if let Some(tenure) = self.role.tenure_mut() {
                tenure.mark_used();
            }
            self.send_token_is_here(MacAddr::BROADCAST);
        } else {
            self.event(Event::DataRefused {
                len: data.len(),
                may_use,
                limit,
            });
        }
    }

    /// Drops data that no longer reach all members, if this node is OWNER. Other members leave this to the OWNER.
    pub(super) fn fit_data(&mut self) {
        if self.state() == State::Owner && self.drop_long_data() {
            // Not at once: the frame that shrank the MTU may have had its two answers.
            self.out.set(Timer::Heartbeat, self.context.now());
        }
    }

    /// Drops data that do not reach all members. Returns whether it dropped any.
    pub(super) fn drop_long_data(&mut self) -> bool {
        let len = self.known.data().len();
        if len == 0 {
            return false;
        }
        let limit = self.data_limit();
        let drops = len > limit.len;
        if drops {
            self.drop_data(limit);
        }
        drops
    }

    /// Handles a frame that the interface refused as too long: the MTU that the kernel reported is wrong.
    pub(super) fn on_too_long(&mut self, kind: Kind) {
        self.diagnostics
            .note_too_long(&self.context, &mut self.out, kind);
        let has_token = matches!(kind, Kind::TakeToken | Kind::TokenIsHere);
        if !(has_token && self.shorten()) && (has_token || kind == Kind::Ping) {
            self.diagnostics
                .note_refused(&self.context, &self.members, &mut self.out);
        }
    }

    /// Drops all data, so that the next frame with the token fits. Returns whether there were any.
    fn shorten(&mut self) -> bool {
        let limit = DataLimit {
            len: 0,
            ..self.data_limit()
        };
        let drops = !self.known.data().is_empty();
        if drops {
            self.drop_data(limit);
        }
        drops
    }

    fn drop_data(&mut self, limit: DataLimit) {
        let len = self.known.data().len();
        self.known.set_data(b"");
        let trouble = Diagnostic::DataDropped { len, limit };
        self.diagnostics
            .note_event(&self.context, &mut self.out, trouble);
    }
}

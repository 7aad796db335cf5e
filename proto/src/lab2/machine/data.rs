//! The application's data. The token carries the application's data. If a frame with the token and its data is too
//! long, the node drops the data and keeps the token.

use ring_codec::MacAddr;
use ring_codec::lab2::{DATA_LEN_MAX, HEARTBEAT_LEN, Kind};

use super::timer::Timer;
use crate::lab2::{DataLimit, Diagnostic, Event, Lab2, State};

impl Lab2 {
    /// Returns the maximum number of bytes of data in a heartbeat that reaches every member. The number follows from
    /// the smallest known MTU.
    pub fn data_limit(&self) -> DataLimit {
        let (mtu, member) = self.members.smallest_mtu(&self.context);
        DataLimit {
            len: mtu.saturating_sub(HEARTBEAT_LEN).min(DATA_LEN_MAX),
            mtu,
            member,
        }
    }

    /// Changes the data and broadcasts them at once. If the data cannot be changed, reports an event with the reason.
    pub(super) fn set_data(&mut self, data: &[u8]) {
        let may_use = self.may_use_token();
        let limit = self.data_limit();
        if may_use && data.len() <= limit.len {
            self.known.set_data(data);
            if let Some(tenure) = self.role.tenure_mut() {
                // A program that changes the data relies on the token. If the tenure still counted as unused, another
                // owner could outbid it.
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

    /// If this node is OWNER and the data no longer fit the MTU of every member, drops the data. A node that is not
    /// OWNER leaves this to the OWNER.
    pub(super) fn fit_data(&mut self) {
        if self.state() == State::Owner && self.drop_long_data() {
            // The heartbeat leaves at the next timeout, because the received frame with the smaller MTU may already
            // have caused its two answers.
            self.out.set(Timer::Heartbeat, self.context.now());
        }
    }

    /// If the data do not fit the MTU of every member, drops them. Returns whether it dropped any data.
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

    /// Handles a refused frame. The interface refused the frame as too long, although the frame fits the MTU that the
    /// kernel reported.
    pub(super) fn on_too_long(&mut self, kind: Kind) {
        self.diagnostics
            .note_too_long(&self.context, &mut self.out, kind);
        // Without its data, the next frame with the token may fit. If there are no data to drop, the MTU is too small
        // for the ring's frames.
        let has_token = matches!(kind, Kind::TakeToken | Kind::TokenIsHere);
        if !(has_token && self.shorten()) && (has_token || kind == Kind::Ping) {
            self.diagnostics
                .note_refused(&self.context, &self.members, &mut self.out);
        }
    }

    /// Drops all data of the token, so that the next frame with the token fits. Returns whether the token had data.
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

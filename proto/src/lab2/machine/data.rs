//! The application's data, which the token carries and must not be lost for.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{HEARTBEAT_LEN, Kind, MAX_DATA_LEN};

use crate::lab2::machine::timer::Timer;
use crate::lab2::tenure::role::Role;
use crate::lab2::{DataLimit, Event, Lab2, Trouble};

impl Lab2 {
    /// How many bytes of data reach every member: a heartbeat with them fits the smallest MTU that is
    /// known of.
    #[must_use]
    pub fn data_limit(&self) -> DataLimit {
        let (mtu, member) = self.smallest_mtu();
        DataLimit {
            len: mtu.saturating_sub(HEARTBEAT_LEN).min(MAX_DATA_LEN),
            mtu,
            member,
        }
    }

    /// Changes the data, which all are told at once.
    pub(crate) fn set_data(&mut self, data: &[u8]) {
        let may_use = self.may_use_token();
        let limit = self.data_limit();
        if may_use && data.len() <= limit.len {
            self.known.set_data(data);
            if let Role::Owner(tenure) = &mut self.role {
                tenure.is_used = true;
            }
            self.token_is_here(MacAddr::BROADCAST);
        } else {
            self.event(Event::DataRefused {
                len: data.len(),
                may_use,
                limit,
            });
        }
    }

    /// The data give way before the token does: an OWNER whose data no longer reach all members
    /// drops them, and says so. All others leave that to the OWNER, or to themselves once they are it.
    pub(crate) fn fit_data(&mut self) {
        if matches!(self.role, Role::Owner(_)) && self.drop_long_data() {
            // Not as an answer to the frame that has brought this about.
            self.timer_in(Timer::Heartbeat, Duration::ZERO);
        }
    }

    /// Drops data that do not reach all members; whether there were any.
    pub(crate) fn drop_long_data(&mut self) -> bool {
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

    /// A frame was refused because it is too long. What the interface was said to carry is no longer so.
    pub(crate) fn too_long(&mut self, kind: Kind) {
        if self.note_too_long(kind) {
            let mtu = self.context.mtu();
            self.event(Event::TooLong { kind, mtu });
        }
        let has_token = matches!(kind, Kind::TakeToken | Kind::TokenIsHere);
        if !(has_token && self.shorten()) && (has_token || kind == Kind::Ping) {
            self.note_refused();
        }
    }

    /// Drops the data, if there are any: a frame that has them and the token does not leave.
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
        self.note_once(Trouble::DataDropped { len, limit });
    }
}

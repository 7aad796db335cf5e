//! What hooks are told.

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use ring_proto::lab2::{Grade, Reason, State};

use crate::fencing::FencingToken;
use crate::observe::text;

/// What [`Change::event`] is called.
pub mod event {
    /// The daemon has started.
    pub const STARTED: &str = "started";
    /// The state has changed.
    pub const STATE: &str = "state_changed";
    /// The token held here is safer than before, or less safe.
    pub const GRADE: &str = "grade_changed";
    /// A member that was heard has not been for long.
    pub const SILENT: &str = "member_silent";
    /// A member that was silent is heard again.
    pub const ALIVE: &str = "member_alive";
    /// The daemon ends.
    pub const STOPPED: &str = "stopped";
}

/// A change, and how things were after it. Small: each turn of the token is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The event's number.
    pub number: u64,
    /// When it was: milliseconds since 1970.
    pub time_ms: u64,
    /// One of [`event`]'s names.
    pub event: &'static str,
    /// The state before; `None`: the daemon did not run.
    pub from: Option<State>,
    /// The state since; `None`: the daemon does not run.
    pub state: Option<State>,
    /// Why the state changed.
    pub reason: Option<Reason>,
    /// The token held, or else the strongest known.
    pub token: Option<Token>,
    /// Who holds it as far as is known.
    pub owner: Option<MacAddr>,
    /// How safe a lock is.
    pub grade: Grade,
    /// The member that has fallen silent, or is heard again, and how many others besides.
    pub member: Option<(MacAddr, usize)>,
    /// How many earlier changes are told with this one.
    pub merged: u64,
}

impl Change {
    /// This change and an earlier one as a single one.
    #[must_use]
    pub fn after(self, earlier: Self) -> Self {
        let says_more = [event::STATE, event::STARTED, event::STOPPED].contains(&self.event);
        let (event, reason, member) = if says_more {
            (self.event, self.reason, self.member)
        } else {
            (earlier.event, earlier.reason, earlier.member)
        };
        Self {
            event,
            reason,
            member,
            from: earlier.from,
            merged: earlier.merged + self.merged + 1,
            ..self
        }
    }

    /// The same as variables of the environment; empty where something is not known.
    pub fn environment(&self) -> [(&'static str, String); 13] {
        let text = |text: Option<String>| text.unwrap_or_default();
        let state = |state: Option<State>| state.map_or("none", State::name).to_owned();
        let reason = self.reason.map_or("", |reason| text::reason(reason).0);
        let token = self.token.map(FencingToken::from);
        let (member, others) = self.member.unzip();
        let progress = self.token.map(|token| token.progress.to_string());
        [
            ("RINGD_EVENT", self.event.to_owned()),
            ("RINGD_EVENT_NUMBER", self.number.to_string()),
            ("RINGD_TIME_MS", self.time_ms.to_string()),
            ("RINGD_OLD_STATE", state(self.from)),
            ("RINGD_STATE", state(self.state)),
            ("RINGD_REASON", reason.to_owned()),
            ("RINGD_TOKEN", text(token.map(|token| token.to_string()))),
            ("RINGD_PROGRESS", text(progress)),
            ("RINGD_OWNER", text(self.owner.map(|it| it.to_string()))),
            ("RINGD_GRADE", self.grade.name().to_owned()),
            ("RINGD_MEMBER", text(member.map(|mac| mac.to_string()))),
            ("RINGD_OTHERS", text(others.map(|count| count.to_string()))),
            ("RINGD_MERGED", self.merged.to_string()),
        ]
    }
}

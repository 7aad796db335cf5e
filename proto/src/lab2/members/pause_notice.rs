//! Pause notices: how a pause is announced in frames (`docs/reference/lab2/membership.md E7`).

use std::time::Duration;

use ring_codec::lab2::PauseNotice;

use crate::lab2::{Pause, PauseReason};
use crate::time::{Instant, nanos};

/// The maximum difference between two announcements of the same end. They differ because frames have different delays.
/// A larger difference means that the end of the pause has changed.
const SAME_END: Duration = Duration::from_secs(1);

/// Returns the notice of a pause in frames that leave at the time `now`.
pub(crate) fn notice(pause: &Pause, now: Instant) -> PauseNotice<'_> {
    // The largest number means that the pause has no end.
    let left = pause.left(now).map(|left| nanos(left).min(u64::MAX - 1));
    let reason = pause.reason.as_str();
    PauseNotice { left, reason }
}

/// Returns the pause in a notice that arrived at the time `at`.
pub(crate) fn announced_pause(notice: PauseNotice<'_>, at: Instant) -> Option<Pause> {
    let left = notice.left.map(Duration::from_nanos);
    Some(Pause {
        until: left.map(|left| at + left),
        reason: PauseReason::new(notice.reason)?,
    })
}

/// Whether two announced pauses differ for people.
pub(super) fn differ(pause: &Pause, earlier: &Pause) -> bool {
    let is_same_end = match (pause.until, earlier.until) {
        (Some(a), Some(b)) => a.since(b).max(b.since(a)) <= SAME_END,
        (a, b) => a == b,
    };
    pause.reason != earlier.reason || !is_same_end
}

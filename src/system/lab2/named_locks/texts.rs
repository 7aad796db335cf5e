//! Texts for clients that do not get a named lock or that lost their named lock.

use ring_control::escape_control_characters;
use ring_control::lab2::{LockRequest, LossReason, RefusalReason};
use ring_proto::lab2::{LockName, LockView};
use ring_text::format_duration;

use super::super::lock_texts::{TextInputs, waited_text};
use super::ring_locks::records;

/// The answer to a request with a wrong name.
pub(crate) const BAD_NAME_TEXT: &str =
    "a lock's name has 1 to 64 printable ASCII characters without blanks";

impl TextInputs<'_> {
    /// Describes the reason why a request for a named lock is refused.
    pub(crate) fn named_refusal(
        &self,
        why: RefusalReason,
        request: &LockRequest,
        name: LockName,
    ) -> String {
        match why {
            RefusalReason::Timeout | RefusalReason::Busy => {
                format!("{}: {}", waited_text(request), self.named_holder(name))
            }
            RefusalReason::AlreadyHeld => format!(
                "this program already runs under the lock {name} ($RINGD_LOCKS or $RINGD_TOKEN), and would wait \
                 for its own end"
            ),
            RefusalReason::LockTableFull => format!(
                "the ring cannot store the lock {name}: its table of named locks is full; release other locks \
                 (ringctl locks)"
            ),
            _ => self.refusal(why, request),
        }
    }

    /// Describes the reason why a named lock is lost.
    pub(crate) fn named_loss(&self, why: LossReason, request: &LockRequest) -> String {
        match why {
            LossReason::Lease => {
                let lease = self.machine.shortest_waiter_timeout();
                format!(
                    "its lease ended: no owner of the token renewed it in time; the link, the owner or too many \
                     members (--require quorum) failed for longer than {}",
                    format_duration(lease)
                )
            }
            LossReason::Removed => {
                "the owner of the token has removed the lock, or has granted it to another program"
                    .to_owned()
            }
            _ => self.loss(why, request),
        }
    }

    /// Describes the first program that keeps others from the lock.
    fn named_holder(&self, name: LockName) -> String {
        let holder = records(self.machine, name).find(|it| it.is_held);
        match holder {
            Some(view) => self.holder_text(&view),
            _ if !self.machine.is_link_up() => format!("{} has no link", self.interface),
            _ if self.machine.owner().is_none() => "no owner of the token is known".to_owned(),
            _ => format!(
                "no program holds {name}, but the owner of the token has not granted it yet"
            ),
        }
    }

    fn holder_text(&self, view: &LockView) -> String {
        let (member, held) = (view.member, format_duration(view.age));
        let here = if self.machine.is_own(member) {
            ", this machine"
        } else {
            ""
        };
        let program = escape_control_characters(view.program.as_str());
        format!("held by {member} ({program}){here}, requested {held} ago")
    }
}

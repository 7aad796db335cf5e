//! Reports of messages without a valid signature.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use ring_control::Finding;
use ring_proto::time::Instant;
use ring_runtime::driver::{Addressing, Signer};
use ring_trust::{Counts, DropReason};
use tracing::warn;

use crate::observe::events;
use crate::troubles;

/// The minimum time between two log lines with the same reason.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);
/// The time after the last refused message during which the status lists the trouble.
const TROUBLE_LIFETIME: Duration = Duration::from_secs(60);

/// Returns a text with the cause and the remedy of refused messages with this reason. Returns `None` if such messages
/// are normal.
const fn cause(reason: DropReason) -> Option<&'static str> {
    Some(match reason {
        DropReason::Unsigned => {
            "it has no signature; if this is a member, install the key file there"
        }
        DropReason::UnknownKey => {
            "this node does not have its key; install the same key file on all machines"
        }
        DropReason::WrongMac => {
            "its signature is wrong; if this is a member, install the same key file on all machines"
        }
        DropReason::Replayed => {
            "it arrived before; look for a loop in the network, or for a machine that repeats messages"
        }
        DropReason::Reflected => "it is a message of this node; look for a loop in the network",
        DropReason::Malformed => {
            "its signature is not legal; look for a machine that forges messages"
        }
        // Every member sends such messages just after its start, and after a pause of the network.
        DropReason::Unproven | DropReason::Stale => return None,
    })
}

/// Reports refused messages at a limited rate. The amount of work does not depend on the number of messages. `A` is the
/// address of a sender.
#[derive(Debug)]
pub struct RefusedMessages<A> {
    counts: Counts,
    logged: BTreeMap<DropReason, Instant>,
    /// The last refusal that needs the attention of a person: its time, its reason, and the address of the sender.
    last: Option<(Instant, DropReason, A)>,
}

impl<A> Default for RefusedMessages<A> {
    fn default() -> Self {
        Self {
            counts: Counts::default(),
            logged: BTreeMap::new(),
            last: None,
        }
    }
}

impl<A: Copy + Display> RefusedMessages<A> {
    /// Compares the numbers of refused messages with the numbers at the last call. Logs the messages that were refused
    /// in between. The node calls this function about once per second.
    pub fn update<D>(&mut self, now: Instant, signer: Option<&Signer<D>>)
    where
        D: Addressing<Address = A>,
        A: Ord,
    {
        let Some(signer) = signer else {
            *self = Self::default();
            return;
        };
        let authenticator = signer.authenticator();
        let counts = *authenticator.counts();
        let before = std::mem::replace(&mut self.counts, counts);
        // If the node accepts unsigned messages, they are no trouble. The status already shows that the node accepts
        // them.
        if authenticator.accepts_unsigned() {
            self.last = None;
            return;
        }
        self.last = self
            .last
            .filter(|(at, ..)| now.since(*at) < TROUBLE_LIFETIME);
        for reason in DropReason::ALL {
            let new = counts.get(reason).saturating_sub(before.get(reason));
            let sender = signer.last_refused(reason);
            let (Some(cause), Some(sender), 1..) = (cause(reason), sender, new) else {
                continue;
            };
            self.last = Some((now, reason, sender));
            let logged = self.logged.get(&reason);
            if logged.is_some_and(|at| now.since(*at) < REPORT_INTERVAL) {
                continue;
            }
            self.logged.insert(reason, now);
            warn!(
                event = events::MESSAGES_REFUSED, %sender, reason = reason.name(), count = new,
                "drops messages without a valid signature, the last one from {sender}: {cause}"
            );
        }
    }

    /// Returns the trouble about messages that were refused within the last minute.
    pub fn finding(&self) -> Option<Finding> {
        let (_, reason, sender) = self.last?;
        let cause = cause(reason)?;
        Some(Finding::new(
            &troubles::MESSAGES_REFUSED,
            format!(
                "drops messages without a valid signature, the last one from {sender}: {cause}"
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::time::Duration;

    use ring_codec::MacAddr;
    use ring_proto::time::{Instant, Now};
    use ring_runtime::driver::{
        Authenticated, FrameAddressing, Link, ReceiveBatch, Refused, Signer, TransmitBatch, frames,
    };
    use ring_trust::Keyring;

    use super::{RefusedMessages, TROUBLE_LIFETIME};
    use crate::trust::{Trust, trust_status, unproven_counts};

    const STRANGER: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

    /// A link on which a stranger sends an unsigned frame again and again.
    #[derive(Debug)]
    struct Unsigned;

    impl Link for Unsigned {
        fn receive(&mut self, now: Now, batch: &mut ReceiveBatch) -> io::Result<()> {
            batch.clear();
            if let Some(buffer) = batch.next_buffer() {
                buffer[..6].fill(0xff);
                buffer[6..12].copy_from_slice(&STRANGER.0);
                batch.push(60, (), now, Duration::ZERO);
            }
            Ok(())
        }

        fn send(&mut self, batch: &TransmitBatch) -> Result<usize, Refused> {
            Ok(batch.len())
        }
    }

    fn at(seconds: u64) -> Now {
        Now {
            monotonic: Instant::from_nanos(seconds * 1_000_000_000),
            wall: 0,
        }
    }

    fn trust(accepts_unsigned: bool) -> Trust {
        let line = format!("7 {}", "5e".repeat(32));
        Trust {
            keys: Some(Keyring::parse(&line).unwrap()),
            accepts_unsigned,
        }
    }

    fn link(trust: &Trust) -> Authenticated<Unsigned> {
        let addressing = FrameAddressing {
            mac: MacAddr([2, 0, 0, 0, 0, 1]),
            ethertype: 0x88b5,
        };
        let authenticator = trust.authenticator().unwrap();
        let signer = authenticator.map(|it| Signer::of_frames(it, addressing));
        Authenticated::new(Unsigned, signer)
    }

    #[test]
    fn refused_frames_are_a_trouble_for_a_minute() {
        let mut link = link(&trust(false));
        let mut refused = RefusedMessages::default();
        refused.update(at(1).monotonic, link.signer());
        assert!(refused.finding().is_none());
        let mut batch = frames::receive_batch();
        link.receive(at(2), &mut batch).unwrap();
        assert!(batch.is_empty());
        refused.update(at(2).monotonic, link.signer());
        let finding = refused.finding().unwrap();
        assert!(
            finding
                .text
                .contains("from 02:00:00:00:00:09: it has no signature")
        );
        let end = 2 + TROUBLE_LIFETIME.as_secs();
        refused.update(at(end - 1).monotonic, link.signer());
        assert!(refused.finding().is_some());
        refused.update(at(end).monotonic, link.signer());
        assert!(refused.finding().is_none());
    }

    #[test]
    fn accepted_frames_are_counted_and_end_the_trouble() {
        let mut link = link(&trust(false));
        let mut refused = RefusedMessages::default();
        let mut batch = frames::receive_batch();
        link.receive(at(2), &mut batch).unwrap();
        refused.update(at(2).monotonic, link.signer());
        assert!(refused.finding().is_some());
        let keys = trust(true).keys.unwrap();
        let signer = link.signer_mut().unwrap();
        signer.authenticator_mut().set_keyring(&keys, true);
        link.receive(at(3), &mut batch).unwrap();
        assert_eq!(batch.len(), 1);
        refused.update(at(3).monotonic, link.signer());
        assert!(refused.finding().is_none());
        assert_eq!(unproven_counts(link.signer())["unsigned"], 2);
        let status = trust_status(link.signer());
        assert_eq!((status.keys, status.accepts_unsigned), (vec![7], true));
    }

    #[test]
    fn a_node_without_keys_has_no_counts() {
        let trust = Trust {
            keys: None,
            accepts_unsigned: false,
        };
        let link = link(&trust);
        assert!(unproven_counts(link.signer()).is_empty());
        assert!(trust_status(link.signer()).keys.is_empty());
    }
}

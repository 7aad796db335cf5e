//! An orderly shutdown: the tokens of this server go to those that are responsible without it (`docs/ftn.md`, section 4).

use std::collections::BTreeSet;

use crate::ftn::RETRY;
use crate::ftn::server::knowledge::Outgoing;
use crate::time::Instant;

/// A shutdown that is under way. From its beginning on the server serves no token, so what it hands over is final.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Leaving {
    until: Instant,
    /// The configuration for which the tokens go, and the servers that they go to.
    handover: Option<(u64, Vec<Outgoing>)>,
    /// The tokens that other servers have taken for that configuration.
    taken: BTreeSet<u32>,
    /// When to say again that the server is DOWN, as the others have all tokens.
    say: Option<Instant>,
}

impl Leaving {
    pub(crate) const fn new(until: Instant) -> Self {
        Self {
            until,
            handover: None,
            taken: BTreeSet::new(),
            say: None,
        }
    }

    /// Whether the server leaves now, with what it has handed over.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.until <= now
    }

    /// Whether it is decided which tokens go where under a configuration.
    pub(crate) fn is_for(&self, configuration: u64) -> bool {
        let mut handover = self.handover.iter();
        handover.any(|(of, _)| *of == configuration)
    }

    /// Hands over these tokens, for a configuration.
    pub(crate) fn begin(&mut self, configuration: u64, outgoing: Vec<Outgoing>) {
        self.handover = Some((configuration, outgoing));
        self.taken.clear();
        self.say = None;
    }

    /// Whether all tokens that were to go for this configuration have gone.
    pub(crate) fn has_handed_over(&self, configuration: u64) -> bool {
        self.is_for(configuration) && self.outgoing().next().is_none()
    }

    fn outgoing(&self) -> impl Iterator<Item = &Outgoing> {
        self.handover.iter().flat_map(|(_, outgoing)| outgoing)
    }

    pub(crate) fn outgoing_mut(&mut self) -> impl Iterator<Item = &mut Outgoing> {
        let outgoing = self.handover.iter_mut();
        outgoing.flat_map(|(_, outgoing)| outgoing)
    }

    /// Other servers have these tokens.
    pub(crate) fn note_taken(&mut self, ids: &[u32]) {
        self.taken.extend(ids);
    }

    /// Whether another server has taken a token for this configuration.
    pub(crate) fn has_taken(&self, configuration: u64, id: u32) -> bool {
        self.is_for(configuration) && self.taken.contains(&id)
    }

    /// Says nothing for now. What is under way is begun again.
    pub(crate) fn pause(&mut self) {
        self.say = None;
        self.handover.take_if(|(_, outgoing)| !outgoing.is_empty());
    }

    /// Forgets the servers that have all that goes to them.
    pub(crate) fn drop_finished(&mut self) {
        if let Some((_, outgoing)) = &mut self.handover {
            outgoing.retain(|to| !to.is_over());
        }
    }

    /// Whether to say now that the server is DOWN. It is said again after RETRY.
    pub(crate) fn take_say(&mut self, now: Instant) -> bool {
        let is_due = self.say.is_none_or(|due| due <= now);
        if is_due {
            self.say = Some(now + RETRY);
        }
        is_due
    }

    /// When something is to be done.
    pub(crate) fn due(&self) -> Instant {
        let parts = self.outgoing().filter_map(Outgoing::due);
        parts.chain(self.say).fold(self.until, Instant::min)
    }
}

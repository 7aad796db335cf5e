//! The state of the network: its faults and its splits.

use super::queue;

/// The network's faults. Rates are per thousand, times in nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct NetworkConditions {
    /// The rate of lost messages.
    pub drop: u16,
    /// The rate of messages that arrive twice.
    pub duplicate: u16,
    /// The rate of copies that arrive later than their message.
    pub reorder: u16,
    /// The maximum extra delay of a copy that arrives later than its message.
    pub reorder_by: u64,
    /// The extra delay of all messages.
    pub delay: u64,
    /// The maximum random delay in addition to the extra delay.
    pub jitter: u64,
    /// The rate of messages with flipped bits.
    pub corrupt: u16,
    /// The largest payload length that the network carries, in bytes. The network loses longer payloads. If the length
    /// is `None`, only the interfaces' MTU limits payloads.
    pub longest: Option<usize>,
}

/// The state of a network.
#[derive(Debug)]
pub struct Network<P, A> {
    /// The current faults.
    pub(crate) conditions: NetworkConditions,
    /// The minimum latency of a message without faults, and the maximum random addition to this latency.
    pub(crate) latency: (u64, u64),
    /// Pairs of a sender and a node that does not hear this sender.
    pub(crate) cuts: Vec<(usize, usize)>,
    pub(crate) parted: bool,
    pub(crate) captures: bool,
    pub(crate) captured: Vec<queue::Message<P, A>>,
    /// Whether no fault is active. Without faults, all copies of a message arrive together.
    pub(super) clear: bool,
}

impl<P, A> Network<P, A> {
    /// Returns a network without faults.
    pub fn new(latency: (u64, u64)) -> Self {
        Self {
            conditions: NetworkConditions::default(),
            latency,
            cuts: Vec::new(),
            parted: false,
            captures: false,
            captured: Vec::new(),
            clear: true,
        }
    }

    /// Updates the cached `clear`. Call this function after every change of the network.
    pub(crate) fn update_clear(&mut self) {
        let NetworkConditions {
            drop,
            duplicate,
            reorder,
            corrupt,
            ..
        } = self.conditions;
        let troubles = [drop, duplicate, reorder, corrupt];
        self.clear = !self.parted && self.cuts.is_empty() && troubles == [0; 4];
    }
}

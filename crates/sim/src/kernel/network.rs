//! The state of the network: who hears whom, and what it does to messages.

use super::queue;

/// What the network does to messages; rates are in thousandths, times in nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct Weather {
    /// Messages that are lost.
    pub drop: u16,
    /// Messages that come twice.
    pub duplicate: u16,
    /// Copies that come later than their message would.
    pub reorder: u16,
    /// By how much at most.
    pub reorder_by: u64,
    /// How much longer all messages take.
    pub delay: u64,
    /// And how much longer than that at most.
    pub jitter: u64,
    /// Messages of which bits flip.
    pub corrupt: u16,
    /// The longest payload that arrives, in bytes, if it is shorter than the interfaces'.
    pub longest: Option<usize>,
}

/// The network's state.
#[derive(Debug)]
pub struct Network<P, A> {
    /// What it does to messages.
    pub weather: Weather,
    /// How long a message takes on a clear network, at least and how much more at most.
    pub latency: (u64, u64),
    /// Who is not heard by whom.
    pub cuts: Vec<(usize, usize)>,
    /// Whether it is cut into parts.
    pub parted: bool,
    /// Whether messages are captured.
    pub captures: bool,
    /// Those that were.
    pub captured: Vec<queue::Message<P, A>>,
    /// Nothing happens to any message: all copies of one arrive together.
    pub(super) clear: bool,
}

impl<P, A> Network<P, A> {
    /// A clear one.
    pub fn new(latency: (u64, u64)) -> Self {
        Self {
            weather: Weather::default(),
            latency,
            cuts: Vec::new(),
            parted: false,
            captures: false,
            captured: Vec::new(),
            clear: true,
        }
    }

    /// To be called after every change.
    pub fn look_up(&mut self) {
        let Weather {
            drop,
            duplicate,
            reorder,
            corrupt,
            ..
        } = self.weather;
        let troubles = [drop, duplicate, reorder, corrupt];
        self.clear = !self.parted && self.cuts.is_empty() && troubles == [0; 4];
    }
}

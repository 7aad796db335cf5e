//! Common parts of rings without faults in the simulator's kernel.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Address of the first node; the others follow.
pub(crate) const FIRST_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

pub(crate) fn ip_of(node: usize) -> IpAddr {
    let node = u32::try_from(node).expect("there are few");
    Ipv4Addr::from_bits(FIRST_ADDRESS.to_bits() + node).into()
}

pub(crate) fn node_of(address: SocketAddr) -> Option<usize> {
    let IpAddr::V4(ip) = address.ip() else {
        return None;
    };
    usize::try_from(ip.to_bits().checked_sub(FIRST_ADDRESS.to_bits())?).ok()
}

/// Implements the methods of a `System` that has no faults, storage or counters.
macro_rules! no_faults {
    () => {
        fn storm(&mut self, _: u64, sent: u64) {
            panic!("{sent} datagrams in less than a second");
        }

        fn stored(_: &mut Self::Node, durable: &std::convert::Infallible) {
            match *durable {}
        }

        fn act(_: &mut ring_sim::kernel::world::World<Self>, fault: &Self::Fault) {
            match *fault {}
        }

        fn is_enough(&self) -> bool {
            false
        }

        fn carried(&mut self, _: u64, _: Option<usize>, _: &[u8], _: SocketAddr, (): ()) {}

        fn heard(&mut self, _: Moment, _: &[u8], _: Duration) {}

        fn corrupted(&mut self, _: u64, _: &[u8], _: &[u8]) {}

        fn count(&mut self, _: ring_sim::kernel::stats::Count) {}

        fn resumed(_: &mut ring_sim::kernel::world::World<Self>, _: usize, (): ()) {}

        fn after_event(&mut self) {}
    };
}
pub(crate) use no_faults;

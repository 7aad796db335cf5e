//! Code for rings without faults in the simulator's kernel. Several benchmarks share it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Address of the first node. The other nodes have the following addresses.
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

/// Implements the methods of `System` that concern faults, storage and counters, for systems that have none of these.
macro_rules! no_faults {
    () => {
        fn on_storm(&mut self, _: u64, sent: u64) {
            panic!("{sent} datagrams in less than a second");
        }

        fn store(_: &mut Self::Node, durable: &std::convert::Infallible) {
            match *durable {}
        }

        fn apply_action(
            _: &mut ring_sim::kernel::simulation::Simulation<Self>,
            fault: &Self::Fault,
        ) {
            match *fault {}
        }

        fn can_end(&self) -> bool {
            false
        }

        fn on_carried(&mut self, _: u64, _: Option<usize>, _: &[u8], _: SocketAddr, (): ()) {}

        fn on_read(&mut self, _: Moment, _: &[u8], _: Duration) {}

        fn on_corrupted(&mut self, _: u64, _: &[u8], _: &[u8]) {}

        fn count(&mut self, _: ring_sim::kernel::stats::Count) {}

        fn on_resumed(_: &mut ring_sim::kernel::simulation::Simulation<Self>, _: usize, (): ()) {}

        fn after_event(&mut self) {}
    };
}
pub(crate) use no_faults;

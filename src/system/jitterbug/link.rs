//! The node's network: an address of the interface, and sockets that are bound to this address. If the node loses the
//! address, it opens the sockets again when the address is back.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use ring_control::jitterbug::SYSTEM;
use ring_host::trust::Trust;
use ring_host::{DatagramDrops, LastFailure, REBIND_PAUSE, WorkBudget};
use ring_proto::jitterbug::{Network, NetworkState};
use ring_proto::time::Instant;
use ring_runtime::clock;
use ring_runtime::driver::{
    Authenticated, Connections, DatagramAddressing, Encrypted, JoinedLink, Signer, datagrams,
};
use ring_runtime::net::{
    Address, Interface, InterfaceWatch, TcpNetwork, TcpOptions, UdpLink, UdpOptions,
};
use ring_trust::Authenticator;
use tracing::{info, warn};

use super::error::Error;
use crate::system;
use crate::system::jitterbug::events;

/// Maximum number of connections. It is enough for 16 inbound connections and their replacements. It also includes the
/// connection on which this node passes the token, and connections that still send their last bytes.
const CONNECTIONS_MAX: u16 = 64;

/// Buffer size for a datagram. The buffer is much larger than the longest message, so that the node recognizes a
/// datagram that is too long.
pub(super) const DATAGRAM_BUFFER: usize = 2048;

pub(super) type Sockets = JoinedLink<Datagrams, Connections<Encrypted<TcpNetwork>, SocketAddr>>;

/// The socket for datagrams, and the keys that sign them.
type Datagrams = Authenticated<UdpLink, DatagramAddressing>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NodeAddress {
    address: Address,
    index: u32,
}

/// A change of the network, for the state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LinkChange {
    /// The network's new state.
    pub net: NetworkState,
    /// Whether the loop must wait for new sockets.
    pub are_sockets_new: bool,
}

/// The interface, its watch, and the sockets.
#[derive(Debug)]
pub(super) struct SegmentLink {
    name: String,
    udp_port: u16,
    /// The TCP port. The port is 0 before the system chooses a port. The node keeps the port that the system chose.
    tcp_port: u16,
    watch: InterfaceWatch,
    trust: Trust,
    sockets: Option<Sockets>,
    node_address: Option<NodeAddress>,
    /// Whether the address is still unknown to the state machine.
    is_new: bool,
    /// Whether the sockets are new, so that the loop does not wait for them yet.
    are_sockets_new: bool,
    /// Whether the kernel may have reported changes that this node has not looked up yet.
    has_unseen_changes: bool,
    budget: WorkBudget,
    retry: Option<Instant>,
    last_failure: LastFailure,
    earlier: DatagramDrops,
}

impl SegmentLink {
    /// Finds the interface, and opens the sockets if it has an address.
    ///
    /// # Errors
    /// Fails if there is no such interface, or if a port cannot be used.
    pub(super) fn open(
        name: &str,
        (udp_port, tcp_port): (u16, u16),
        trust: Trust,
    ) -> Result<Self, ring_host::Error> {
        let watch =
            InterfaceWatch::new().map_err(ring_host::Error::system("watch the interfaces"))?;
        let list = ring_host::Error::system("list the interfaces");
        let Some(interface) = Interface::find(name).map_err(list)? else {
            let existing = Interface::names().unwrap_or_default();
            let name = name.to_owned();
            return Err(system::Error::NoInterface { name, existing }.into());
        };
        let mut link = Self {
            name: name.to_owned(),
            udp_port,
            tcp_port,
            watch,
            trust,
            sockets: None,
            node_address: None,
            is_new: false,
            are_sockets_new: false,
            has_unseen_changes: true,
            budget: WorkBudget::default(),
            retry: None,
            last_failure: LastFailure::default(),
            earlier: DatagramDrops::default(),
        };
        if let Some(node_address) = node_address(&interface, None) {
            match link.bind(node_address) {
                Err(error) if !error.may_succeed_later() => return Err(error.into()),
                // `poll_change` tries again.
                _ => {}
            }
        }
        Ok(link)
    }

    pub(super) const fn watch(&self) -> &InterfaceWatch {
        &self.watch
    }

    /// Returns the keys of the node; `None` if it has no keys, or while the interface has no address.
    pub(super) fn signer(&self) -> Option<&Signer<DatagramAddressing>> {
        self.sockets.as_ref()?.datagrams.signer()
    }

    /// Adds refused connections to the counts of refused messages.
    pub(super) fn collect_refused_streams(&mut self) {
        if let Some(sockets) = &mut self.sockets
            && let Some(signer) = sockets.datagrams.signer_mut()
        {
            signer.collect_refused(sockets.streams.network_mut());
        }
    }

    /// Returns the keys of the options.
    pub(super) const fn trust(&self) -> &Trust {
        &self.trust
    }

    /// Replaces the keys, and logs them. The proofs of the nodes' processes stay.
    ///
    /// # Errors
    /// Fails if the kernel has no random source. Then the keys stay the same.
    pub(super) fn set_trust(&mut self, trust: Trust) -> Result<(), String> {
        if let (Some(sockets), Some(address)) = (&mut self.sockets, &self.node_address) {
            let addressing = addressing(&network(address, self.tcp_port), self.udp_port);
            trust.apply(&mut sockets.datagrams, |it| signer(it, addressing))?;
            sockets.streams.network_mut().set_keys(trust.stream_keys());
        } else {
            trust.log(self.trust.keys.is_some());
        }
        self.trust = trust;
        Ok(())
    }

    /// Returns the sockets; `None` while the interface has no address.
    pub(super) const fn sockets(&mut self) -> Option<&mut Sockets> {
        self.sockets.as_mut()
    }

    /// Whether the interface has an address.
    pub(super) const fn is_up(&self) -> bool {
        self.sockets.is_some()
    }

    /// Returns the listener's port; `None` before the system chooses a port.
    pub(super) fn tcp_port(&self) -> Option<u16> {
        (self.tcp_port != 0).then_some(self.tcp_port)
    }

    /// Returns the numbers of dropped datagrams.
    pub(super) fn drops(&mut self) -> DatagramDrops {
        let sockets = self.sockets.as_mut();
        let now = sockets.map(|sockets| DatagramDrops::of(sockets.datagrams.link_mut()));
        self.earlier + now.unwrap_or_default()
    }

    /// Returns the latest time for the next call of [`poll_change`](Self::poll_change).
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.has_unseen_changes || self.is_new {
            Some(self.budget.resume().unwrap_or_default())
        } else {
            self.retry
        }
    }

    /// Reads the messages of the interface watch.
    pub(super) fn drain_watch(&mut self) -> io::Result<()> {
        self.has_unseen_changes |= self.watch.drain()?;
        Ok(())
    }

    /// Closes the sockets after an error of receiving. After a pause, the node opens the sockets again.
    pub(super) fn fail(&mut self, now: Instant, error: &io::Error) -> NetworkState {
        warn!(
            event = events::LINK_FAILED,
            "cannot receive on {}: {error}; ringd retries every {REBIND_PAUSE:?}", self.name
        );
        self.close();
        self.retry = Some(now + REBIND_PAUSE);
        NetworkState::Down
    }

    /// If the interface may have changed, looks it up and returns the change.
    pub(super) fn poll_change(&mut self, now: Instant) -> Option<LinkChange> {
        let retry = self.retry.is_some_and(|retry| retry <= now);
        if (retry || self.has_unseen_changes) && self.budget.end_pause(now) {
            self.has_unseen_changes = false;
            self.retry = None;
            let start = clock::now().monotonic;
            let found = Interface::find(&self.name);
            self.budget.charge(start, clock::now().monotonic);
            match found {
                Ok(found) => {
                    let kept = self
                        .node_address
                        .map(|node_address| node_address.address.ip);
                    let node_address = found.and_then(|found| node_address(&found, kept));
                    if self.apply_lookup(now, node_address) {
                        return Some(LinkChange {
                            net: NetworkState::Down,
                            are_sockets_new: false,
                        });
                    }
                }
                Err(error) => self.retry_later(
                    now,
                    events::LOOKUP_FAILED,
                    &format!("cannot look up {}: {error}", self.name),
                ),
            }
        }
        std::mem::take(&mut self.is_new).then(|| LinkChange {
            net: self.net(),
            are_sockets_new: std::mem::take(&mut self.are_sockets_new),
        })
    }

    /// Switches to this address. Returns whether the node lost the network.
    fn apply_lookup(&mut self, now: Instant, node_address: Option<NodeAddress>) -> bool {
        let was_up = self.is_up();
        let Some(node_address) = node_address else {
            if was_up || self.last_failure.record("no address") {
                warn!(
                    event = events::NO_ADDRESS,
                    "{} has no address: it is down, or has neither an IPv4 nor a link-local IPv6 address; ringd waits \
                     for an address",
                    self.name
                );
            }
            self.close();
            return was_up;
        };
        match self.node_address {
            Some(known) if known == node_address => return false,
            Some(known)
                if (known.address.ip, known.index)
                    == (node_address.address.ip, node_address.index) =>
            {
                self.node_address = Some(node_address);
                self.is_new = true;
                return false;
            }
            _ => {}
        }
        self.close();
        match self.bind(node_address) {
            Ok(()) => {
                self.last_failure.clear();
                false
            }
            Err(error) => {
                self.retry_later(now, events::BIND_FAILED, &error.to_string());
                was_up
            }
        }
    }

    fn retry_later(&mut self, now: Instant, event: &'static str, text: &str) {
        self.retry = Some(now + REBIND_PAUSE);
        if self.last_failure.record(text) {
            warn!(event, "{text}; ringd retries every {REBIND_PAUSE:?}");
        }
    }

    fn close(&mut self) {
        self.earlier = self.drops();
        self.sockets = None;
        self.node_address = None;
        self.is_new = false;
    }

    fn bind(&mut self, node_address: NodeAddress) -> Result<(), Error> {
        let failed = |port_kind, port| {
            let interface = self.name.clone();
            move |source| Error::Bind {
                interface,
                port_kind,
                port,
                source,
            }
        };
        let udp = UdpOptions {
            interface: Some((self.name.clone(), node_address.index)),
            // Other nodes identify a node by the source address of its datagrams.
            source: Some(node_address.address.ip),
            ..UdpOptions::default()
        };
        let any: IpAddr = match node_address.address.ip {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        // A socket that is bound to one address receives no broadcasts.
        let datagrams = UdpLink::bind(SocketAddr::new(any, self.udp_port), &udp)
            .map_err(failed("UDP port", self.udp_port))?;
        let tcp = TcpOptions {
            interface: Some(self.name.clone()),
            resets: true,
            own_address: true,
            liveness: None,
        };
        let own = match node_address.address.ip {
            IpAddr::V4(ip) => SocketAddr::from((ip, self.tcp_port)),
            IpAddr::V6(ip) => SocketAddrV6::new(ip, self.tcp_port, 0, node_address.index).into(),
        };
        let (network, port) = TcpNetwork::listen(own, tcp)
            .and_then(|network| network.address().map(|own| (network, own.port())))
            .map_err(failed("TCP port", self.tcp_port))?;
        let network_of_node = self::network(&node_address, port);
        let addressing = addressing(&network_of_node, self.udp_port);
        let authenticator = self.trust.authenticator();
        let authenticator = authenticator.map_err(failed("UDP port", self.udp_port))?;
        let signer = authenticator.map(|it| signer(it, addressing));
        let mut network = Encrypted::new(network, SYSTEM);
        network.set_keys(self.trust.stream_keys());
        self.tcp_port = port;
        self.sockets = Some(JoinedLink {
            datagrams: Authenticated::new(datagrams, signer),
            streams: Connections::new(network, CONNECTIONS_MAX),
        });
        self.node_address = Some(node_address);
        self.is_new = true;
        self.are_sockets_new = true;
        info!(
            event = events::LINK_UP, address = %node_address.address.ip, port,
            "{} has the address {}; this node takes the token at TCP port {port}", self.name, node_address.address.ip
        );
        Ok(())
    }

    fn net(&self) -> NetworkState {
        self.node_address
            .as_ref()
            .map_or(NetworkState::Down, |address| {
                NetworkState::Up(network(address, self.tcp_port))
            })
    }
}

fn network(node_address: &NodeAddress, tcp_port: u16) -> Network {
    Network {
        address: node_address.address.ip,
        prefix: node_address.address.prefix,
        scope: node_address.index,
        tcp_port,
    }
}

/// Returns the addresses that the signatures of a node cover.
fn addressing(network: &Network, udp_port: u16) -> DatagramAddressing {
    let own = SocketAddr::new(network.address, udp_port);
    DatagramAddressing::new(own).with_broadcast(network.everybody())
}

fn signer(
    authenticator: Authenticator<SocketAddr>,
    addressing: DatagramAddressing,
) -> Signer<DatagramAddressing> {
    let transmit = datagrams::transmit_batch(DATAGRAM_BUFFER);
    Signer::new(authenticator, addressing, transmit)
}

/// If the interface can send, chooses one of its addresses for the node. Chooses the address `kept` if the interface
/// still has it, and otherwise the interface's first address.
fn node_address(interface: &Interface, kept: Option<IpAddr>) -> Option<NodeAddress> {
    let is_usable = |address: &&Address| match address.ip {
        IpAddr::V4(ip) => !ip.is_loopback() && !ip.is_unspecified(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    let usable = || interface.addresses.iter().filter(is_usable);
    let rank = |address: &&Address| (address.ip.is_ipv6(), Some(address.ip) != kept);
    let address = usable().min_by_key(rank)?;
    (interface.up && interface.carrier).then_some(NodeAddress {
        address: *address,
        index: interface.index,
    })
}

#[cfg(test)]
mod tests {
    use ring_codec::MacAddr;

    use super::{Address, Interface, node_address};

    fn interface(addresses: &[&str]) -> Interface {
        let address = |text: &&str| Address {
            ip: text.parse().expect("an address"),
            prefix: 24,
        };
        Interface {
            name: "eth0".to_owned(),
            index: 3,
            mac: MacAddr([2, 0, 0, 0, 0, 1]),
            ip: [0; 16],
            addresses: addresses.iter().map(address).collect(),
            up: true,
            carrier: true,
            mtu: 1500,
            ethernet: true,
            bridge_port: false,
        }
    }

    fn found(addresses: &[&str], kept: Option<&str>) -> Option<String> {
        let kept = kept.map(|kept| kept.parse().expect("an address"));
        let node_address = node_address(&interface(addresses), kept)?;
        Some(node_address.address.ip.to_string())
    }

    #[test]
    fn an_ipv4_address_comes_first_and_the_kept_one_before_others() {
        let all = ["fe80::1", "2001:db8::1", "192.0.2.1", "192.0.2.2"];
        assert_eq!(found(&all, None).as_deref(), Some("192.0.2.1"));
        assert_eq!(found(&all, Some("192.0.2.2")).as_deref(), Some("192.0.2.2"));
        assert_eq!(found(&all, Some("fe80::1")).as_deref(), Some("192.0.2.1"));
        assert_eq!(found(&all, Some("192.0.2.9")).as_deref(), Some("192.0.2.1"));
        let six = ["2001:db8::1", "fe80::1", "fe80::2"];
        assert_eq!(found(&six, None).as_deref(), Some("fe80::1"));
        assert_eq!(found(&six, Some("fe80::2")).as_deref(), Some("fe80::2"));
    }

    #[test]
    fn without_a_usable_address_there_is_none() {
        for none in [&[][..], &["127.0.0.1"], &["2001:db8::1"], &["::1"]] {
            assert_eq!(found(none, None), None, "{none:?}");
        }
        let down = Interface {
            carrier: false,
            ..interface(&["192.0.2.1"])
        };
        assert!(node_address(&down, None).is_none());
    }
}

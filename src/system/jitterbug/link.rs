//! The node's place on its segment: an address of the interface, and the sockets at it, found, lost and found again.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use ring_host::{Complaints, Drops, REBIND_PAUSE, WorkBudget};
use ring_proto::jitterbug::{Net, Network};
use ring_proto::time::Instant;
use ring_runtime::clock;
use ring_runtime::driver::{Connections, Joined};
use ring_runtime::net::{
    Address, Interface, InterfaceWatch, TcpNetwork, TcpOptions, UdpLink, UdpOptions,
};
use tracing::{info, warn};

use super::error::Error;
use crate::system;

/// 16 inbound connections, what replaces them, the own pass, and those whose last bytes are still to be written.
const CONNECTIONS: u16 = 64;

/// Datagrams and connections.
pub(super) type Sockets = Joined<UdpLink, Connections<TcpNetwork, SocketAddr>>;

/// Where the node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    address: Address,
    /// The interface's number.
    index: u32,
}

/// A change that the machine must be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct News {
    /// What the network is like now.
    pub net: Net,
    /// The loop has to wait for new sockets.
    pub are_sockets_new: bool,
}

/// The interface, its watch, and the sockets.
#[derive(Debug)]
pub(super) struct SegmentLink {
    name: String,
    udp_port: u16,
    /// 0 until the system has chosen one, which is kept from then on.
    tcp_port: u16,
    watch: InterfaceWatch,
    sockets: Option<Sockets>,
    place: Option<Place>,
    /// The machine does not know yet of the place.
    is_new: bool,
    /// Nor the loop of the sockets.
    are_sockets_new: bool,
    /// The kernel may have reported changes that were not looked at yet.
    stale: bool,
    budget: WorkBudget,
    retry: Option<Instant>,
    complaints: Complaints,
    /// What sockets before these have dropped.
    earlier: Drops,
}

impl SegmentLink {
    /// Finds the interface, and opens the sockets if there is an address.
    ///
    /// # Errors
    /// There is no such interface, or a port cannot be used.
    pub(super) fn open(name: &str, udp_port: u16, tcp_port: u16) -> Result<Self, ring_host::Error> {
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
            sockets: None,
            place: None,
            is_new: false,
            are_sockets_new: false,
            stale: true,
            budget: WorkBudget::default(),
            retry: None,
            complaints: Complaints::default(),
            earlier: Drops::default(),
        };
        if let Some(place) = place(&interface, None) {
            match link.bind(place) {
                Err(error) if !error.may_pass() => return Err(error.into()),
                // The first look tries again.
                _ => {}
            }
        }
        Ok(link)
    }

    /// The watch, for a poller.
    pub(super) const fn watch(&self) -> &InterfaceWatch {
        &self.watch
    }

    /// The sockets, while there is an address.
    pub(super) const fn sockets(&mut self) -> Option<&mut Sockets> {
        self.sockets.as_mut()
    }

    /// Whether there is an address.
    pub(super) const fn is_up(&self) -> bool {
        self.sockets.is_some()
    }

    /// The port of the listener, once it is known.
    pub(super) fn tcp_port(&self) -> Option<u16> {
        (self.tcp_port != 0).then_some(self.tcp_port)
    }

    /// What was dropped before the machine saw it.
    pub(super) fn drops(&mut self) -> Drops {
        let sockets = self.sockets.as_mut();
        let now = sockets.map(|sockets| Drops::of(&mut sockets.datagrams));
        self.earlier + now.unwrap_or_default()
    }

    /// When to call [`look`](Self::look) at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.stale || self.is_new {
            Some(self.budget.resume().unwrap_or_default())
        } else {
            self.retry
        }
    }

    /// The watch is readable.
    pub(super) fn heard(&mut self) -> io::Result<()> {
        self.stale |= self.watch.drain()?;
        Ok(())
    }

    /// Receiving has failed: the sockets are closed, to be opened anew after a pause.
    pub(super) fn fail(&mut self, now: Instant, error: &io::Error) -> Net {
        warn!(
            event = "link_failed",
            "cannot receive on {}: {error}; trying again every {REBIND_PAUSE:?}", self.name
        );
        self.close();
        self.retry = Some(now + REBIND_PAUSE);
        Net::Down
    }

    /// Looks the interface up if it may have changed, and returns what has.
    pub(super) fn look(&mut self, now: Instant) -> Option<News> {
        let retry = self.retry.is_some_and(|retry| retry <= now);
        if (retry || self.stale) && self.budget.is_due(now) {
            self.stale = false;
            self.retry = None;
            let start = clock::now().monotonic;
            let found = Interface::find(&self.name);
            self.budget.charge(start, clock::now().monotonic);
            match found {
                Ok(found) => {
                    let kept = self.place.map(|place| place.address.ip);
                    let place = found.and_then(|found| place(&found, kept));
                    if self.compare(now, place) {
                        return Some(News {
                            net: Net::Down,
                            are_sockets_new: false,
                        });
                    }
                }
                Err(error) => self.complain(
                    now,
                    "look_up_failed",
                    &format!("cannot look up {}: {error}", self.name),
                ),
            }
        }
        std::mem::take(&mut self.is_new).then(|| News {
            net: self.net(),
            are_sockets_new: std::mem::take(&mut self.are_sockets_new),
        })
    }

    /// Moves to this place. Returns whether the network is lost.
    fn compare(&mut self, now: Instant, place: Option<Place>) -> bool {
        let was_up = self.is_up();
        let Some(place) = place else {
            if was_up || self.complaints.is_new("no address") {
                warn!(
                    event = "no_address",
                    "{} is down, or has neither an IPv4 nor a link-local IPv6 address: waiting for one",
                    self.name
                );
            }
            self.close();
            return was_up;
        };
        match self.place {
            Some(known) if known == place => return false,
            Some(known) if (known.address.ip, known.index) == (place.address.ip, place.index) => {
                self.place = Some(place);
                self.is_new = true;
                return false;
            }
            _ => {}
        }
        self.close();
        match self.bind(place) {
            Ok(()) => {
                self.complaints.forget();
                false
            }
            Err(error) => {
                self.complain(now, "bind_failed", &error.to_string());
                was_up
            }
        }
    }

    fn complain(&mut self, now: Instant, event: &'static str, text: &str) {
        self.retry = Some(now + REBIND_PAUSE);
        if self.complaints.is_new(text) {
            warn!(event, "{text}; trying again every {REBIND_PAUSE:?}");
        }
    }

    fn close(&mut self) {
        self.earlier = self.drops();
        self.sockets = None;
        self.place = None;
        self.is_new = false;
    }

    /// Opens the sockets at an address.
    fn bind(&mut self, place: Place) -> Result<(), Error> {
        let failed = |what, port| {
            let interface = self.name.clone();
            move |source| Error::Bind {
                interface,
                what,
                port,
                source,
            }
        };
        let udp = UdpOptions {
            interface: Some((self.name.clone(), place.index)),
            // Others know a node by where its datagrams come from.
            source: Some(place.address.ip),
            ..UdpOptions::default()
        };
        let any: IpAddr = match place.address.ip {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        // What goes to all is for no single address.
        let datagrams = UdpLink::bind(SocketAddr::new(any, self.udp_port), &udp)
            .map_err(failed("UDP port", self.udp_port))?;
        let tcp = TcpOptions {
            interface: Some(self.name.clone()),
            resets: true,
            own_address: true,
            liveness: None,
        };
        let own = match place.address.ip {
            IpAddr::V4(ip) => SocketAddr::from((ip, self.tcp_port)),
            IpAddr::V6(ip) => SocketAddrV6::new(ip, self.tcp_port, 0, place.index).into(),
        };
        let (network, port) = TcpNetwork::listen(own, tcp)
            .and_then(|network| network.address().map(|own| (network, own.port())))
            .map_err(failed("TCP port", self.tcp_port))?;
        self.tcp_port = port;
        self.sockets = Some(Joined {
            datagrams,
            streams: Connections::new(network, CONNECTIONS),
        });
        self.place = Some(place);
        self.is_new = true;
        self.are_sockets_new = true;
        info!(
            event = "link_up", address = %place.address.ip, port,
            "{} has the address {}; the token is taken at its TCP port {port}", self.name, place.address.ip
        );
        Ok(())
    }

    fn net(&self) -> Net {
        self.place.map_or(Net::Down, |place| {
            Net::Up(Network {
                address: place.address.ip,
                prefix: place.address.prefix,
                scope: place.index,
                tcp_port: self.tcp_port,
            })
        })
    }
}

/// Where an interface puts a node, if it can send: at the address that is `kept`, if it is still there, else at its first.
fn place(interface: &Interface, kept: Option<IpAddr>) -> Option<Place> {
    let is_usable = |address: &&Address| match address.ip {
        IpAddr::V4(ip) => !ip.is_loopback() && !ip.is_unspecified(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    let usable = || interface.addresses.iter().filter(is_usable);
    let rank = |address: &&Address| (address.ip.is_ipv6(), Some(address.ip) != kept);
    let address = usable().min_by_key(rank)?;
    (interface.up && interface.carrier).then_some(Place {
        address: *address,
        index: interface.index,
    })
}

#[cfg(test)]
mod tests {
    use ring_codec::MacAddr;

    use super::{Address, Interface, place};

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
        let place = place(&interface(addresses), kept)?;
        Some(place.address.ip.to_string())
    }

    #[test]
    fn an_ipv4_address_comes_first_and_the_one_that_is_kept_before_others() {
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
    fn without_an_address_of_the_segment_there_is_no_place() {
        for none in [&[][..], &["127.0.0.1"], &["2001:db8::1"], &["::1"]] {
            assert_eq!(found(none, None), None, "{none:?}");
        }
        let down = Interface {
            carrier: false,
            ..interface(&["192.0.2.1"])
        };
        assert!(place(&down, None).is_none());
    }
}

//! The hosts of a list of servers. A resolver finds the addresses of the hosts
//! (`docs/token-service/protocol/conventions.md` O5).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Time between two resolutions of the names.
pub const RESOLVE_INTERVAL: Duration = Duration::from_secs(10);
/// Maximum number of names that are resolved at the same time. Names are resolved in parallel so that one name without
/// an answer does not delay the other names.
const PARALLEL_MAX: usize = 8;

/// The host and port of each server, in the order of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts(Box<[Host]>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    /// The line of the list, without surrounding space.
    pub line: Box<str>,
    /// The name or address of the host.
    pub name: Box<str>,
    pub port: u16,
}

/// The addresses of the servers from the resolver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// The addresses, by the index of the server. `None` for a server without an address. Such a server counts as DOWN.
    pub addresses: Box<[Option<SocketAddr>]>,
    /// Whether the resolver answered for each name.
    pub is_complete: bool,
    /// Warnings for operators, as sentences. The warnings are about names without an address, and about addresses that
    /// other machines cannot reach.
    pub doubts: Vec<String>,
}

impl Host {
    fn is_literal(&self) -> bool {
        self.name.parse::<IpAddr>().is_ok()
    }

    /// Returns the best address of this host. IPv4 is better than IPv6. Within one family, an address that other
    /// machines can reach is better than a loopback address.
    fn resolve(&self) -> io::Result<SocketAddr> {
        let found: Vec<SocketAddr> = (&*self.name, self.port).to_socket_addrs()?.collect();
        let rank = |address: &&SocketAddr| (address.is_ipv6(), address.ip().is_loopback());
        let best = found.iter().min_by_key(rank).copied();
        best.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Hosts {
    pub(super) fn new(hosts: Vec<Host>) -> Self {
        Self(hosts.into())
    }

    /// Whether the list contains a name. Later, a name may have a different address.
    pub fn has_names(&self) -> bool {
        !self.0.iter().all(Host::is_literal)
    }

    /// Resolves all hosts, and waits as long as the resolver needs.
    pub fn resolve(&self) -> Resolution {
        let mut found = Vec::with_capacity(self.0.len());
        for some in self.0.chunks(PARALLEL_MAX) {
            thread::scope(|scope| {
                let threads: Vec<_> = some
                    .iter()
                    .map(|host| {
                        let in_thread =
                            || thread::Builder::new().spawn_scoped(scope, || host.resolve());
                        let thread = (!host.is_literal()).then(in_thread).and_then(Result::ok);
                        (host, thread)
                    })
                    .collect();
                found.extend(threads.into_iter().map(|(host, thread)| {
                    let joined = thread.and_then(|thread| thread.join().ok());
                    joined.unwrap_or_else(|| host.resolve())
                }));
            });
        }
        self.evaluate(found.into_iter().map(Some).collect())
    }

    /// Resolves all hosts, but waits at most for `limit`. A name that is unresolved after `limit` has no address in the
    /// result.
    pub fn resolve_within(&self, limit: Duration) -> Resolution {
        self.resolve_by(limit, Host::resolve)
    }

    /// Returns a resolution with these addresses. Returns `None` unless there is exactly one entry for each host.
    pub(super) fn with_addresses(
        &self,
        addresses: Box<[Option<SocketAddr>]>,
    ) -> Option<Resolution> {
        (addresses.len() == self.0.len()).then_some(Resolution {
            addresses,
            is_complete: false,
            doubts: Vec::new(),
        })
    }

    fn resolve_by(
        &self,
        limit: Duration,
        resolve: fn(&Host) -> io::Result<SocketAddr>,
    ) -> Resolution {
        let until = Instant::now() + limit;
        let (sender, answers) = mpsc::channel();
        let mut found: Vec<Option<io::Result<SocketAddr>>> = Vec::with_capacity(self.0.len());
        for (index, host) in self.0.iter().enumerate() {
            if host.is_literal() {
                found.push(Some(host.resolve()));
                continue;
            }
            let (sender, host) = (sender.clone(), host.clone());
            // If the resolver does not answer, the function returns without waiting for the thread of the resolver.
            // This thread continues.
            let thread = thread::Builder::new().spawn(move || {
                let _ = sender.send((index, resolve(&host)));
            });
            found.push(thread.err().map(Err));
        }
        while found.iter().any(Option::is_none) {
            let left = until.saturating_duration_since(Instant::now());
            let Ok((index, address)) = answers.recv_timeout(left) else {
                break;
            };
            found[index] = Some(address);
        }
        self.evaluate(found)
    }

    /// Collects addresses and warnings. An entry of `found` is `None` if the resolver did not answer for the name in
    /// time.
    fn evaluate(&self, found: Vec<Option<io::Result<SocketAddr>>>) -> Resolution {
        let is_complete = found.iter().all(Option::is_some);
        let mut doubts = Vec::new();
        let named = |index: usize| format!("server {index} ({})", self.0[index].line);
        let mut addresses: Vec<Option<SocketAddr>> = Vec::with_capacity(found.len());
        for (index, found) in found.into_iter().enumerate() {
            match &found {
                Some(Ok(_)) => {}
                Some(Err(error)) => doubts.push(format!(
                    "{} has no address: {error}; the server counts as DOWN, and this program resolves its name again \
                     every {} s",
                    named(index),
                    RESOLVE_INTERVAL.as_secs()
                )),
                None => doubts.push(format!(
                    "{} has no address yet: the resolver has not answered; until it answers, the server counts as DOWN",
                    named(index)
                )),
            }
            addresses.push(found.and_then(Result::ok));
        }
        let is_remote = |address: &SocketAddr| !address.ip().is_loopback();
        let remote = addresses.iter().flatten().copied().find(is_remote);
        if let Some(remote) = remote {
            for (index, place) in addresses.iter_mut().enumerate() {
                let Some(address) = place.filter(|it| !is_remote(it)) else {
                    continue;
                };
                let own = source_towards(remote, address).ok();
                doubts.push(loopback_warning(&named(index), address, own));
                *place = own;
            }
        }
        Resolution {
            addresses: addresses.into(),
            is_complete,
            doubts,
        }
    }
}

/// Returns the address from which this machine sends to `remote`, with the port of `own`.
pub(super) fn source_towards(remote: SocketAddr, own: SocketAddr) -> io::Result<SocketAddr> {
    let any: IpAddr = if remote.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    let socket = UdpSocket::bind((any, 0))?;
    // A connected UDP socket shows the source address without sending a packet.
    socket.connect(remote)?;
    let source = socket.local_addr()?.ip();
    Ok(SocketAddr::new(source, own.port()))
}

fn loopback_warning(server: &str, loopback: SocketAddr, own: Option<SocketAddr>) -> String {
    let ip = loopback.ip();
    let remedy = "remove the name from the loopback address in /etc/hosts of this machine, or list an address instead \
                  of the name";
    match own {
        Some(own) => format!(
            "{server} has the address {ip} here, which other machines cannot reach; using {} instead: {remedy}",
            own.ip()
        ),
        None => format!(
            "{server} has the address {ip} here, which other machines cannot reach, so it counts as DOWN: {remedy}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::{Host, Hosts};

    fn hosts(lines: &[&str]) -> Hosts {
        let host = |line: &&str| {
            let (host, port) = line.rsplit_once(':').expect("it has a port");
            Host {
                line: (*line).into(),
                name: host.into(),
                port: port.parse().expect("a port"),
            }
        };
        Hosts::new(lines.iter().map(host).collect())
    }

    #[test]
    fn a_name_without_an_address_does_not_affect_the_others() {
        let hosts = hosts(&["192.0.2.1:7301", "no-such-host.invalid:7301"]);
        assert!(hosts.has_names());
        let found = hosts.resolve();
        assert_eq!(found.addresses[0], Some(([192, 0, 2, 1], 7301).into()));
        assert_eq!(found.addresses[1], None);
        let doubt = &found.doubts[0];
        assert!(
            doubt.starts_with("server 1 (no-such-host.invalid:7301) has no address")
                && doubt.contains("DOWN"),
            "{doubt}"
        );
    }

    #[test]
    fn a_resolver_that_does_not_answer_delays_only_until_the_limit() {
        let hosts = hosts(&["slow:7301", "192.0.2.1:7301", "quick:7301"]);
        let began = Instant::now();
        let found = hosts.resolve_by(Duration::from_millis(100), |host| {
            if &*host.name == "slow" {
                thread::sleep(Duration::from_secs(60));
            }
            Ok(([192, 0, 2, 9], host.port).into())
        });
        assert!(began.elapsed() < Duration::from_secs(30));
        let address = |last| Some(([192, 0, 2, last], 7301).into());
        assert_eq!(*found.addresses, [None, address(1), address(9)]);
        assert!(found.doubts[0].contains("has no address yet"), "{found:?}");
    }

    /// On Debian, a machine's name resolves to 127.0.1.1 on this machine itself.
    #[test]
    fn a_loopback_address_among_others_is_replaced_with_a_warning() {
        let hosts = hosts(&["a:7301", "b:7301", "c:7301"]);
        let address = |ip: [u8; 4]| Some(io::Result::Ok((ip, 7301).into()));
        let found = hosts.evaluate(vec![
            address([127, 0, 1, 1]),
            address([192, 0, 2, 2]),
            Some(Err(ErrorKind::NotFound.into())),
        ]);
        assert!(
            found.addresses[0].is_none_or(|it| !it.ip().is_loopback() && it.port() == 7301),
            "{found:?}"
        );
        let is_warning = |it: &String| {
            it.contains("server 0 (a:7301) has the address 127.0.1.1 here")
                && it.contains("/etc/hosts")
        };
        assert!(found.doubts.iter().any(is_warning), "{found:?}");
    }

    #[test]
    fn a_list_of_only_loopback_addresses_is_accepted() {
        let hosts = hosts(&["127.0.0.1:7301", "127.0.0.2:7301"]);
        assert!(!hosts.has_names());
        let found = hosts.resolve();
        assert_eq!(found.addresses[1], Some(([127, 0, 0, 2], 7301).into()));
        assert!(found.doubts.is_empty());
    }
}

//! The hosts of a list of servers, and their addresses as resolvers tell them (`docs/ftn.md`, section 1).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// The time between two times that names are resolved.
pub const RESOLVED_EVERY: Duration = Duration::from_secs(10);
/// How many names are resolved at a time: one that no resolver answers for delays no other.
const AT_A_TIME: usize = 8;

/// The host and port of each server, in the order of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts(Box<[Host]>);

/// The host of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    /// The line of the list, without space around it.
    pub line: Box<str>,
    /// The host: a name or an address.
    pub name: Box<str>,
    /// The port.
    pub port: u16,
}

/// The addresses of the servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// By index; `None`: the server has none, which makes it as good as DOWN.
    pub addresses: Box<[Option<SocketAddr>]>,
    /// Whether the resolver has answered for each name.
    pub is_whole: bool,
    /// Sentences for operators: names without an address, and addresses that other machines cannot reach.
    pub doubts: Vec<String>,
}

impl Host {
    fn is_literal(&self) -> bool {
        self.name.parse::<IpAddr>().is_ok()
    }

    /// Its best address: of IPv4 before IPv6, and of those one that other machines can reach.
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

    /// Whether a name is among them, which may get another address.
    pub fn has_names(&self) -> bool {
        !self.0.iter().all(Host::is_literal)
    }

    /// Resolves all of them. That may take as long as resolvers do.
    pub fn resolve(&self) -> Resolution {
        let mut found = Vec::with_capacity(self.0.len());
        for some in self.0.chunks(AT_A_TIME) {
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
        self.judge(found.into_iter().map(Some).collect())
    }

    /// Resolves all of them for as long as `limit` at most. Names that take longer have no address then.
    pub fn resolve_within(&self, limit: Duration) -> Resolution {
        self.resolve_by(limit, Host::resolve)
    }

    /// The addresses that each had when they were resolved last; `None`: they are of another number of servers.
    pub(super) fn resolved(&self, addresses: Box<[Option<SocketAddr>]>) -> Option<Resolution> {
        (addresses.len() == self.0.len()).then_some(Resolution {
            addresses,
            is_whole: false,
            doubts: Vec::new(),
        })
    }

    fn resolve_by(
        &self,
        limit: Duration,
        resolve: fn(&Host) -> io::Result<SocketAddr>,
    ) -> Resolution {
        let until = Instant::now() + limit;
        let (tell, told) = mpsc::channel();
        let mut found: Vec<Option<io::Result<SocketAddr>>> = Vec::with_capacity(self.0.len());
        for (index, host) in self.0.iter().enumerate() {
            if host.is_literal() {
                found.push(Some(host.resolve()));
                continue;
            }
            let (tell, host) = (tell.clone(), host.clone());
            // A resolver that does not answer keeps its thread, which nobody waits for.
            let thread = thread::Builder::new().spawn(move || {
                let _ = tell.send((index, resolve(&host)));
            });
            found.push(thread.err().map(Err));
        }
        while found.iter().any(Option::is_none) {
            let left = until.saturating_duration_since(Instant::now());
            let Ok((index, address)) = told.recv_timeout(left) else {
                break;
            };
            found[index] = Some(address);
        }
        self.judge(found)
    }

    /// `None`: a name was not resolved in time.
    fn judge(&self, found: Vec<Option<io::Result<SocketAddr>>>) -> Resolution {
        let is_whole = found.iter().all(Option::is_some);
        let mut doubts = Vec::new();
        let named = |index: usize| format!("server {index} ({})", self.0[index].line);
        let mut addresses: Vec<Option<SocketAddr>> = Vec::with_capacity(found.len());
        for (index, found) in found.into_iter().enumerate() {
            match &found {
                Some(Ok(_)) => {}
                Some(Err(error)) => doubts.push(format!(
                    "{} has no address: {error}; it counts as DOWN until its name is resolved, which is tried every {} s",
                    named(index),
                    RESOLVED_EVERY.as_secs()
                )),
                None => doubts.push(format!(
                    "{} has no address yet: the resolver has not answered; it counts as DOWN until then",
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
                doubts.push(in_place_of(&named(index), address, own));
                *place = own;
            }
        }
        Resolution {
            addresses: addresses.into(),
            is_whole,
            doubts,
        }
    }
}

/// The address of this machine from which it sends to another one, with the port of `own`.
fn source_towards(remote: SocketAddr, own: SocketAddr) -> io::Result<SocketAddr> {
    let any: IpAddr = if remote.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    let socket = UdpSocket::bind((any, 0))?;
    // It sends nothing.
    socket.connect(remote)?;
    let source = socket.local_addr()?.ip();
    Ok(SocketAddr::new(source, own.port()))
}

fn in_place_of(server: &str, loopback: SocketAddr, own: Option<SocketAddr>) -> String {
    let ip = loopback.ip();
    let remedy =
        "take its name off the loopback address in /etc/hosts of this machine, or list its address";
    match own {
        Some(own) => format!(
            "{server} is {ip} here, which other machines cannot reach: {} is used in its place; {remedy}",
            own.ip()
        ),
        None => format!(
            "{server} is {ip} here, which other machines cannot reach, and counts as DOWN: {remedy}"
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
    fn a_name_without_an_address_leaves_the_others_theirs() {
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

    /// With a resolver that does not answer, `-w 1` waited for as long as that takes.
    #[test]
    fn a_name_whose_resolver_does_not_answer_delays_the_others_for_a_moment_only() {
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

    /// The list of the page on Debian: the local name is 127.0.1.1.
    #[test]
    fn loopback_next_to_other_addresses_is_replaced_and_told_of() {
        let hosts = hosts(&["a:7301", "b:7301", "c:7301"]);
        let address = |ip: [u8; 4]| Some(io::Result::Ok((ip, 7301).into()));
        let found = hosts.judge(vec![
            address([127, 0, 1, 1]),
            address([192, 0, 2, 2]),
            Some(Err(ErrorKind::NotFound.into())),
        ]);
        assert!(
            found.addresses[0].is_none_or(|it| !it.ip().is_loopback() && it.port() == 7301),
            "{found:?}"
        );
        let told = |it: &String| {
            it.contains("server 0 (a:7301) is 127.0.1.1 here") && it.contains("/etc/hosts")
        };
        assert!(found.doubts.iter().any(told), "{found:?}");
    }

    #[test]
    fn a_list_of_loopback_addresses_alone_is_for_this_machine_alone() {
        let hosts = hosts(&["127.0.0.1:7301", "127.0.0.2:7301"]);
        assert!(!hosts.has_names());
        let found = hosts.resolve();
        assert_eq!(found.addresses[1], Some(([127, 0, 0, 2], 7301).into()));
        assert!(found.doubts.is_empty());
    }
}

//! The list of servers, as the file that all of them and all clients are given (`docs/ftn.md`, section 1).

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ring_proto::ftn::{MAX_SERVERS, Servers};
use thiserror::Error;

use super::hosts::{Host, Hosts, Resolution};

/// Why a list of servers is of no use. The text is a sentence: what failed, on what, what to do.
#[derive(Debug, Error)]
pub enum ServersError {
    /// The file cannot be read.
    #[error("cannot read {}, which is to list the servers: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// There is no server in it, or too many.
    #[error(
        "{} lists {count} servers: give 1 to {MAX_SERVERS}, each on a line HOST:PORT", path.display()
    )]
    Count {
        /// The file.
        path: PathBuf,
        /// How many there are.
        count: usize,
    },
    /// A line names no server.
    #[error("{}, line {line}: '{text}' is not HOST:PORT", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// No host has an address.
    #[error("no server in {} has an address: {}", path.display(), doubts.join("; "))]
    Unresolved {
        /// The file.
        path: PathBuf,
        /// What is wrong with each.
        doubts: Vec<String>,
    },
    /// This server has no address.
    #[error("{}: {doubt}", path.display())]
    OwnUnresolved {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        doubt: String,
    },
    /// Two servers have one address.
    #[error("{}, line {line}: {address} is the address of a server before it", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// The address.
        address: SocketAddr,
    },
    /// One socket cannot reach them all.
    #[error(
        "{}: {v4} is IPv4, {v6} is IPv6: one socket reaches all servers, so give all of them addresses \
         of one kind", path.display()
    )]
    Mixed {
        /// The file.
        path: PathBuf,
        /// A server's address.
        v4: SocketAddr,
        /// Another's.
        v6: SocketAddr,
    },
}

/// A list of servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerList {
    /// Each server as its line names it, without space around it.
    pub names: Box<[Box<str>]>,
    /// The servers.
    pub servers: Servers,
    /// Their hosts, to be resolved again.
    pub hosts: Hosts,
    /// What operators should know of their addresses, as sentences.
    pub doubts: Vec<String>,
}

/// Reads a list of servers, and resolves each, as [`read_list`] does.
///
/// # Errors
/// What is wrong with the list.
pub fn read_servers(path: &Path) -> Result<Servers, ServersError> {
    Ok(read_list(path)?.servers)
}

/// Reads a list of servers, and resolves each: to its first IPv4 address, or to its first one if it has none of those. A
/// name that has no address is no error, unless all have none: its server counts as DOWN.
///
/// # Errors
/// What is wrong with the list.
pub fn read_list(path: &Path) -> Result<ServerList, ServersError> {
    let text = fs::read_to_string(path).map_err(|source| ServersError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    resolve_list(path, &text)
}

/// Resolves each server of a list that was read already. Messages name `path` as the list's file.
///
/// # Errors
/// What is wrong with the list.
pub fn resolve_list(path: &Path, text: &str) -> Result<ServerList, ServersError> {
    list(path, text, |hosts| Some(hosts.resolve()))
}

/// Resolves the servers of a list that was read already, for as long as `limit` at most. Names that take longer have no address yet.
///
/// # Errors
/// What is wrong with the list.
pub fn resolve_list_within(
    path: &Path,
    text: &str,
    limit: Duration,
) -> Result<ServerList, ServersError> {
    list(path, text, |hosts| Some(hosts.resolve_within(limit)))
}

/// Reads a list whose servers were resolved already: these are their addresses.
///
/// # Errors
/// What is wrong with the list.
pub fn resolved_list(
    path: &Path,
    text: &str,
    addresses: Box<[Option<SocketAddr>]>,
) -> Result<ServerList, ServersError> {
    list(path, text, |hosts| hosts.resolved(addresses))
}

/// `resolve`: `None` if it is for another number of servers.
fn list(
    path: &Path,
    text: &str,
    resolve: impl FnOnce(&Hosts) -> Option<Resolution>,
) -> Result<ServerList, ServersError> {
    let lines: Vec<(usize, &str)> = (1..)
        .zip(text.lines())
        .filter(|(_, text)| !text.trim().is_empty())
        .collect();
    let count = ServersError::Count {
        path: path.to_owned(),
        count: lines.len(),
    };
    if lines.len() > MAX_SERVERS {
        return Err(count);
    }
    let hosts: Result<Vec<Host>, _> = lines
        .iter()
        .map(|(line, text)| host(path, *line, text))
        .collect();
    let hosts = Hosts::new(hosts?);
    let Some(Resolution {
        addresses,
        doubts,
        is_whole,
    }) = resolve(&hosts)
    else {
        return Err(count);
    };
    let known = || {
        lines
            .iter()
            .zip(&addresses)
            .filter_map(|(line, it)| Some((line.0, (*it)?)))
    };
    for (line, address) in known() {
        if known().any(|(other, it)| it == address && other < line) {
            return Err(ServersError::Twice {
                path: path.to_owned(),
                line,
                address,
            });
        }
    }
    let of_kind = |v4| known().find(|(_, address)| address.is_ipv4() == v4);
    if let (Some((_, v4)), Some((_, v6))) = (of_kind(true), of_kind(false)) {
        return Err(ServersError::Mixed {
            path: path.to_owned(),
            v4,
            v6,
        });
    }
    if known().next().is_none() && !lines.is_empty() && is_whole {
        return Err(ServersError::Unresolved {
            path: path.to_owned(),
            doubts,
        });
    }
    let texts = lines.iter().map(|(_, text)| *text);
    let names = texts.clone().map(|text| text.trim().into()).collect();
    let servers = Servers::new(texts.zip(addresses.iter().copied())).ok_or(count)?;
    Ok(ServerList {
        names,
        servers,
        hosts,
        doubts,
    })
}

fn host(path: &Path, line: usize, text: &str) -> Result<Host, ServersError> {
    let wrong = || ServersError::Line {
        path: path.to_owned(),
        line,
        text: text.to_owned(),
    };
    let (host, port) = text.trim().rsplit_once(':').ok_or_else(wrong)?;
    let port: u16 = port
        .parse()
        .ok()
        .filter(|&port| port > 0)
        .ok_or_else(wrong)?;
    let host = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    if host.is_empty() {
        return Err(wrong());
    }
    Ok(Host {
        line: text.trim().into(),
        name: host.into(),
        port,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ring_codec::ftn::server_signature;

    use super::{ServersError, resolve_list as resolve};

    fn said(text: &str) -> String {
        let error: ServersError = resolve(Path::new("lab"), text).expect_err(text);
        error.to_string()
    }

    #[test]
    fn blank_lines_are_ignored_and_the_signature_is_over_the_lines_as_written() {
        let text = "\n127.0.0.1:7301\n  \n127.0.0.2:7302\n\n";
        let list = resolve(Path::new("lab"), text).expect("it is a list");
        assert_eq!(
            *list.names,
            ["127.0.0.1:7301".into(), "127.0.0.2:7302".into()]
        );
        let servers = list.servers;
        assert_eq!(servers.len(), 2);
        assert_eq!(servers.address(1), Some(([127, 0, 0, 2], 7302).into()));
        let lines = ["127.0.0.1:7301", "127.0.0.2:7302"];
        let signature = server_signature(lines.iter().map(|line| line.as_bytes()));
        assert_eq!(servers.signature(), signature);
        let v6 = resolve(Path::new("lab"), "[::1]:7301\n").expect("it is a list");
        assert!(
            v6.servers
                .address(0)
                .is_some_and(|address| address.is_ipv6())
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        assert!(said("\n\n").contains("lab lists 0 servers: give 1 to 32"));
        let many: Vec<_> = (1..=33).map(|n| format!("127.0.0.{n}:1")).collect();
        assert!(said(&many.join("\n")).contains("lists 33 servers"));
        for wrong in [
            "127.0.0.1",
            "127.0.0.1:",
            "127.0.0.1:0",
            "127.0.0.1:70000",
            ":7301",
        ] {
            let text = format!("127.0.0.1:1\n{wrong}\n");
            assert_eq!(
                said(&text),
                format!("lab, line 2: '{wrong}' is not HOST:PORT")
            );
        }
        let twice = said("127.0.0.1:1\n\n127.0.0.1:1\n");
        assert_eq!(
            twice,
            "lab, line 3: 127.0.0.1:1 is the address of a server before it"
        );
        let mixed = said("127.0.0.1:1\n[::1]:1\n");
        assert!(
            mixed.starts_with("lab: 127.0.0.1:1 is IPv4, [::1]:1 is IPv6"),
            "{mixed}"
        );
    }
}

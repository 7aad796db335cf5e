//! The list of servers: a file that all servers and clients share (`docs/token-service/protocol/conventions.md` O4).

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ring_proto::ftn::{SERVERS_MAX, Servers};
use thiserror::Error;

use super::hosts::{Host, Hosts, Resolution};

/// The reason why a list of servers cannot be used. The text is a sentence with the cause and the remedy.
#[derive(Debug, Error)]
pub enum ServersError {
    /// The file cannot be read.
    #[error("cannot read the list of servers {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file lists no server, or more than [`SERVERS_MAX`] servers.
    #[error(
        "{} lists {count} servers: give 1 to {SERVERS_MAX}, each on a line HOST:PORT", path.display()
    )]
    Count {
        /// The file.
        path: PathBuf,
        /// The number of servers.
        count: usize,
    },
    /// A line of the list is not `HOST:PORT`.
    #[error("{}, line {line}: '{text}' is not HOST:PORT", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// The line's text.
        text: String,
    },
    /// No server has an address.
    #[error("no server in {} has an address: {}", path.display(), doubts.join("; "))]
    Unresolved {
        /// The file.
        path: PathBuf,
        /// One warning per server.
        doubts: Vec<String>,
    },
    /// This server has no address.
    #[error("{}: {warning}", path.display())]
    OwnUnresolved {
        /// The file.
        path: PathBuf,
        /// The warning about the server's address.
        warning: String,
    },
    /// Two servers have the same address.
    #[error("{}, line {line}: {address} is also the address of an earlier server", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// The address.
        address: SocketAddr,
    },
    /// The list mixes IPv4 and IPv6 addresses, but one socket must reach all servers.
    #[error(
        "{}: {v4} is IPv4, {v6} is IPv6; give all servers addresses of one kind, because one socket must reach all \
         servers",
        path.display()
    )]
    Mixed {
        /// The file.
        path: PathBuf,
        /// A server's IPv4 address.
        v4: SocketAddr,
        /// Another server's IPv6 address.
        v6: SocketAddr,
    },
}

/// A list of servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerList {
    /// The servers' lines, without surrounding space.
    pub names: Box<[Box<str>]>,
    /// The servers that a session uses.
    pub servers: Servers,
    /// The hosts, for later resolutions.
    pub hosts: Hosts,
    /// Warnings about the addresses for operators, as sentences.
    pub warnings: Vec<String>,
}

/// Reads a list of servers and resolves the servers as [`read_list`] does, but returns only the servers.
///
/// # Errors
/// Fails with a [`ServersError`].
pub fn read_servers(path: &Path) -> Result<Servers, ServersError> {
    Ok(read_list(path)?.servers)
}

/// Reads a list of servers and resolves each server to its best address. IPv4 is better than IPv6. A server without an
/// address counts as DOWN. Fails if no server has an address.
///
/// # Errors
/// Fails with a [`ServersError`].
pub fn read_list(path: &Path) -> Result<ServerList, ServersError> {
    let text = fs::read_to_string(path).map_err(|source| ServersError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    resolve_list(path, &text)
}

/// Resolves the servers of a list whose text the caller already read. Error messages name `path`.
///
/// # Errors
/// Fails with a [`ServersError`].
pub fn resolve_list(path: &Path, text: &str) -> Result<ServerList, ServersError> {
    parse_list(path, text, |hosts| Some(hosts.resolve()))
}

/// Resolves the servers of a list as [`resolve_list`] does, but waits at most for `limit`. At first, a name that is
/// unresolved after `limit` has no address.
///
/// # Errors
/// Fails with a [`ServersError`].
pub fn resolve_list_within(
    path: &Path,
    text: &str,
    limit: Duration,
) -> Result<ServerList, ServersError> {
    parse_list(path, text, |hosts| Some(hosts.resolve_within(limit)))
}

/// Parses a list as [`resolve_list`] does, but uses already resolved addresses.
///
/// # Errors
/// Fails with a [`ServersError`].
pub fn list_with_addresses(
    path: &Path,
    text: &str,
    addresses: Box<[Option<SocketAddr>]>,
) -> Result<ServerList, ServersError> {
    parse_list(path, text, |hosts| hosts.with_addresses(addresses))
}

/// Parses a list. `resolve` returns the addresses of the hosts. It returns `None` if it has a different number of
/// addresses.
fn parse_list(
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
    if lines.len() > SERVERS_MAX {
        return Err(count);
    }
    let hosts: Result<Vec<Host>, _> = lines
        .iter()
        .map(|(line, text)| parse_host(path, *line, text))
        .collect();
    let hosts = Hosts::new(hosts?);
    let Some(Resolution {
        addresses,
        doubts,
        is_complete,
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
    if known().next().is_none() && !lines.is_empty() && is_complete {
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
        warnings: doubts,
    })
}

fn parse_host(path: &Path, line: usize, text: &str) -> Result<Host, ServersError> {
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

    fn error_text(text: &str) -> String {
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
    fn an_error_names_the_line() {
        assert!(error_text("\n\n").contains("lab lists 0 servers: give 1 to 32"));
        let many: Vec<_> = (1..=33).map(|n| format!("127.0.0.{n}:1")).collect();
        assert!(error_text(&many.join("\n")).contains("lists 33 servers"));
        for wrong in [
            "127.0.0.1",
            "127.0.0.1:",
            "127.0.0.1:0",
            "127.0.0.1:70000",
            ":7301",
        ] {
            let text = format!("127.0.0.1:1\n{wrong}\n");
            assert_eq!(
                error_text(&text),
                format!("lab, line 2: '{wrong}' is not HOST:PORT")
            );
        }
        let twice = error_text("127.0.0.1:1\n\n127.0.0.1:1\n");
        assert_eq!(
            twice,
            "lab, line 3: 127.0.0.1:1 is also the address of an earlier server"
        );
        let mixed = error_text("127.0.0.1:1\n[::1]:1\n");
        assert!(
            mixed.starts_with("lab: 127.0.0.1:1 is IPv4, [::1]:1 is IPv6"),
            "{mixed}"
        );
    }
}

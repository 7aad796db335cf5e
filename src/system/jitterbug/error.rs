//! Errors that stop a node at its start, each with an exit code.

use std::io::{self, ErrorKind};

use ring_host::SystemError;
use thiserror::Error;

/// The error that stops a node at its start. The text of the error names the failure, the cause and a remedy.
#[derive(Debug, Error)]
pub(super) enum Error {
    /// A socket cannot be bound.
    #[error("cannot use {port_kind} {port} on {interface}: {}", hint(.source, port_kind))]
    Bind {
        interface: String,
        /// `UDP port` or `TCP port`.
        port_kind: &'static str,
        port: u16,
        /// The error of the system call.
        source: io::Error,
    },
}

impl Error {
    /// Whether a later attempt may succeed, because the address may only be missing for a short time.
    pub(super) fn may_succeed_later(&self) -> bool {
        let Self::Bind { source, .. } = self;
        !matches!(
            source.kind(),
            ErrorKind::PermissionDenied | ErrorKind::AddrInUse
        )
    }
}

impl SystemError for Error {
    fn exit_code(&self) -> u8 {
        let Self::Bind { source, .. } = self;
        match source.kind() {
            ErrorKind::PermissionDenied => 5,
            ErrorKind::AddrInUse => 6,
            _ => 1,
        }
    }
}

/// Describes the problem of a port, and a remedy.
fn hint(source: &io::Error, port_kind: &str) -> String {
    let (option, list) = if port_kind == "UDP port" {
        ("--udp-port, the same on all nodes", "ss -ulpn")
    } else {
        ("--tcp-port", "ss -tlpn")
    };
    match source.kind() {
        ErrorKind::PermissionDenied => {
            format!(
                "ports below 1024 need CAP_NET_BIND_SERVICE; grant it, or choose another port with {option}"
            )
        }
        ErrorKind::AddrInUse => format!(
            "another process uses it, perhaps another ringd jitterbug; find it with {list}, or choose another port \
             with {option}"
        ),
        _ => source.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind};

    use super::Error;
    use ring_host::SystemError;

    #[test]
    fn each_error_says_what_to_do_and_has_its_exit_code() {
        let bind = |port_kind, kind| Error::Bind {
            interface: "eth0".to_owned(),
            port_kind,
            port: 57_700,
            source: io::Error::from(kind),
        };
        let cases = [
            (
                bind("UDP port", ErrorKind::AddrInUse),
                6,
                "the same on all nodes",
                false,
            ),
            (bind("TCP port", ErrorKind::AddrInUse), 6, "ss -tlpn", false),
            (
                bind("UDP port", ErrorKind::PermissionDenied),
                5,
                "CAP_NET_BIND_SERVICE",
                false,
            ),
            (
                bind("TCP port", ErrorKind::AddrNotAvailable),
                1,
                "TCP port 57700 on eth0",
                true,
            ),
        ];
        for (error, code, advice, passes) in cases {
            assert_eq!(
                (error.exit_code(), error.may_succeed_later()),
                (code, passes),
                "{error}"
            );
            assert!(error.to_string().contains(advice), "{error}");
        }
    }
}

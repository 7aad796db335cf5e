//! The errors of a client of the token service.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use ring_proto::ftn::client::{Loss, Refusal};
use ring_runtime::wait::SystemCallError;
use ring_text::format_duration;
use thiserror::Error;

/// The reason why a request to the token service failed. The text is a sentence with the cause and the remedy.
#[derive(Debug, Error)]
pub enum Error {
    /// A basic system call failed.
    #[error(transparent)]
    System(#[from] SystemCallError),
    /// No socket can be created for the session.
    #[error("cannot create a socket for the token servers: {0}")]
    Socket(#[from] io::Error),
    /// No session was live in time.
    #[error("no session with the token servers within {}: {obstacle}", format_duration(*.after))]
    NoSession {
        /// The time that the client waited for a session.
        after: Duration,
        /// The obstacle.
        obstacle: Obstacle,
    },
    /// The token was not granted in time. The request is withdrawn.
    #[error(
        "the token is not granted in time: other clients hold the token, or the token's server does not answer"
    )]
    NotGranted,
    /// The token's server did not confirm the release in time. The client no longer holds the token.
    #[error(
        "the release of the token is not confirmed in time: check that the token's server runs, and that UDP \
         reaches this server"
    )]
    NotConfirmed,
    /// The watched descriptor became readable. The request is withdrawn.
    #[error("the wait for the token was interrupted")]
    Interrupted,
    /// The session is lost, with all its tokens.
    #[error("the session with the token servers is lost: {}", loss_text(*.0))]
    Lost(Loss),
    /// The key of this program does not permit the token. The servers would drop the request.
    #[error(
        "the key {key} does not permit the token '{name}': it permits only {permitted}; use another key file, or add \
         the name to this key on all machines"
    )]
    NotPermitted {
        /// The token's name, escaped.
        name: String,
        /// The id of the key.
        key: u32,
        /// The permitted names.
        permitted: String,
    },
    /// The client cannot send the request.
    #[error("{}", refusal_text(*.0))]
    Refused(Refusal),
}

/// The reason why the client has no session.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Obstacle {
    /// The resolver found no address for any server.
    #[error("no server's name is resolved yet: the resolver of this machine does not answer")]
    NoAddress,
    /// No server answers. Servers with a different list do not answer.
    #[error(
        "no answer from {} ({}): check that the servers run, that UDP reaches them, and that their list has the same \
         lines. The signature of this list is {signature}; ringctl status shows a server's signature as ssig. {}",
        count_text(.asked.len()),
        address_list(.asked),
        key_text(*.key)
    )]
    NoAnswer {
        /// The addresses of the servers to which the client sent requests.
        asked: Vec<SocketAddr>,
        /// The signature of this program's list.
        signature: i32,
        /// The id of the key that signs; `None` without keys.
        key: Option<u32>,
    },
    /// The answers of a server have no valid signature.
    #[error(
        "{server} answers without a valid signature: it does not know the key {key} of this program; give the key to \
         all servers with --client-keys, or use no key here"
    )]
    Unsigned {
        /// The server's address.
        server: SocketAddr,
        /// The id of the key of this program.
        key: u32,
    },
    /// A server has a different list.
    #[error(
        "{from} has a different list of servers: its list has the signature {theirs}, and this list has {signature}; \
         give all servers and clients the same list"
    )]
    OtherList {
        /// The server's address.
        from: SocketAddr,
        /// The signature of the server's list.
        theirs: i32,
        /// The signature of this program's list.
        signature: i32,
    },
    /// The client timeout of a server is too short: the server would end a session before its confirmation.
    #[error(
        "the client timeout of {} is {}, which is too short to confirm a session: give all servers the same \
         --client-timeout of 200 ms or more",
        server.map_or_else(|| "a server".to_owned(), |it| it.to_string()), format_duration(*.timeout)
    )]
    ShortTimeout {
        /// The server's address.
        server: Option<SocketAddr>,
        /// The client timeout that the server announces.
        timeout: Duration,
    },
    /// Servers answer, but no leader starts a session.
    #[error(
        "servers answer, but start no session: they are electing a leader, this machine cannot reach the leader, or \
         the leader has its maximum number of clients (--max-clients)"
    )]
    NoLeader,
    /// The leader does not confirm the session.
    #[error(
        "the leader starts a session, but does not confirm the session: the leader waits for other servers, or has no \
         quorum"
    )]
    NotConfirmed,
}

fn count_text(count: usize) -> String {
    match count {
        1 => "one server".to_owned(),
        count => format!("{count} servers"),
    }
}

fn key_text(key: Option<u32>) -> String {
    match key {
        Some(key) => format!(
            "Servers do not answer a client whose key they do not know: check that they have the key {key} with the \
             same digits"
        ),
        None => "Servers with keys do not answer a client without a key".to_owned(),
    }
}

fn address_list(asked: &[SocketAddr]) -> String {
    let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
    asked.join(", ")
}

const fn loss_text(loss: Loss) -> &'static str {
    match loss {
        Loss::LeaseOver => {
            "no server has confirmed the session during the lease: the servers or this program were stopped or cut off"
        }
        Loss::NotProven => "no server has confirmed the session",
        Loss::SocketChanged => "the session's socket has failed",
    }
}

const fn refusal_text(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::NotLive => "there is no live session with the token servers",
        Refusal::Name => "a token's name has 1 to 1,024 bytes",
        Refusal::Data => "a token's data have at most 32,768 bytes",
        Refusal::AlreadyDone => {
            "this client already holds the token with this access, or waits for it"
        }
        Refusal::NotHeld => "the token is not held, or is being released",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Error, Obstacle};

    #[test]
    fn an_error_without_an_answer_names_the_servers() {
        let asked = vec![([192, 0, 2, 1], 7300).into(), ([192, 0, 2, 2], 7300).into()];
        let obstacle = Obstacle::NoAnswer {
            asked,
            signature: -7,
            key: Some(20),
        };
        let after = Duration::from_secs(10);
        let text = Error::NoSession { after, obstacle }.to_string();
        for part in [
            "within 10 s",
            "no answer from 2 servers (192.0.2.1:7300, 192.0.2.2:7300)",
            "signature of this list is -7",
            "have the key 20",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}

//! Why a program does not get what it asks the token service for.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use ring_proto::ftn::client::{Loss, Refusal};
use ring_runtime::wait::Failure;
use ring_text::format_duration;
use thiserror::Error;

/// Why a program does not get what it asks the token service for. The text is a sentence: what failed, on what, what
/// to do.
#[derive(Debug, Error)]
pub enum Error {
    /// The system refuses what every process may do.
    #[error(transparent)]
    System(#[from] Failure),
    /// There is no socket for the session.
    #[error("cannot make a socket to reach the servers of tokens: {0}")]
    Socket(#[from] io::Error),
    /// No session came about in time.
    #[error("no session with the servers of tokens within {}: {obstacle}", format_duration(*.after))]
    NoSession {
        /// How long it was waited for.
        after: Duration,
        /// What is in the way.
        obstacle: Obstacle,
    },
    /// The token was not granted in time; the request is withdrawn.
    #[error(
        "the token is not granted in time: other clients hold it, or its server does not answer"
    )]
    NotGranted,
    /// The token's server did not confirm in time that it is given back; it is given up.
    #[error(
        "the token's server has not confirmed in time that the token is given back: check that it runs, and that UDP \
         gets through"
    )]
    NotConfirmed,
    /// The watched descriptor became readable; the request is withdrawn.
    #[error("the wait for the token was interrupted")]
    Interrupted,
    /// The session is over, and so is all that was held in it.
    #[error("the session with the servers of tokens is lost: {}", loss(*.0))]
    Lost(Loss),
    /// The request cannot be carried out.
    #[error("{}", refusal(*.0))]
    Refused(Refusal),
}

/// What is in the way of a session.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Obstacle {
    /// No name of a server is resolved.
    #[error("no name of a server is resolved yet: the resolver of this machine does not answer")]
    NoAddress,
    /// No server answers. One with another list does not either.
    #[error(
        "none of the {} answers ({}): check that they run, that UDP gets through, and that their list is the same, \
         line by line: this one has the signature {signature}, theirs is ssig in ringctl status", servers(.asked.len()),
        addresses(.asked)
    )]
    NoAnswer {
        /// The addresses that were asked.
        asked: Vec<SocketAddr>,
        /// The signature of this program's list.
        signature: i32,
    },
    /// A server has another list.
    #[error(
        "{from} has another list of servers: its signature is {theirs}, this one's is {signature}; give all servers \
         and clients the same file, line by line"
    )]
    OtherList {
        /// Who has it.
        from: SocketAddr,
        /// Its signature.
        theirs: i32,
        /// The signature of this program's list.
        signature: i32,
    },
    /// A server ends sessions before they are confirmed.
    #[error(
        "{} ends sessions after {}, before they are confirmed, so it is not used: give it a --client-timeout of 200 ms or more,          and the same as the others", server.map_or_else(|| "a server".to_owned(), |it| it.to_string()), format_duration(*.timeout)
    )]
    ShortTimeout {
        /// The server's address.
        server: Option<SocketAddr>,
        /// The client timeout that it announces.
        timeout: Duration,
    },
    /// Servers answer, but no leader gives a session.
    #[error(
        "servers answer, but give no session: they are electing a leader, this machine does not reach the leader, or \
         it has as many clients as it may (--max-clients)"
    )]
    NoLeader,
    /// The leader does not confirm the session.
    #[error(
        "the leader gives a session, but does not confirm it: it waits for other servers, or has no quorum of them"
    )]
    NotConfirmed,
}

fn servers(count: usize) -> String {
    match count {
        1 => "one server asked".to_owned(),
        count => format!("{count} servers asked"),
    }
}

fn addresses(asked: &[SocketAddr]) -> String {
    let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
    asked.join(", ")
}

const fn loss(loss: Loss) -> &'static str {
    match loss {
        Loss::LeaseOver => {
            "no server has confirmed it for the time of the lease: they are stopped, or cut off, or this program was"
        }
        Loss::NotProven => "no server has confirmed it",
        Loss::SocketChanged => "its socket has failed",
    }
}

const fn refusal(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::NotLive => "there is no live session with the servers of tokens",
        Refusal::Name => "a token's name has 1 to 1,024 bytes",
        Refusal::Data => "a token's data have at most 32,768 bytes",
        Refusal::AlreadyDone => "the token is held this way already, or its request is under way",
        Refusal::NotHeld => "the token is not held, or on its way back",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Error, Obstacle};

    #[test]
    fn who_gets_no_answer_is_told_whom_it_asked_and_what_to_check() {
        let asked = vec![([192, 0, 2, 1], 7300).into(), ([192, 0, 2, 2], 7300).into()];
        let obstacle = Obstacle::NoAnswer {
            asked,
            signature: -7,
        };
        let after = Duration::from_secs(10);
        let text = Error::NoSession { after, obstacle }.to_string();
        for part in [
            "within 10 s",
            "none of the 2 servers asked answers (192.0.2.1:7300, 192.0.2.2:7300)",
            "the signature -7",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}

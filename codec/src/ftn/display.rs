//! Datagrams as one line of text, for traces.

use core::fmt;

use super::{Datagram, Message, Token};

/// Maximum number of bytes of a name or of data in the text.
const SHOWN_BYTES_MAX: usize = 24;

impl fmt::Display for Datagram<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = self.header();
        write!(f, "{}→{} ", header.from, header.to)?;
        match self.message() {
            Message::State {
                seq,
                leader,
                sstates,
                clients,
            } => {
                write!(f, "STATE seq {} leader {leader} {sstates:?} ", Seq(seq))?;
                let ids = clients.iter().map(|client| client.id);
                f.debug_list().entries(ids).finish()
            }
            Message::Config { leader, sstates } => {
                write!(f, "CONFIG {leader} {sstates:?}")
            }
            Message::Heartbeat { seq, sstate } => write!(f, "HEARTBEAT {} {sstate:?}", Seq(seq)),
            Message::Elect { seq, leader } => write!(f, "ELECT {} {leader}", Seq(seq)),
            Message::Catalog { holdings } => {
                f.write_str("CATALOG ")?;
                write_tokens(f, holdings.iter())
            }
            Message::Request {
                msgnum,
                token,
                access,
            } => write!(f, "REQUEST {msgnum} {} {access:?}", Bytes(token.name)),
            Message::Return {
                msgnum,
                token,
                flags,
            } => {
                let (name, data) = (Bytes(token.name), Bytes(token.data));
                write!(f, "RETURN {msgnum} {name} {data} {flags:?}")
            }
            Message::Grant { msgnum, token } => {
                let (name, data) = (Bytes(token.name), Bytes(token.data));
                write!(f, "GRANT {msgnum} {name} {data}")
            }
            Message::Revoke { name } => write!(f, "REVOKE {}", Bytes(name)),
            Message::Transfer {
                msgnum,
                part,
                parts,
                assignments,
            } => {
                write!(f, "TRANSFER {msgnum} {part}/{parts} ")?;
                write_tokens(f, assignments.iter().map(|it| it.token))
            }
            Message::Part {
                content,
                part,
                parts,
                bytes,
            } => {
                let len = bytes.len();
                write!(f, "PART {content} {part}/{parts} ({len} bytes)")
            }
            message => write!(f, "{message:?}"),
        }
    }
}

/// Writes each token as `name=data`.
fn write_tokens<'a>(
    f: &mut fmt::Formatter<'_>,
    tokens: impl Iterator<Item = Token<'a>>,
) -> fmt::Result {
    for (at, token) in tokens.enumerate() {
        let blank = if at == 0 { "" } else { " " };
        write!(f, "{blank}{}={}", Bytes(token.name), Bytes(token.data))?;
    }
    Ok(())
}

/// A seq, shown as the number of the configuration and the round.
struct Seq(i128);

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.0 >> 32, self.0 & 0xffff_ffff)
    }
}

/// The first bytes of a name or of data, as text.
struct Bytes<'a>(&'a [u8]);

impl fmt::Display for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = &self.0[..self.0.len().min(SHOWN_BYTES_MAX)];
        while let [rest @ .., b'.'] = first {
            first = rest;
        }
        f.write_str("'")?;
        for chunk in first.utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                write!(f, "{}", char::REPLACEMENT_CHARACTER)?;
            }
        }
        f.write_str("'")
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::super::{Header, ListedSession, ServerState};
    use super::*;

    fn display(message: Message<'_>) -> std::string::String {
        let header = Header {
            from: 0,
            to: 1_048_576,
            ssig: 7,
        };
        Datagram::new(header, message).to_string()
    }

    #[test]
    fn a_state_shows_its_configuration_and_round_separately() {
        let message = Message::State {
            seq: 3 << 32 | 5,
            leader: 1,
            sstates: (&[ServerState::Ready, ServerState::Down]).into(),
            clients: (&[ListedSession {
                id: 9,
                address: b"10.0.0.1:1",
            }])
                .into(),
        };
        assert_eq!(
            display(message),
            "0→1048576 STATE seq 3+5 leader 1 [Ready, Down] [9]"
        );
    }

    #[test]
    fn data_are_cut_and_shown_without_dots_at_the_end() {
        let tokens = [
            Token {
                name: b"a",
                data: b"1\xff2....",
            },
            Token {
                name: b"b",
                data: &[b'x'; 25],
            },
        ];
        let message = Message::Catalog {
            holdings: (&tokens).into(),
        };
        let line = "0→1048576 CATALOG 'a'='1\u{fffd}2' 'b'='xxxxxxxxxxxxxxxxxxxxxxxx'";
        assert_eq!(display(message), line);
    }
}

//! Datagrams with which an attacker breaks a token service without keys.

use ring_codec::ftn::{Datagram, Flags, Header, Message, Token};
use ring_trust::len_without_trailer;

use super::system::{FtnSystem, World};
use crate::kernel::system;

impl World {
    /// Forges a datagram. If the attacker has a client key, signs the datagram, and also sends a datagram of its own
    /// session.
    pub(super) fn forge(
        &mut self,
        heard: &system::Message<FtnSystem>,
    ) -> system::Message<FtnSystem> {
        let forged = self.forge_unsigned(heard);
        self.forge_as_client(&forged).unwrap_or(forged)
    }

    /// Forges a datagram in the name of the sender of a heard datagram, for example a grant, or the end of the sender's
    /// session.
    fn forge_unsigned(&mut self, heard: &system::Message<FtnSystem>) -> system::Message<FtnSystem> {
        let len = len_without_trailer(&heard.bytes).unwrap_or(0);
        let Ok(datagram) = Datagram::decode(&heard.bytes[..len]) else {
            return heard.clone();
        };
        let header = datagram.header();
        // A larger message number than the numbers that the sender has used.
        let late = |msgnum: i64| msgnum.saturating_add(1);
        let (token, msgnum) = match datagram.message() {
            Message::Request { token, msgnum, .. }
            | Message::Return { token, msgnum, .. }
            | Message::Grant { token, msgnum } => (token, msgnum),
            _ => {
                let (name, data): (&[u8], &[u8]) = (b"t0", b"");
                (Token { name, data }, 1)
            }
        };
        let reverses = self.rng.chance(300);
        let message = match self.rng.below(5) {
            0 | 1 => Message::Logout,
            2 => Message::Return {
                msgnum: late(msgnum),
                token,
                flags: Flags::Deassign,
            },
            3 => Message::Grant { msgnum, token },
            _ => match datagram.message() {
                Message::Config { leader, sstates } => Message::Config {
                    leader: late(leader),
                    sstates,
                },
                _ => Message::Revoke { name: token.name },
            },
        };
        let header = if reverses {
            Header {
                from: header.to,
                to: header.from,
                ..header
            }
        } else {
            header
        };
        let forged = Datagram::new(header, message);
        let mut bytes = vec![0; forged.encoded_len()];
        let len = forged.encode(&mut bytes).unwrap_or(0);
        bytes.truncate(len);
        let (from, to) = if reverses {
            (heard.to, heard.from)
        } else {
            (heard.from, heard.to)
        };
        system::Message::<FtnSystem> {
            node: None,
            from,
            to,
            bytes: bytes.into(),
        }
    }
}

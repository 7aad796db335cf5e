//! Messages of valid form. Any bytes can be interpreted as a message of this form.

use arbitrary::Arbitrary;
use ring_codec::ftn::{
    Access, Assignment, Flags, Holders, ListedSession, Message, ServerState, Token,
};

/// The names of tokens. There are only a few names, so that requests compete.
const NAMES: [&[u8]; 4] = [b"", b"a", b"b", b"swarm"];

/// A token with its data. A number selects the name of the token. The data are meaningful numbers and words, or
/// arbitrary bytes.
#[derive(Debug, Clone, Arbitrary)]
pub(super) struct ScriptedToken {
    name: u8,
    data: Data,
}

#[derive(Debug, Clone, Arbitrary)]
enum Data {
    Empty,
    Fence,
    Number(u16),
    /// A number that a state machine must not adopt from a message.
    Extreme(u64),
    Marker(u8, u8, u8, u32),
    Kind(u8),
    Fenced(u32),
    Bytes(Vec<u8>),
    /// The length in units of 256 bytes.
    Long(u8),
}

impl Data {
    fn bytes(&self, configuration: u64) -> Vec<u8> {
        match self {
            Self::Empty => Vec::new(),
            Self::Fence => b"fence".to_vec(),
            Self::Number(by) => text(configuration.wrapping_add(u64::from(*by))),
            Self::Extreme(number) => text(*number),
            Self::Marker(by, part, parts, floor) => {
                let c = configuration.wrapping_add(u64::from(*by));
                format!("{c} {part} {parts} {floor}").into_bytes()
            }
            Self::Kind(kind) => {
                [&b"x"[..], b"s", b"u", b"rx", b"rs"][usize::from(*kind) % 5].to_vec()
            }
            Self::Fenced(number) => format!("{number} data").into_bytes(),
            Self::Bytes(bytes) => bytes.clone(),
            Self::Long(times) => vec![b'.'; usize::from(*times) * 256],
        }
    }
}

fn text(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

/// A message. The numbers of configurations are relative to the state machine's number, so that they are plausible.
#[derive(Debug, Clone, Arbitrary)]
pub(super) enum ScriptedMessage {
    Login(Option<u16>),
    Config(i8, Vec<u8>),
    Catalog(Vec<ScriptedToken>),
    Alive,
    Logout,
    Request(i16, ScriptedToken, bool),
    Grant(i16, ScriptedToken),
    Revoke(u8),
    Return(i16, ScriptedToken, u8),
    Confirm(i16),
    Elect(i8, i8, i8),
    State(i8, i8, Vec<u8>, Vec<u8>),
    Heartbeat(i8, i8, u8),
    Transfer(i8, u8, u8, Vec<(ScriptedToken, Vec<u8>)>),
    Transferred(i8, u8),
    /// A server's message with a configuration far from the known configuration.
    Far(u64, u32, u8),
    Part(i8, u16, u16, Vec<u8>),
    Parted(i8, Vec<u8>),
}

/// A message, and the state of its receiver: the configuration that the receiver knows, and the current message number
/// of the receiver.
pub(super) struct MessageContext {
    pub what: ScriptedMessage,
    pub configuration: u64,
    pub msgnum: i64,
}

const fn state(number: u8) -> ServerState {
    match number % 3 {
        0 => ServerState::Down,
        1 => ServerState::Booting,
        _ => ServerState::Ready,
    }
}

fn session(number: u8) -> i32 {
    (1 << 20) + i32::from(number % 8)
}

impl MessageContext {
    fn configuration_number(&self, by: i8) -> i64 {
        i64::try_from(self.configuration)
            .unwrap_or(i64::MAX)
            .saturating_add(i64::from(by))
    }

    fn seq(&self, by: i8, round: i8) -> i128 {
        (i128::from(self.configuration_number(by)) << 32) + i128::from(round)
    }

    fn number(&self, by: i16) -> i64 {
        self.msgnum.saturating_add(i64::from(by))
    }

    /// Calls a function with the message.
    #[expect(clippy::too_many_lines, reason = "one arm for each kind of message")]
    pub(super) fn with<T>(&self, call: impl FnOnce(Message<'_>) -> T) -> T {
        let data = |entry: &ScriptedToken| entry.data.bytes(self.configuration);
        let name = |number: u8| NAMES[usize::from(number) % NAMES.len()];
        match &self.what {
            ScriptedMessage::Login(port) => {
                let p = port.map_or_else(Vec::new, |port| format!(":{port}").into_bytes());
                call(Message::Login { p: &p })
            }
            ScriptedMessage::Config(by, states) => {
                let states: Vec<_> = states.iter().map(|it| state(*it)).collect();
                call(Message::Config {
                    leader: self.configuration_number(*by),
                    sstates: states[..].into(),
                })
            }
            ScriptedMessage::Catalog(entries) => {
                let all: Vec<_> = entries.iter().map(data).collect();
                let holdings: Vec<_> = entries
                    .iter()
                    .zip(&all)
                    .map(|(entry, data)| Token {
                        name: name(entry.name),
                        data,
                    })
                    .collect();
                call(Message::Catalog {
                    holdings: holdings[..].into(),
                })
            }
            ScriptedMessage::Alive => call(Message::Alive),
            ScriptedMessage::Logout => call(Message::Logout),
            ScriptedMessage::Request(by, entry, shared) => {
                let data = data(entry);
                let access = if *shared {
                    Access::Shared
                } else {
                    Access::Exclusive
                };
                call(Message::Request {
                    msgnum: self.number(*by),
                    token: Token {
                        name: name(entry.name),
                        data: &data,
                    },
                    access,
                })
            }
            ScriptedMessage::Grant(by, entry) => {
                let data = data(entry);
                call(Message::Grant {
                    msgnum: self.number(*by),
                    token: Token {
                        name: name(entry.name),
                        data: &data,
                    },
                })
            }
            ScriptedMessage::Revoke(number) => call(Message::Revoke {
                name: name(*number),
            }),
            ScriptedMessage::Return(by, entry, flags) => {
                let data = data(entry);
                let flags = [Flags::Update, Flags::Deassign, Flags::Both][usize::from(*flags) % 3];
                call(Message::Return {
                    msgnum: self.number(*by),
                    token: Token {
                        name: name(entry.name),
                        data: &data,
                    },
                    flags,
                })
            }
            ScriptedMessage::Confirm(by) => call(Message::Confirm {
                msgnum: self.number(*by),
            }),
            ScriptedMessage::Elect(by, round, vote) => call(Message::Elect {
                seq: self.seq(*by, *round),
                leader: i32::from(*vote),
            }),
            ScriptedMessage::State(by, round, states, clients) => {
                let states: Vec<_> = states.iter().map(|it| state(*it)).collect();
                let known: Vec<_> = clients
                    .iter()
                    .map(|it| (session(*it), super::client_address(*it).to_string()))
                    .collect();
                let clients: Vec<_> = known
                    .iter()
                    .map(|(id, address)| ListedSession {
                        id: *id,
                        address: address.as_bytes(),
                    })
                    .collect();
                call(Message::State {
                    seq: self.seq(*by, *round),
                    leader: self.configuration_number(*by),
                    sstates: states[..].into(),
                    clients: clients[..].into(),
                })
            }
            ScriptedMessage::Heartbeat(by, round, says) => call(Message::Heartbeat {
                seq: self.seq(*by, *round),
                sstate: state(*says),
            }),
            ScriptedMessage::Transfer(by, part, parts, entries) => {
                let all: Vec<_> = entries.iter().map(|(entry, _)| data(entry)).collect();
                let held: Vec<Vec<i32>> = entries
                    .iter()
                    .map(|(_, holders)| holders.iter().map(|it| session(*it)).collect())
                    .collect();
                let assignments: Vec<_> = entries
                    .iter()
                    .zip(&all)
                    .zip(&held)
                    .map(|(((entry, _), data), held)| Assignment {
                        token: Token {
                            name: name(entry.name),
                            data,
                        },
                        holders: match held[..] {
                            [] => Holders::Nobody,
                            [one] => Holders::Exclusive(one),
                            _ => Holders::Shared(held[..].into()),
                        },
                    })
                    .collect();
                call(Message::Transfer {
                    msgnum: self.configuration_number(*by),
                    part: i32::from(*part),
                    parts: i32::from(*parts),
                    assignments: assignments[..].into(),
                })
            }
            ScriptedMessage::Transferred(by, part) => call(Message::Transferred {
                msgnum: self.configuration_number(*by),
                part: i32::from(*part),
            }),
            ScriptedMessage::Far(configuration, round, says) => {
                let c = i64::try_from(configuration >> 1).unwrap_or(i64::MAX);
                let seq = i128::from(c) << 32 | i128::from(*round);
                call(match says % 4 {
                    0 => Message::Elect { seq, leader: -1 },
                    1 => Message::Elect { seq, leader: 1 },
                    _ => Message::Heartbeat {
                        seq,
                        sstate: state(*says),
                    },
                })
            }
            ScriptedMessage::Part(content, part, parts, bytes) => call(Message::Part {
                content: i64::from(*content),
                part: i32::from(*part),
                parts: i32::from(*parts),
                bytes,
            }),
            ScriptedMessage::Parted(content, came) => call(Message::Parted {
                content: i64::from(*content),
                arrived: came,
            }),
        }
    }
}

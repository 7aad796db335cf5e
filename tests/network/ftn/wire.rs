//! Decoder of the token service's messages. The decoder follows `docs/token-service/messages.md` and shares no code
//! with the tested codec. `wire/encode.rs` has the encoder.

mod encode;

use anyhow::{Context, Result, bail, ensure};

/// A datagram: its head, its body and the options that follow the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Datagram {
    pub from: i64,
    pub to: i64,
    pub ssig: i64,
    pub body: Body,
    /// Options that the sender announces, in the order of the document.
    pub terms: Vec<i64>,
}

pub(super) type Token = (Vec<u8>, Vec<u8>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Body {
    Login {
        p: Vec<u8>,
    },
    Config {
        leader: i64,
        states: Vec<i64>,
    },
    Catalog {
        holdings: Vec<Token>,
    },
    Alive,
    Logout,
    Request {
        msgnum: i64,
        token: Token,
        access: i64,
    },
    Grant {
        msgnum: i64,
        token: Token,
    },
    Revoke {
        name: Vec<u8>,
    },
    Return {
        msgnum: i64,
        token: Token,
        flags: i64,
    },
    Confirm {
        msgnum: i64,
    },
    State {
        seq: i128,
        leader: i64,
        states: Vec<i64>,
        clients: Vec<(i64, Vec<u8>)>,
    },
    Heartbeat {
        seq: i128,
        state: i64,
    },
    Elect {
        seq: i128,
        leader: i64,
    },
    Transfer {
        msgnum: i64,
        part: i64,
        parts: i64,
        assignments: Vec<(Token, i64, Vec<i64>)>,
    },
    Transferred {
        msgnum: i64,
        part: i64,
    },
    Part {
        content: i64,
        part: i64,
        parts: i64,
        bytes: Vec<u8>,
    },
    Parted {
        content: i64,
        came: Vec<u8>,
    },
}

impl Datagram {
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let mut rest = UnreadBytes(bytes);
        let (kind, from, to, ssig) = (rest.int()?, rest.int()?, rest.int()?, rest.int()?);
        let body = rest.body(kind).with_context(|| format!("type {kind}"))?;
        let terms = if rest.0.is_empty() {
            Vec::new()
        } else {
            rest.terms(kind)?
        };
        ensure!(
            rest.0.is_empty(),
            "{} bytes follow the end of the message",
            rest.0.len()
        );
        Ok(Self {
            from,
            to,
            ssig,
            body,
            terms,
        })
    }
}

/// Bytes that wait to be read.
struct UnreadBytes<'a>(&'a [u8]);

impl UnreadBytes<'_> {
    fn bytes(&mut self, count: usize) -> Result<&[u8]> {
        let (bytes, rest) = self
            .0
            .split_at_checked(count)
            .context("the message is truncated")?;
        self.0 = rest;
        Ok(bytes)
    }

    /// Reads an integer of at most 64 bits. The integer must have its shortest form.
    fn long(&mut self) -> Result<i64> {
        let first = self.bytes(1)?[0];
        if first & 0x80 == 0 {
            // The first byte contains a signed number of seven bits.
            return Ok(i64::from((first << 1).cast_signed() >> 1));
        }
        let form = first >> 4 & 7;
        let mut value = i128::from((first << 4).cast_signed() >> 4);
        for &byte in self.bytes(usize::from(form) + 1)? {
            value = value << 8 | i128::from(byte);
        }
        let bits = 12 + 8 * u32::from(form);
        let least = match form {
            0 => -(1 << 6)..1 << 6,
            _ => -(1_i128 << (bits - 9))..1 << (bits - 9),
        };
        ensure!(
            !least.contains(&value),
            "{value} is not in its shortest form"
        );
        Ok(i64::try_from(value)?)
    }

    fn int(&mut self) -> Result<i64> {
        let value = self.long()?;
        ensure!(
            i32::try_from(value).is_ok(),
            "{value} has more than 32 bits"
        );
        Ok(value)
    }

    /// Reads the number of a configuration and a round.
    fn seq(&mut self) -> Result<i128> {
        let (configuration, round) = (self.long()?, self.long()?);
        ensure!(configuration >= 0, "the configuration is below 0");
        ensure!(
            (0..1 << 32).contains(&round),
            "the round has more than 32 bits"
        );
        Ok(i128::from(configuration) << 32 | i128::from(round))
    }

    fn one_of(&mut self, those: &[i64]) -> Result<i64> {
        let value = self.int()?;
        ensure!(those.contains(&value), "{value} is not one of {those:?}");
        Ok(value)
    }

    fn string(&mut self) -> Result<Vec<u8>> {
        let length = usize::try_from(self.int()?)?;
        Ok(self.bytes(length)?.to_vec())
    }

    fn token(&mut self) -> Result<Token> {
        Ok((self.string()?, self.string()?))
    }

    fn array<T>(&mut self, mut entry: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count = usize::try_from(self.int()?)?;
        (0..count).map(|_| entry(self)).collect()
    }

    fn states(&mut self) -> Result<Vec<i64>> {
        self.array(|rest| rest.one_of(&[0, 1, 2]))
    }

    /// Some messages may end with the options of a server. Reads these options.
    fn terms(&mut self, kind: i64) -> Result<Vec<i64>> {
        let pace = match kind {
            12 => 0,
            31..=33 => 3,
            _ => bail!("no bytes may follow type {kind}"),
        };
        let mut terms = vec![self.long()?, self.int()?];
        ensure!(
            terms.iter().all(|term| *term > 0),
            "the client timeout or the quorum is missing"
        );
        for _ in 0..pace {
            terms.push(self.long()?);
        }
        ensure!(terms.iter().all(|term| *term >= 0), "the time is below 0");
        Ok(terms)
    }

    fn body(&mut self, kind: i64) -> Result<Body> {
        Ok(match kind {
            11 => Body::Login { p: self.string()? },
            12 => Body::Config {
                leader: self.long()?,
                states: self.states()?,
            },
            13 => Body::Catalog {
                holdings: self.array(Self::token)?,
            },
            14 => Body::Alive,
            15 => Body::Logout,
            21 => Body::Request {
                msgnum: self.long()?,
                token: self.token()?,
                access: self.one_of(&[1, -1])?,
            },
            22 => Body::Grant {
                msgnum: self.long()?,
                token: self.token()?,
            },
            23 => Body::Revoke {
                name: self.string()?,
            },
            24 => Body::Return {
                msgnum: self.long()?,
                token: self.token()?,
                flags: self.one_of(&[1, 2, 3])?,
            },
            25 => Body::Confirm {
                msgnum: self.long()?,
            },
            31 => Body::State {
                seq: self.seq()?,
                leader: self.long()?,
                states: self.states()?,
                clients: self.array(|rest| Ok((rest.int()?, rest.string()?)))?,
            },
            32 => Body::Heartbeat {
                seq: self.seq()?,
                state: self.one_of(&[0, 1, 2])?,
            },
            33 => Body::Elect {
                seq: self.seq()?,
                leader: self.int()?,
            },
            34 => Body::Transfer {
                msgnum: self.long()?,
                part: self.int()?,
                parts: self.int()?,
                assignments: self.array(|rest| {
                    let token = rest.token()?;
                    Ok((token, rest.one_of(&[0, 1, -1])?, rest.array(Self::int)?))
                })?,
            },
            35 => Body::Transferred {
                msgnum: self.long()?,
                part: self.int()?,
            },
            41 => Body::Part {
                content: self.long()?,
                part: self.int()?,
                parts: self.int()?,
                bytes: self.string()?,
            },
            42 => Body::Parted {
                content: self.long()?,
                came: self.string()?,
            },
            _ => bail!("there is no such type"),
        })
    }
}

/// Returns the signature of a list of servers, by the formula of the document.
pub(super) fn signature(lines: &[String]) -> i64 {
    let hash = |line: &String| {
        let bytes = line.bytes();
        let sum = bytes.fold(0_u32, |h, byte| {
            h.wrapping_mul(37).wrapping_add(byte.into())
        });
        sum & 0x7fff_ffff
    };
    let sum = lines.iter().map(hash);
    let sum = sum.fold(0_u32, |h, line| h.wrapping_mul(39).wrapping_add(line));
    i64::from(sum & 0x1fff)
}

//! Encoder for datagrams that tests send to a program. Integers have their shortest form.

use anyhow::{Result, ensure};

use super::{Body, Datagram, Token};

impl Datagram {
    pub(in super::super) fn bytes(&self) -> Result<Vec<u8>> {
        let mut out = Encoder::default();
        for value in [self.body.kind(), self.from, self.to, self.ssig] {
            out.int(value);
        }
        out.body(&self.body)?;
        for term in &self.terms {
            out.int(*term);
        }
        Ok(out.0)
    }
}

impl Body {
    const fn kind(&self) -> i64 {
        match self {
            Self::Login { .. } => 11,
            Self::Config { .. } => 12,
            Self::Catalog { .. } => 13,
            Self::Alive => 14,
            Self::Logout => 15,
            Self::Request { .. } => 21,
            Self::Grant { .. } => 22,
            Self::Revoke { .. } => 23,
            Self::Return { .. } => 24,
            Self::Confirm { .. } => 25,
            Self::State { .. } => 31,
            Self::Heartbeat { .. } => 32,
            Self::Elect { .. } => 33,
            Self::Transfer { .. } => 34,
            Self::Transferred { .. } => 35,
            Self::Part { .. } => 41,
            Self::Parted { .. } => 42,
        }
    }
}

#[derive(Default)]
struct Encoder(Vec<u8>);

impl Encoder {
    /// Writes 7 bits in one byte, or 12 + 8 · form bits in form + 2 bytes.
    fn int(&mut self, value: i64) {
        if (-64..64).contains(&value) {
            self.0.push(value.to_be_bytes()[7] & 0x7f);
            return;
        }
        let fits = |form: &u32| {
            let bits = 11 + 8 * form;
            bits >= 63 || (-(1 << bits)..1 << bits).contains(&value)
        };
        let form = (0..8).find(fits).unwrap_or(7);
        let wide = i128::from(value).to_be_bytes();
        let length = form as usize + 2;
        let first = wide[16 - length] & 0x0f;
        self.0
            .push(0x80 | u8::try_from(form).unwrap_or(7) << 4 | first);
        self.0.extend(&wide[17 - length..]);
    }

    fn count(&mut self, count: usize) -> Result<()> {
        self.int(i64::try_from(count)?);
        Ok(())
    }

    fn string(&mut self, bytes: &[u8]) -> Result<()> {
        self.count(bytes.len())?;
        self.0.extend(bytes);
        Ok(())
    }

    fn token(&mut self, (name, data): &Token) -> Result<()> {
        self.string(name)?;
        self.string(data)
    }

    fn seq(&mut self, seq: i128) -> Result<()> {
        self.int(i64::try_from(seq >> 32)?);
        self.int(i64::try_from(seq & 0xffff_ffff)?);
        Ok(())
    }

    fn states(&mut self, states: &[i64]) -> Result<()> {
        self.count(states.len())?;
        for state in states {
            self.int(*state);
        }
        Ok(())
    }

    /// Writes the messages that tests send.
    fn body(&mut self, body: &Body) -> Result<()> {
        match body {
            Body::Login { p } => self.string(p)?,
            Body::Catalog { holdings } => {
                self.count(holdings.len())?;
                for token in holdings {
                    self.token(token)?;
                }
            }
            Body::Alive | Body::Logout => {}
            Body::Request {
                msgnum,
                token,
                access,
            } => {
                self.int(*msgnum);
                self.token(token)?;
                self.int(*access);
            }
            Body::Grant { msgnum, token } => {
                self.int(*msgnum);
                self.token(token)?;
            }
            Body::Return {
                msgnum,
                token,
                flags,
            } => {
                self.int(*msgnum);
                self.token(token)?;
                self.int(*flags);
            }
            Body::State {
                seq,
                leader,
                states,
                clients,
            } => {
                ensure!(clients.is_empty(), "no test sends a list of sessions");
                self.seq(*seq)?;
                self.int(*leader);
                self.states(states)?;
                self.int(0);
            }
            Body::Heartbeat { seq, state: value } | Body::Elect { seq, leader: value } => {
                self.seq(*seq)?;
                self.int(*value);
            }
            Body::Part {
                content,
                part,
                parts,
                bytes,
            } => {
                for value in [content, part, parts] {
                    self.int(*value);
                }
                self.string(bytes)?;
            }
            _ => anyhow::bail!("no test sends {body:?}"),
        }
        Ok(())
    }
}

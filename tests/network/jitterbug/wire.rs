//! Decoder of Jitterbug's messages. The decoder follows `docs/jitterbug/datagrams.md` and shares no code with the
//! tested codec.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use anyhow::{Context, Result, ensure};

use super::terms::TERMS_LEN;

pub(super) type Entry = (IpAddr, u16);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Datagram {
    Tr1 {
        id: i32,
        port: u16,
    },
    /// A TR1 that requests an answer.
    Ask {
        id: i32,
    },
    Tr2 {
        id: i32,
    },
}

impl Datagram {
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let id = || id(bytes.get(1..5).context("too short")?);
        let flags = terms(bytes)?;
        Ok(match (bytes.first(), bytes.len()) {
            (Some(0x01), 40) if flags & 2 != 0 => Self::Ask { id: id()? },
            (Some(0x01), 7 | 40) => {
                let port = u16::from_be_bytes([bytes[5], bytes[6]]);
                ensure!(port != 0, "the TR1 has port 0");
                Self::Tr1 { id: id()?, port }
            }
            (Some(0x11), 5 | 38) => Self::Tr2 { id: id()? },
            _ => anyhow::bail!("not a datagram of Jitterbug: {bytes:02x?}"),
        })
    }
}

/// Returns the flags of the terms at the end of a datagram, or 0 if the datagram has no terms.
fn terms(bytes: &[u8]) -> Result<u8> {
    let flags = bytes.last().filter(|_| bytes.len() > TERMS_LEN);
    let flags = flags.copied().unwrap_or_default();
    ensure!(flags <= 3, "the terms have reserved flags");
    Ok(flags)
}

fn id(bytes: &[u8]) -> Result<i32> {
    let id = i32::from_be_bytes(bytes.try_into()?);
    ensure!(id != 0 && id != i32::MIN, "{id} is not a token_id");
    Ok(id)
}

/// Messages of a giver on a stream, up to the last complete message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct GiverMessages {
    pub id: Option<i32>,
    pub hash: i32,
    pub list: Option<Vec<Entry>>,
    /// Data after the header of TP5, or `None` if the header did not arrive.
    pub data: Option<Vec<u8>>,
}

impl GiverMessages {
    /// Reads the bytes of a giver. The bytes may end at any place. `with_list` is true if the candidate requested TP4.
    pub(super) fn read(bytes: &[u8], with_list: bool) -> Result<Self> {
        let mut given = Self::default();
        // TP6 is the first message, or missing.
        let is_first = bytes.first() == Some(&0x71);
        let bytes = if is_first {
            bytes.get(1 + TERMS_LEN..).unwrap_or_default()
        } else {
            bytes
        };
        let Some(tp1) = bytes.get(..9) else {
            return Ok(given);
        };
        ensure!(tp1[0] == 0x21, "{:#04x} instead of TP1", tp1[0]);
        let offered = id(&tp1[1..5])?;
        ensure!(
            offered > 0,
            "{offered} is offered by a node that does not lead"
        );
        given.id = Some(offered);
        given.hash = i32::from_be_bytes(tp1[5..9].try_into()?);
        let mut rest = &bytes[9..];
        if with_list {
            let Some((list, after)) = read_list(rest)? else {
                return Ok(given);
            };
            let on_wire = &rest[1..rest.len() - after.len()];
            ensure!(
                hash(on_wire) == given.hash,
                "the list differs from the announced list"
            );
            given.list = Some(list);
            rest = after;
        }
        let Some((tp5, data)) = rest.split_at_checked(5) else {
            return Ok(given);
        };
        ensure!(tp5[0] == 0x61, "{:#04x} instead of TP5", tp5[0]);
        ensure!(id(&tp5[1..5])? == offered, "TP5 has another token_id");
        given.data = Some(data.to_vec());
        Ok(given)
    }
}

/// Returns the list of a TP4 and the bytes after the TP4. Returns `None` if the TP4 is incomplete.
fn read_list(bytes: &[u8]) -> Result<Option<(Vec<Entry>, &[u8])>> {
    let Some((head, mut rest)) = bytes.split_at_checked(5) else {
        return Ok(None);
    };
    ensure!(head[0] == 0x51, "{:#04x} instead of TP4", head[0]);
    let count = u32::from_be_bytes(head[1..5].try_into()?);
    let mut list = Vec::new();
    for _ in 0..count {
        let Some((&meta, after)) = rest.split_first() else {
            return Ok(None);
        };
        ensure!(meta & 0xfe == 0, "meta has reserved bits");
        let length = if meta == 0 { 4 } else { 16 };
        let Some((entry, after)) = after.split_at_checked(length + 2) else {
            return Ok(None);
        };
        let (address, port) = entry.split_at(length);
        let address: IpAddr = match <[u8; 4]>::try_from(address) {
            Ok(four) => Ipv4Addr::from(four).into(),
            Err(_) => Ipv6Addr::from(<[u8; 16]>::try_from(address)?).into(),
        };
        let port = u16::from_be_bytes(port.try_into()?);
        ensure!(port != 0, "an entry has port 0");
        ensure!(
            !list.iter().any(|(other, _)| *other == address),
            "{address} is twice in a list"
        );
        list.push((address, port));
        rest = after;
    }
    Ok(Some((list, rest)))
}

pub(super) fn list_on_wire(list: &[Entry]) -> Vec<u8> {
    let count = u32::try_from(list.len()).expect("lists are short");
    let mut bytes = count.to_be_bytes().to_vec();
    for (address, port) in list {
        match address {
            IpAddr::V4(address) => {
                bytes.push(0);
                bytes.extend(address.octets());
            }
            IpAddr::V6(address) => {
                bytes.push(1);
                bytes.extend(address.octets());
            }
        }
        bytes.extend(port.to_be_bytes());
    }
    bytes
}

pub(super) fn hash(list: &[u8]) -> i32 {
    list.iter().fold(0_i32, |hash, &byte| {
        hash.wrapping_mul(577)
            .wrapping_add(i32::from(byte.cast_signed()))
    })
}

//! Checks of Lab2.

use arbitrary::{Arbitrary, Result, Unstructured};
use ring_codec::MacAddr;
use ring_codec::lab2::card::{self, Card, Version, Work};
use ring_codec::lab2::{
    DATA_LEN_MAX, Digest, FORGOTTEN_PER_FRAME_MAX, Frame, Kind, MAX_NAME_LEN,
    MEMBERS_PER_FRAME_MAX, Member, Message, PROGRESS_MAX, Profile, Promise, Purpose,
    STAMPS_PER_FRAME_MAX, Stamp, Token,
};

use super::{check_error, encode_checked};

/// Checks that these bytes decode to a frame that encodes to the same bytes. If the bytes do not decode, checks that
/// the error has a correct offset.
pub(crate) fn bytes(input: &[u8]) {
    match Frame::decode(input) {
        Ok(frame) => {
            let ethertype = u16::from_be_bytes([input[12], input[13]]);
            let out = encode_checked(frame.encoded_len(), |buf| frame.encode(ethertype, buf));
            assert_eq!(out, input[..out.len()]);
            assert_eq!(Frame::decode(&out), Ok(frame), "padding changes the frame");
        }
        Err(error) => check_error(error, input),
    }
}

/// Whether these bytes are exactly one message.
pub(crate) fn decodes(input: &[u8]) -> bool {
    Frame::decode(input).is_ok_and(|frame| frame.encoded_len() == input.len())
}

/// Checks that a legal frame, built from these bytes, survives encoding and decoding.
pub(crate) fn value(seed: &[u8]) {
    let _ = build(&mut Unstructured::new(seed));
}

const PURPOSES: [Purpose; 5] = [
    Purpose::More,
    Purpose::Tell,
    Purpose::Ask,
    Purpose::Agree,
    Purpose::Differ,
];

fn profile(u: &mut Unstructured<'_>) -> Result<Option<Profile>> {
    let fields: Option<(u8, u16, [u64; 4], u32)> = u.arbitrary()?;
    Ok(fields.map(
        |(flags, mtu, [constants, patience, shortest, take], expect)| Profile {
            flags,
            mtu,
            constants,
            patience,
            shortest,
            take,
            expect,
        },
    ))
}

/// Makes any legal card, or no card.
fn card<'a>(u: &mut Unstructured<'a>) -> Result<Option<Card<'a>>> {
    if !u.arbitrary()? {
        return Ok(None);
    }
    let [major, minor, patch] = u.arbitrary()?;
    let work: Option<(u64, &str)> = u.arbitrary()?;
    let work = work.map(|(held, program)| Work {
        held: held.min(u64::MAX - 1),
        program: card::shorten(program),
    });
    let version = Version {
        major,
        minor,
        patch,
    };
    let unheard: Option<[u8; 6]> = u.arbitrary()?;
    let unheard = unheard
        .map(MacAddr)
        .filter(|&mac| mac != MacAddr::default());
    Ok(Some(Card {
        version,
        unheard,
        work,
    }))
}

fn build(u: &mut Unstructured<'_>) -> Result<()> {
    let (destination, author) = (MacAddr(u.arbitrary()?), station(u)?);
    let ethertype = u.arbitrary()?;
    let any_profile = profile(u)?;
    let card = card(u)?;
    let check = |message: Message<'_>| {
        let profile = any_profile.filter(|_| Profile::may_follow(message.kind()));
        let frame = Frame {
            destination,
            author,
            message,
            profile,
            card: card.filter(|_| profile.is_some()),
        };
        let out = encode_checked(frame.encoded_len(), |buf| frame.encode(ethertype, buf));
        assert_eq!(out[12..14], ethertype.to_be_bytes());
        assert_eq!(Frame::decode(&out), Ok(frame));
    };
    let digest = Digest {
        size: u.arbitrary()?,
        hash: u.arbitrary()?,
    };
    let token = Token {
        progress: u.int_in_range(0..=PROGRESS_MAX)?,
        author: MacAddr(u.arbitrary()?),
        number: u.arbitrary()?,
    };
    let kind = *u.choose(&Kind::ALL)?;
    match kind {
        Kind::TakeToken | Kind::TokenIsHere => {
            let len = u.int_in_range(0..=DATA_LEN_MAX)?.min(u.len());
            let data = u.bytes(len)?;
            let beat = u.arbitrary();
            check(if kind == Kind::TakeToken {
                Message::TakeToken {
                    token,
                    digest,
                    data,
                }
            } else {
                let beat = beat?;
                Message::TokenIsHere {
                    token,
                    digest,
                    data,
                    beat,
                }
            });
        }
        Kind::Ping => {
            let ip = u.arbitrary()?;
            let (beat, lasts) = (u.arbitrary()?, u.arbitrary()?);
            let promise = Promise { token, beat, lasts };
            check(Message::Ping {
                digest,
                ip,
                promise: u.arbitrary::<bool>()?.then_some(promise),
                paused: u.arbitrary()?,
            });
        }
        Kind::TokenWasHereRecently => {
            let holder = MacAddr(u.arbitrary()?);
            check(Message::TokenWasHereRecently { token, holder });
        }
        Kind::WhereIsToken => check(Message::WhereIsToken),
        Kind::GeneratingToken => check(Message::GeneratingToken { token }),
        Kind::RingMembers => {
            let count = u.int_in_range(0..=MEMBERS_PER_FRAME_MAX)?;
            let members = (0..count).map(|_| member(u)).collect::<Result<Vec<_>>>()?;
            let members = &members;
            check(Message::RingMembers { digest, members });
        }
        Kind::WantToken => check(Message::WantToken),
        Kind::Leaving => check(Message::Leaving),
        Kind::Stamps => {
            let count = u.int_in_range(0..=STAMPS_PER_FRAME_MAX)?;
            let stamps = (0..count).map(|_| stamp(u)).collect::<Result<Vec<_>>>()?;
            check(Message::Stamps {
                token,
                serial: u.arbitrary()?,
                purpose: *u.choose(&PURPOSES)?,
                digest: digest.hash,
                stamps: &stamps,
            });
        }
        Kind::Forget => {
            let count = u.int_in_range(0..=FORGOTTEN_PER_FRAME_MAX)?;
            let members = (0..count).map(|_| station(u)).collect::<Result<Vec<_>>>()?;
            let members = &members;
            check(Message::Forget { members });
        }
    }
    Ok(())
}

fn member(u: &mut Unstructured<'_>) -> Result<Member> {
    Ok(Member {
        mac: station(u)?,
        ip: u.arbitrary()?,
    })
}

fn stamp(u: &mut Unstructured<'_>) -> Result<Stamp> {
    let mut name = [0; MAX_NAME_LEN];
    let len = u.int_in_range(1..=MAX_NAME_LEN)?;
    for byte in &mut name[..len] {
        *byte = u.int_in_range(b'!'..=b'~')?;
    }
    Ok(Stamp {
        name,
        progress: u.int_in_range(0..=PROGRESS_MAX)?.into(),
        run: u.arbitrary::<u32>()?.into(),
        runner: station(u)?,
        outcome: u.int_in_range(0..=3)?,
        period: u.arbitrary::<u64>()?.into(),
        age: u.arbitrary::<u64>()?.into(),
        before: u.arbitrary::<u64>()?.into(),
    })
}

fn station(u: &mut Unstructured<'_>) -> Result<MacAddr> {
    let mut bytes = <[u8; 6]>::arbitrary(u)?;
    bytes[0] &= !1;
    bytes[5] |= u8::from(bytes == [0; 6]);
    Ok(MacAddr(bytes))
}

//! Checks of Lab2.

use arbitrary::{Arbitrary, Result, Unstructured};
use ring_codec::lab2::card::{self, Card, Version, Work};
use ring_codec::lab2::{
    DATA_LEN_MAX, Digest, FORGOTTEN_PER_FRAME_MAX, Frame, Kind, LOCK_SUMS, LOCKS_PER_FRAME_MAX,
    LockRecord, LocksPurpose, LocksStanding, MEASURES_PER_FRAME_MAX, MEMBERS_PER_FRAME_MAX,
    Measure, Member, Message, NodeReport, PADDING_LEN_MAX, PROBES_MAX, PROGRESS_MAX, PauseNotice,
    Profile, Promise, Purpose, SPAN_MAX, STAMPS_PER_FRAME_MAX, SURVEYED_PER_FRAME_MAX, Stamp,
    SurveyPurpose, TROUBLES_LEN_MAX, Token, is_host_name, is_pause_reason, locks,
};
use ring_codec::{MacAddr, U32, U64};

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
    let host_name: Option<&str> = u.arbitrary()?;
    let pause: Option<(Option<u64>, &str)> = u.arbitrary()?;
    let pause = pause.map(|(left, reason)| PauseNotice {
        left: left.filter(|&left| left != u64::MAX),
        reason,
    });
    Ok(Some(Card {
        version,
        unheard,
        work,
        host_name: host_name.filter(|name| is_host_name(name)),
        pause: pause.filter(|pause| is_pause_reason(pause.reason)),
    }))
}

fn standing(u: &mut Unstructured<'_>) -> Result<Option<LocksStanding>> {
    if !u.arbitrary()? {
        return Ok(None);
    }
    Ok(Some(LocksStanding {
        token: token(u)?,
        change: u.arbitrary()?,
        quorum: u.arbitrary()?,
        others: u.arbitrary()?,
        settles: u.arbitrary()?,
    }))
}

fn build(u: &mut Unstructured<'_>) -> Result<()> {
    let (destination, author) = (MacAddr(u.arbitrary()?), station(u)?);
    let ethertype = u.arbitrary()?;
    let any_profile = profile(u)?;
    let card = card(u)?;
    let standing = standing(u)?;
    let any_preference: u8 = u.arbitrary()?;
    let check = |message: Message<'_>| {
        let profile = any_profile.filter(|_| Profile::may_follow(message.kind()));
        let frame = Frame {
            destination,
            author,
            message,
            profile,
            card: card.filter(|_| profile.is_some()),
            locks: standing.filter(|_| LocksStanding::may_follow(message.kind())),
            preference: profile.map_or(0, |_| any_preference),
        };
        let out = encode_checked(frame.encoded_len(), |buf| frame.encode(ethertype, buf));
        assert_eq!(out[12..14], ethertype.to_be_bytes());
        assert_eq!(Frame::decode(&out), Ok(frame));
    };
    let digest = Digest {
        size: u.arbitrary()?,
        hash: u.arbitrary()?,
    };
    let token = token(u)?;
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
        Kind::Locks | Kind::LocksQuestion => build_locks(u, kind, token, check)?,
        Kind::Survey | Kind::Report | Kind::Probe | Kind::Measures => {
            build_survey(u, kind, check)?;
        }
    }
    Ok(())
}

fn token(u: &mut Unstructured<'_>) -> Result<Token> {
    Ok(Token {
        progress: u.int_in_range(0..=PROGRESS_MAX)?,
        author: MacAddr(u.arbitrary()?),
        number: u.arbitrary()?,
    })
}

fn build_locks(
    u: &mut Unstructured<'_>,
    kind: Kind,
    token: Token,
    check: impl Fn(Message<'_>),
) -> Result<()> {
    if kind == Kind::LocksQuestion {
        let sums = <[u64; LOCK_SUMS]>::arbitrary(u)?.map(U64::from);
        check(Message::LocksQuestion {
            grade: *u.choose(&[0, 2])?,
            from: u.arbitrary()?,
            sums: &sums,
        });
        return Ok(());
    }
    let count = u.int_in_range(0..=LOCKS_PER_FRAME_MAX)?;
    let locks = (0..count).map(|_| lock(u)).collect::<Result<Vec<_>>>()?;
    let purpose = LocksPurpose::from_wire(u.int_in_range(0..=6)?);
    check(Message::Locks {
        token,
        serial: u.arbitrary()?,
        purpose: purpose.expect("all these numbers are purposes"),
        grade: u.int_in_range(0..=2)?,
        digest: u.arbitrary()?,
        from: u.arbitrary()?,
        to: u.arbitrary()?,
        locks: &locks,
    });
    Ok(())
}

fn build_survey(u: &mut Unstructured<'_>, kind: Kind, check: impl Fn(Message<'_>)) -> Result<()> {
    let serial = u.arbitrary()?;
    match kind {
        Kind::Survey => {
            let count = u.int_in_range(0..=SURVEYED_PER_FRAME_MAX)?;
            let members = (0..count).map(|_| station(u)).collect::<Result<Vec<_>>>()?;
            check(Message::Survey {
                serial,
                purpose: *u.choose(&[SurveyPurpose::Report, SurveyPurpose::Measure])?,
                probes: u.int_in_range(0..=PROBES_MAX)?,
                span: u.int_in_range(0..=SPAN_MAX)?,
                members: &members,
            });
        }
        Kind::Report => {
            let report = report(u)?;
            check(Message::Report { serial, report });
        }
        Kind::Probe => {
            let (surveyor, len) = (station(u)?, u.int_in_range(0..=PADDING_LEN_MAX)?);
            check(Message::Probe {
                surveyor,
                serial,
                number: u.int_in_range(0..=PROBES_MAX - 1)?,
                is_answer: u.arbitrary()?,
                sent_at: u.arbitrary()?,
                padding: u.bytes(len.min(u.len()))?,
            });
        }
        _ => {
            let count = u.int_in_range(0..=MEASURES_PER_FRAME_MAX)?;
            let measures = (0..count).map(|_| measure(u)).collect::<Result<Vec<_>>>()?;
            check(Message::Measures {
                serial,
                lateness: u.arbitrary()?,
                large_len: u.arbitrary()?,
                broadcasts_sent: u.arbitrary()?,
                rows: u.arbitrary()?,
                measures: &measures,
            });
        }
    }
    Ok(())
}

fn report<'a>(u: &mut Unstructured<'a>) -> Result<NodeReport<'a>> {
    let [up, wall, lateness] = u.arbitrary()?;
    let work: Option<(u64, &str)> = u.arbitrary()?;
    let troubles: &str = u.arbitrary()?;
    let is_legal = troubles.len() <= TROUBLES_LEN_MAX
        && !troubles.contains(|c: char| c.is_control() && c != '\n');
    Ok(NodeReport {
        up,
        wall,
        lateness,
        holder: work.map(|(held, program)| Work {
            held: held.min(u64::MAX - 1),
            program: card::shorten(program),
        }),
        state: u.int_in_range(0..=3)?,
        grade: u.int_in_range(0..=2)?,
        health: u.int_in_range(0..=2)?,
        busy: u.arbitrary()?,
        required_grade: u.int_in_range(0..=2)?,
        trouble_count: u.arbitrary()?,
        troubles: if is_legal { troubles } else { "" },
    })
}

fn measure(u: &mut Unstructured<'_>) -> Result<Measure> {
    let [
        sent,
        answered,
        arrived,
        large_sent,
        large_answered,
        large_arrived,
    ] = u.arbitrary()?;
    let [shortest, mean, longest, jitter] = <[u32; 4]>::arbitrary(u)?.map(U32::from);
    Ok(Measure {
        peer: station(u)?,
        sent,
        answered,
        arrived,
        large_sent,
        large_answered,
        large_arrived,
        broadcasts_arrived: u.arbitrary()?,
        shortest,
        mean,
        longest,
        jitter,
    })
}

fn member(u: &mut Unstructured<'_>) -> Result<Member> {
    Ok(Member {
        mac: station(u)?,
        ip: u.arbitrary()?,
    })
}

fn stamp(u: &mut Unstructured<'_>) -> Result<Stamp> {
    Ok(Stamp {
        name: name(u)?,
        progress: u.int_in_range(0..=PROGRESS_MAX)?.into(),
        run: u.arbitrary::<u32>()?.into(),
        runner: station(u)?,
        outcome: u.int_in_range(0..=3)?,
        period: u.arbitrary::<u64>()?.into(),
        age: u.arbitrary::<u64>()?.into(),
        before: u.arbitrary::<u64>()?.into(),
    })
}

fn lock(u: &mut Unstructured<'_>) -> Result<LockRecord> {
    Ok(LockRecord {
        name: name(u)?,
        member: station(u)?,
        session: u.arbitrary::<u64>()?.into(),
        mode: u.int_in_range(0..=1)?,
        grade: u.int_in_range(0..=2)?,
        state: u.int_in_range(0..=3)?,
        ticket: u.arbitrary::<u64>()?.into(),
        progress: u.int_in_range(0..=PROGRESS_MAX)?.into(),
        author: MacAddr(u.arbitrary()?),
        number: u.arbitrary::<u32>()?.into(),
        flag: u.arbitrary::<u64>()?.into(),
        age: u.arbitrary::<u64>()?.into(),
        program: locks::pack_program(u.arbitrary()?),
    })
}

fn name<const N: usize>(u: &mut Unstructured<'_>) -> Result<[u8; N]> {
    let mut name = [0; N];
    let len = u.int_in_range(1..=N)?;
    for byte in &mut name[..len] {
        *byte = u.int_in_range(b'!'..=b'~')?;
    }
    Ok(name)
}

fn station(u: &mut Unstructured<'_>) -> Result<MacAddr> {
    let mut bytes = <[u8; 6]>::arbitrary(u)?;
    bytes[0] &= !1;
    bytes[5] |= u8::from(bytes == [0; 6]);
    Ok(MacAddr(bytes))
}

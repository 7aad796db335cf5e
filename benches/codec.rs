//! Decoding and encoding every kind of every format, from bytes to a value and back.
//!
//! `cargo bench --bench codec [FILTER]`

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use ring_codec::MacAddr;
use ring_codec::lab2::{
    Digest, ETHERTYPE, Frame, Kind, MAX_DATA_LEN, MAX_FRAME_LEN, MAX_MEMBERS_PER_FRAME, Member,
    Message, NO_IP, Token,
};

const AUTHOR: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const TOKEN: Token = Token {
    progress: 7,
    author: AUTHOR,
    number: 3,
};
const DIGEST: Digest = Digest {
    size: 2,
    hash: 0x0123_4567_89ab_cdef,
};
const MEMBER: Member = Member {
    mac: AUTHOR,
    ip: NO_IP,
};

/// Each kind at its shortest and, where it has a part of variable length, at its longest.
fn lab2_messages(kind: Kind) -> Vec<(String, Message<'static>)> {
    let data: &[u8] = &[0x5a; MAX_DATA_LEN];
    let members: &[Member] = &[MEMBER; MAX_MEMBERS_PER_FRAME];
    let (token, digest) = (TOKEN, DIGEST);
    let (empty, full) = (&data[..0], data);
    let take = |data| Message::TakeToken {
        token,
        digest,
        data,
    };
    let here = |data| Message::TokenIsHere {
        token,
        digest,
        data,
    };
    let table = |members| Message::RingMembers { digest, members };
    let messages = match kind {
        Kind::TakeToken => vec![("", take(empty)), ("/1024 bytes", take(full))],
        Kind::TokenIsHere => vec![("", here(empty)), ("/1024 bytes", here(full))],
        Kind::Ping => vec![("", Message::Ping { digest, ip: NO_IP })],
        Kind::TokenWasHereRecently => {
            let holder = AUTHOR;
            vec![("", Message::TokenWasHereRecently { token, holder })]
        }
        Kind::WhereIsToken => vec![("", Message::WhereIsToken)],
        Kind::GeneratingToken => vec![("", Message::GeneratingToken { token })],
        Kind::RingMembers => vec![
            ("/1 member", table(&members[..1])),
            ("/66 members", table(members)),
        ],
        Kind::WantToken => vec![("", Message::WantToken)],
        Kind::Leaving => vec![("", Message::Leaving)],
    };
    let name = |size: &str| format!("{}{size}", kind.name());
    messages
        .into_iter()
        .map(|(size, message)| (name(size), message))
        .collect()
}

fn lab2(c: &mut Criterion) {
    let mut group = c.benchmark_group("lab2");
    for (name, message) in Kind::ALL.into_iter().flat_map(lab2_messages) {
        let frame = Frame {
            destination: MacAddr([2, 0, 0, 0, 0, 2]),
            author: AUTHOR,
            message,
        };
        let mut buf = [0; MAX_FRAME_LEN];
        let len = frame
            .encode(ETHERTYPE, &mut buf)
            .expect("the message is legal");
        let bytes = buf[..len].to_vec();
        group.bench_function(format!("decode/{name}"), |b| {
            b.iter(|| Frame::decode(black_box(&bytes)));
        });
        group.bench_function(format!("encode/{name}"), |b| {
            b.iter(|| black_box(&frame).encode(ETHERTYPE, black_box(&mut buf)));
        });
    }
    group.finish();
}

fn config() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
}

criterion_group! {
    name = benches;
    config = config();
    targets = lab2
}
criterion_main!(benches);

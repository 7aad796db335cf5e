//! Bad input and bounds (`docs/jitterbug/protocol/messages.md` X1 to X5). A node counts each bad input under its
//! reason, and sends no answer. The state of the node does not change.

use super::prelude::*;
use crate::buffer::append;
use crate::jitterbug::inbound::list_reader::{ListProgress, ListReader};

fn drop_reasons(rig: &Rig) -> Vec<Reason> {
    Reason::ALL
        .into_iter()
        .filter(|reason| rig.drop_count(*reason) > 0)
        .collect()
}

fn datagram(bytes: &[u8]) -> Vec<Reason> {
    let mut rig = Rig::leader(5);
    let before = rig.machine.snapshot();
    rig.receive_datagram(2, bytes);
    assert_eq!(rig.take_datagrams(), []);
    assert_eq!(rig.machine.snapshot(), before);
    drop_reasons(&rig)
}

/// A TR2 with terms and one byte too many.
const LONG_MESSAGE: [u8; 39] = {
    let mut bytes = [0; 39];
    (bytes[0], bytes[4]) = (0x11, 1);
    bytes
};
/// A TR2 with an invalid flag in its terms.
const RESERVED_FLAG_MESSAGE: [u8; 38] = {
    let mut bytes = [0; 38];
    (bytes[0], bytes[4], bytes[37]) = (0x11, 1, 4);
    bytes
};

#[test]
fn of_datagrams() {
    let cases: &[(&[u8], Reason)] = &[
        (&[], Reason::Truncated),
        (&[0x01], Reason::Truncated),
        (&[0x01, 0xff, 0xff, 0xff, 0xff, 0x1b], Reason::Truncated),
        (&[0x11, 0xff, 0xff], Reason::Truncated),
        (&[0x02], Reason::Version),
        (&[0x00, 0, 0, 0, 1], Reason::Version),
        (&[0x71], Reason::Transport),
        (&[0x81], Reason::Type),
        (&[0xf1, 0, 0], Reason::Type),
        (&[0x11, 0, 0, 0, 1, 0], Reason::Truncated),
        (&LONG_MESSAGE, Reason::Trailing),
        (&RESERVED_FLAG_MESSAGE, Reason::Meta),
        (&[0x11, 0, 0, 0, 0], Reason::Token),
        (&[0x11, 0x80, 0, 0, 0], Reason::Token),
        (&[0x01, 0, 0, 0, 0, 0x1b, 0x5a], Reason::Token),
        (&[0x21, 0, 0, 0, 1, 0, 0, 0, 1], Reason::Transport),
        (&[0x31], Reason::Transport),
        (&[0x61, 0, 0, 0, 1], Reason::Transport),
        (&[0x01, 0, 0, 0, 1, 0, 0], Reason::Port),
    ];
    for (bytes, reason) in cases {
        assert_eq!(datagram(bytes), [*reason], "{bytes:02x?}");
    }
}

#[test]
fn of_sources_off_the_link() {
    let off: [Ipv4Addr; 4] = [
        [10, 0, 1, 2].into(),
        [10, 0, 0, 0].into(),
        [10, 0, 0, 255].into(),
        [127, 0, 0, 1].into(),
    ];
    for source in off {
        let mut rig = Rig::leader(5);
        rig.receive_datagram_from((source, 57_700).into(), &tr1(-1, 7002));
        assert_eq!(
            (rig.take_datagrams(), drop_reasons(&rig)),
            (vec![], vec![Reason::OffLink])
        );
        let stream = rig.accept_from((source, 57_700).into());
        assert_eq!(rig.fate(stream), Fate::Reset);
        assert_eq!(rig.drop_count(Reason::OffLink), 2);
    }
    let mut rig = Rig::leader(5);
    let six: SocketAddr = "[fe80::2]:57700".parse().unwrap();
    rig.receive_datagram_from(six, &tr1(-1, 7002));
    assert_eq!(
        drop_reasons(&rig),
        [Reason::OffLink],
        "the source has another family"
    );
    let own = rig.accept(1);
    assert_eq!(rig.fate(own), Fate::Reset, "from the own address");
}

#[test]
fn of_ipv6_sources_that_are_not_link_local() {
    let mut rig = Rig::off(1, Options::default());
    rig.link(NetworkState::Up(network_v6()));
    rig.clear_output();
    rig.receive_datagram_from("[2001:db8::2]:57700".parse().unwrap(), &tr1(-1, 7002));
    assert_eq!(drop_reasons(&rig), [Reason::OffLink]);
    rig.machine.set_token(id(-1000));
    rig.receive_datagram_from("[fe80::2]:57700".parse().unwrap(), &tr1(-1, 7002));
    let to = "[fe80::2%3]:57700".parse().unwrap();
    assert_eq!(
        rig.sent,
        [(to, tr2(-1000))],
        "the answer leaves through the interface"
    );
}

/// Returns the reason why a waiter drops these bytes on a connection. The waiter must reset the connection, and must
/// not change anything else.
fn stream(options: Options, parts: &[&[u8]], end: bool) -> Vec<Reason> {
    let mut rig = Rig::new(options);
    rig.receive_datagram(9, &tr2(1));
    let before = rig.machine.snapshot();
    let stream = rig.accept(2);
    for part in parts {
        assert_eq!(
            rig.fate(stream),
            Fate::Open,
            "nothing was wrong before {part:02x?}"
        );
        rig.receive(stream, part);
    }
    if end {
        assert_eq!(rig.fate(stream), Fate::Open);
        rig.receive_end(stream, &[]);
    }
    assert_eq!(rig.fate(stream), Fate::Reset);
    assert_eq!(rig.machine.snapshot(), before);
    drop_reasons(&rig)
}

fn of_stream(parts: &[&[u8]]) -> Vec<Reason> {
    stream(Options::default(), parts, false)
}

#[test]
fn a_wrong_first_byte_is_judged_as_soon_as_it_is_there() {
    let cases = [
        (0x22, Reason::Version),
        (0x81, Reason::Type),
        (0x01, Reason::Transport),
        (0x11, Reason::Transport),
        (0x31, Reason::Order),
        (0x51, Reason::Order),
        (0x61, Reason::Order),
    ];
    for (byte, reason) in cases {
        assert_eq!(of_stream(&[&[byte]]), [reason], "{byte:02x}");
    }
    let opening = tp1(9, hash(&[node(2)]));
    for (byte, reason) in [
        (0x21, Reason::Order),
        (0x61, Reason::Order),
        (0x02, Reason::Version),
    ] {
        assert_eq!(of_stream(&[&opening, &[byte]]), [reason], "for TP4");
    }
    let list = tp4(&[node(2)]);
    for byte in [0x21, 0x51] {
        assert_eq!(
            of_stream(&[&opening, &list, &[byte]]),
            [Reason::Order],
            "for TP5"
        );
        let known = tp1(9, hash(&[node(1)]));
        assert_eq!(
            of_stream(&[&known, &[byte]]),
            [Reason::Order],
            "for TP5, after TP3"
        );
    }
}

#[test]
fn a_token_id_is_judged_as_soon_as_it_is_there() {
    for (token, reason) in [
        ([0; 4], Reason::Token),
        ([0x80, 0, 0, 0], Reason::Token),
        ([0xff; 4], Reason::NotLeader),
    ] {
        assert_eq!(of_stream(&[&[0x21], &token[..3], &token[3..]]), [reason]);
        let (opening, list) = (tp1(9, hash(&[node(2)])), tp4(&[node(2)]));
        assert_eq!(of_stream(&[&opening, &list, &[0x61], &token]), [reason]);
    }
}

#[test]
fn a_count_is_judged_at_its_fifth_byte() {
    let options = Options {
        max_nodes: 2,
        ..Options::default()
    };
    let opening = tp1(9, 7);
    for count in [3_u32, 65_537, u32::MAX] {
        let head = [&[0x51][..], &count.to_be_bytes()].concat();
        let found = stream(options, &[&opening, &head[..4], &head[4..]], false);
        assert_eq!(found, [Reason::Count]);
    }
}

#[test]
fn an_entry_is_judged_as_soon_as_it_is_there() {
    let opening = tp1(9, 7);
    let head = [0x51, 0, 0, 0, 9];
    let first = &tp4(&[node(2)])[5..];
    for meta in [0x02, 0x80] {
        let found = of_stream(&[&opening, &head, first, &[meta]]);
        assert_eq!(found, [Reason::Meta]);
    }
    let addresses: [&[u8]; 4] = [
        &[0, 0, 0, 0, 0, 27, 1],
        &[0, 127, 0, 0, 1, 27, 1],
        &[0, 224, 0, 0, 1, 27, 1],
        &[0, 255, 255, 255, 255, 27, 1],
    ];
    for entry in addresses {
        assert_eq!(of_stream(&[&opening, &head, entry]), [Reason::Node]);
    }
    for address in ["::", "::1", "ff02::1"] {
        let entry = Node {
            ip: address.parse().unwrap(),
            port: 1,
        };
        let entry = &tp4(&[entry])[5..];
        assert_eq!(of_stream(&[&opening, &head, entry]), [Reason::Node]);
    }
    let entry = &tp4(&[Node {
        ip: host(2),
        port: 0,
    }])[5..];
    assert_eq!(of_stream(&[&opening, &head, entry]), [Reason::Port]);
}

#[test]
fn a_list_has_no_address_twice_and_list_and_token_are_those_announced() {
    let other = Node {
        port: 9999,
        ..node(2)
    };
    let twice = [node(2), node(3), other];
    let one = [node(2)];
    let (opening, list) = (tp1(9, hash(&one)), tp4(&one));
    let cases: [(&[&[u8]], Reason); 3] = [
        (&[&tp1(9, hash(&twice)), &tp4(&twice)], Reason::Duplicate),
        (&[&opening, &tp4(&[node(3)])], Reason::Hash),
        (&[&opening, &list, &tp5(8, b"")[..5]], Reason::Order),
    ];
    for (parts, reason) in cases {
        assert_eq!(of_stream(parts), [reason]);
    }
}

#[test]
fn data_beyond_max_data_is_judged_at_its_first_byte_too_many() {
    let options = Options {
        max_data: 3,
        ..Options::default()
    };
    let parts: [&[u8]; 5] = [
        &tp1(9, hash(&[node(2)])),
        &tp4(&[node(2)]),
        &tp5(9, b"12"),
        b"3",
        b"4",
    ];
    assert_eq!(stream(options, &parts, false), [Reason::Data]);
    let mut rig = Rig::new(options);
    rig.receive_datagram(9, &tr2(1));
    rig.receive_token(2, 9, &[node(2)], b"122");
    assert_eq!(rig.machine.data(), b"123");
}

#[test]
fn a_stream_that_ends_before_its_message_is_truncated() {
    let (opening, list) = (tp1(9, hash(&[node(2)])), tp4(&[node(2)]));
    let whole = [&opening[..], &list, &tp5(9, b"")].concat();
    for len in 0..whole.len() {
        let found = stream(Options::default(), &[&whole[..len]], true);
        assert_eq!(found, [Reason::Truncated], "after {len} bytes");
    }
}

#[test]
fn every_reason_has_a_name_and_a_text() {
    let keys: BTreeSet<_> = Reason::ALL.map(Reason::key).into();
    assert_eq!(keys.len(), 21);
    assert!(Reason::ALL.iter().all(|reason| !reason.text().is_empty()));
}

#[test]
fn buffers_grow_with_received_bytes_up_to_the_limit() {
    let mut buffer = Vec::new();
    for len in 1..=1000 {
        append(&mut buffer, &[7], 1000);
        assert!(
            buffer.capacity() <= (2 * len).min(1000),
            "after {len} bytes"
        );
    }
    assert_eq!(buffer, [7; 1000]);
    let mut reader = ListReader::default();
    let head = [0x51, 0, 1, 0, 0];
    assert_eq!(reader.read(&head, 65_536), Ok(ListProgress::Wait(5)));
    assert!(reader.capacity() <= 16, "65,536 nodes were announced");
}

/// Returns pseudo-random bytes with pieces of messages.
fn noise(draw: &mut RandomNumbers) -> Vec<u8> {
    let pieces: [&[u8]; 8] = [
        &tp1(9, hash(&[node(2)])),
        &tp4(&[node(2)]),
        &tp5(9, b"x"),
        &tr1(-1, 7002),
        &tr2(3),
        TP2,
        &[0x51, 0, 1, 0, 0],
        &[0xff; 40],
    ];
    let mut bytes = Vec::new();
    for _ in 0..draw.next_below(4) {
        bytes.extend_from_slice(pieces[draw.next_below(8) as usize]);
        if draw.next_below(3) == 0 && !bytes.is_empty() {
            let at = draw.next_below(u32::try_from(bytes.len()).unwrap()) as usize;
            bytes[at] ^= 1 << draw.next_below(8);
        }
    }
    bytes
}

#[test]
fn no_bytes_at_any_time_end_the_machine() {
    let mut draw = RandomNumbers::new(11);
    for _ in 0..200 {
        let mut rig = Rig::orphan();
        rig.add_node(2);
        let mut streams = Vec::new();
        for _ in 0..200 {
            let from = 2 + u8::try_from(draw.next_below(20)).unwrap();
            match draw.next_below(8) {
                0 => rig.receive_datagram(from, &noise(&mut draw)),
                1 => streams.push(rig.accept(from)),
                2 => rig.run(ms(draw.next_below(300).into())),
                3 => {
                    if let Some((stream, _)) = rig.candidate() {
                        rig.open_by_kernel(stream);
                        streams.push(stream);
                    }
                }
                4 if !streams.is_empty() => {
                    let at = draw.next_below(u32::try_from(streams.len()).unwrap()) as usize;
                    rig.close_by_kernel(streams[at], CloseReason::Reset);
                }
                5 if !streams.is_empty() => {
                    let at = draw.next_below(u32::try_from(streams.len()).unwrap()) as usize;
                    rig.receive_end(streams[at], &noise(&mut draw));
                }
                _ if !streams.is_empty() => {
                    let at = draw.next_below(u32::try_from(streams.len()).unwrap()) as usize;
                    rig.receive(streams[at], &noise(&mut draw));
                }
                _ => {}
            }
        }
    }
}

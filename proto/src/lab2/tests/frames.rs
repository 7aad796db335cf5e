//! Tests of `docs/reference/lab2/states.md R4`: a node counts the frames that it drops. Dropped frames change no state,
//! and the node never answers them.

use std::time::Duration;

use ring_codec::lab2::{
    LOCK_SUMS, LocksPurpose, Message, NO_IP, NodeReport, Purpose, SurveyPurpose, Token,
};
use ring_codec::{MacAddr, U64};

use super::rig::{
    BLANK, ME, Rig, SAME, TAKE_TIMEOUT, constants, frame, generating, here, mac, member, ms, ping,
    take, token, was_here,
};
use crate::LinkState;
use crate::lab2::{Constants, DropReason, Event, State};

/// Offsets of fields in a frame: Ethernet header, kind, reserved, author, then the message.
const SOURCE: usize = 6;
const KIND: usize = 14;
const RESERVED: usize = 15;
const AUTHOR: usize = 16;
const MESSAGE: usize = 22;

/// Returns one legal frame of every kind from n7 to `to`. The token in TAKE_TOKEN is stronger than all known tokens.
fn every_kind(to: MacAddr) -> Vec<Vec<u8>> {
    let members = [member(7, NO_IP), member(9, NO_IP)];
    let messages = [
        take(token(99)),
        here(token(99)),
        ping(NO_IP),
        was_here(token(99), 7),
        Message::WhereIsToken,
        generating(token(99)),
        Message::RingMembers {
            digest: SAME,
            members: &members,
        },
        Message::WantToken,
        Message::Leaving,
        Message::Stamps {
            token: token(99),
            serial: 1,
            purpose: Purpose::Tell,
            digest: 0,
            stamps: &[],
        },
        Message::Forget { members: &[] },
        Message::Locks {
            token: token(99),
            serial: 1,
            purpose: LocksPurpose::Change,
            grade: 0,
            digest: 0,
            from: 0,
            to: 0,
            locks: &[],
        },
        Message::LocksQuestion {
            grade: 2,
            from: 0,
            sums: &[U64::ZERO; LOCK_SUMS],
        },
        Message::Survey {
            serial: 1,
            purpose: SurveyPurpose::Measure,
            probes: 4,
            span: 0,
            members: &[],
        },
        Message::Report {
            serial: 1,
            report: NodeReport {
                up: 0,
                wall: 0,
                lateness: 0,
                holder: None,
                state: 0,
                grade: 0,
                health: 0,
                busy: false,
                required_grade: 0,
                trouble_count: 0,
                troubles: "",
            },
        },
        Message::Probe {
            surveyor: mac(7),
            serial: 1,
            number: 0,
            is_answer: false,
            sent_at: 0,
            padding: &[],
        },
        Message::Measures {
            serial: 1,
            lateness: 0,
            large_len: 0,
            broadcasts_sent: 0,
            rows: 0,
            measures: &[],
        },
    ];
    messages.map(|message| frame(mac(7), to, message)).to_vec()
}

/// Checks that a WAITER drops the frame for `reason`, counts the drop, and does nothing else.
#[track_caller]
fn assert_dropped(bytes: &[u8], age: Duration, reason: DropReason) {
    let mut rig = Rig::waiter();
    let before = (rig.members(), rig.token(), rig.machine.heard_about_token());
    rig.stall(ms(1));
    assert_eq!(rig.hear_bytes(bytes, age), [""; 0], "never answered");
    // The node also reports a frame with its own address, because another machine has this address.
    rig.events
        .retain(|event| !matches!(event, Event::DiagnosticChanged { .. }));
    assert_eq!(rig.events, [Event::Dropped { reason }], "{bytes:02x?}");
    let after = (rig.members(), rig.token(), rig.machine.heard_about_token());
    assert_eq!(after, before);
    assert_eq!(rig.state(), State::Waiter);
}

#[test]
fn a_frame_that_is_shorter_than_its_kind_needs_is_dropped() {
    for bytes in every_kind(mac(ME)) {
        for len in 0..bytes.len() {
            assert_dropped(&bytes[..len], Duration::ZERO, DropReason::Truncated);
        }
    }
}

#[test]
fn bytes_after_the_messages_own_length_are_ignored() {
    for mut bytes in every_kind(mac(ME)) {
        bytes.extend([0xee; 46]);
        let mut rig = Rig::waiter();
        rig.hear_bytes(&bytes, Duration::ZERO);
        assert!(matches!(rig.events[0], Event::Received { .. }));
    }
}

#[test]
fn a_frame_of_unknown_kind_is_dropped() {
    for kind in (0..=u8::MAX).filter(|kind| !(1..=17).contains(kind)) {
        let mut bytes = every_kind(mac(ME)).remove(0);
        bytes[KIND] = kind;
        assert_dropped(&bytes, Duration::ZERO, DropReason::UnknownKind);
    }
}

#[test]
fn a_frame_with_a_reserved_byte_that_is_not_0_is_dropped() {
    for mut bytes in every_kind(mac(ME)) {
        bytes[RESERVED] = 1;
        assert_dropped(&bytes, Duration::ZERO, DropReason::Reserved);
    }
}

#[test]
fn a_frame_with_a_progress_of_2_to_the_63_or_more_is_dropped() {
    for kind in [1, 2, 4, 6, 10, 12] {
        for first in [0x80, 0xff] {
            let mut bytes = every_kind(mac(ME)).remove(kind - 1);
            bytes[MESSAGE] = first;
            assert_dropped(&bytes, Duration::ZERO, DropReason::ProgressTooLarge);
        }
    }
}

#[test]
fn the_largest_legal_progress_is_accepted() {
    let largest = token((1 << 63) - 1);
    let mut rig = Rig::waiter();
    rig.hear(3, take(largest));
    assert_eq!(rig.machine.token(), Some(largest));
}

#[test]
fn a_frame_whose_author_is_not_the_ethernet_source_address_is_dropped() {
    for mut bytes in every_kind(mac(ME)) {
        bytes[SOURCE + 5] = 9;
        assert_dropped(&bytes, Duration::ZERO, DropReason::AuthorNotSource);
    }
}

#[test]
fn a_frame_whose_author_is_a_multicast_broadcast_or_all_zero_address_is_dropped() {
    for author in [[0; 6], [0xff; 6], [1, 0, 0x5e, 0, 0, 1], [3, 0, 0, 0, 0, 7]] {
        for mut bytes in every_kind(mac(ME)) {
            bytes[SOURCE..SOURCE + 6].copy_from_slice(&author);
            bytes[AUTHOR..AUTHOR + 6].copy_from_slice(&author);
            assert_dropped(&bytes, Duration::ZERO, DropReason::AuthorNotAStation);
        }
    }
}

#[test]
fn a_node_ignores_its_own_frames() {
    for to in [mac(ME), MacAddr::BROADCAST] {
        let bytes = frame(mac(ME), to, Message::WhereIsToken);
        assert_dropped(&bytes, Duration::ZERO, DropReason::OwnFrame);
    }
}

#[test]
fn a_node_ignores_frames_to_others() {
    for to in [mac(9), MacAddr([1, 0, 0x5e, 0, 0, 1])] {
        for bytes in every_kind(to) {
            assert_dropped(&bytes, Duration::ZERO, DropReason::NotForUs);
        }
    }
}

#[test]
fn take_token_to_broadcast_is_dropped() {
    let bytes = frame(mac(3), MacAddr::BROADCAST, take(token(99)));
    assert_dropped(&bytes, Duration::ZERO, DropReason::BroadcastTakeToken);
}

#[test]
fn a_take_token_that_has_waited_too_long_is_dropped_as_stale() {
    let bytes = frame(mac(3), mac(ME), take(token(99)));
    let waiter_timeout = TAKE_TIMEOUT;
    assert_dropped(&bytes, waiter_timeout + ms(1), DropReason::StaleOffer);
    let mut rig = Rig::waiter();
    rig.hear_late(3, take(token(99)), waiter_timeout);
    assert_eq!(
        rig.state(),
        State::Owner,
        "the giver waits for the answer to this offer"
    );
}

#[test]
fn data_longer_than_1024_bytes_is_dropped() {
    for kind in [1, 2] {
        let mut bytes = every_kind(mac(ME)).remove(kind - 1);
        bytes[MESSAGE + 30..][..2].copy_from_slice(&1025_u16.to_be_bytes());
        bytes.extend([0; 1025]);
        assert_dropped(&bytes, Duration::ZERO, DropReason::DataTooLong);
    }
}

#[test]
fn ring_members_of_more_than_66_is_dropped() {
    let mut bytes = every_kind(mac(ME)).remove(6);
    bytes[MESSAGE + 12..][..2].copy_from_slice(&67_u16.to_be_bytes());
    bytes.extend([2; 67 * 22]);
    assert_dropped(&bytes, Duration::ZERO, DropReason::TooManyMembers);
}

#[test]
fn ring_members_with_an_invalid_mac_is_dropped_whole() {
    for odd in [[0; 6], [0xff; 6], [3, 0, 0, 0, 0, 9]] {
        let mut bytes = every_kind(mac(ME)).remove(6);
        // The address of the second member is wrong, so the node does not add the first member either.
        bytes[MESSAGE + 14 + 22..][..6].copy_from_slice(&odd);
        assert_dropped(&bytes, Duration::ZERO, DropReason::MemberNotAStation);
    }
}

#[test]
fn invalid_stamps_are_dropped_whole() {
    for (at, byte) in [(22, 5), (32, 20)] {
        let mut bytes = every_kind(mac(ME)).remove(9);
        bytes[MESSAGE + at] = byte;
        bytes.extend([0; 20 * 75]);
        assert_dropped(&bytes, Duration::ZERO, DropReason::NotAStamp);
    }
    let mut nameless = every_kind(mac(ME)).remove(9);
    nameless[MESSAGE + 32] = 1;
    nameless.extend([0; 75]);
    assert_dropped(&nameless, Duration::ZERO, DropReason::NotAStamp);
}

#[test]
fn invalid_records_of_locks_are_dropped_whole() {
    for (at, byte) in [(26, 7), (27, 3), (53, 10)] {
        let mut bytes = every_kind(mac(ME)).remove(11);
        bytes[MESSAGE + at] = byte;
        bytes.extend([0; 10 * 147]);
        assert_dropped(&bytes, Duration::ZERO, DropReason::NotALock);
    }
    let mut legal = every_kind(mac(ME)).remove(11);
    legal[MESSAGE + 53] = 1;
    let record = legal.len();
    legal.extend([0; 147]);
    legal[record] = b'a';
    legal[record + 64..][..6].copy_from_slice(&mac(7).0);
    let mut rig = Rig::waiter();
    rig.hear_bytes(&legal, Duration::ZERO);
    assert!(matches!(rig.events[0], Event::Received { .. }));
    // The first bytes of the name, member, mode, grade, state and program.
    for (at, byte) in [(0, 0), (64, 1), (78, 2), (79, 3), (80, 4), (123, 0xff)] {
        let mut bytes = legal.clone();
        bytes[record + at] = byte;
        assert_dropped(&bytes, Duration::ZERO, DropReason::NotALock);
    }
    legal[record + 89] = 0x80;
    assert_dropped(&legal, Duration::ZERO, DropReason::ProgressTooLarge);
}

#[test]
fn authors_that_do_not_fit_the_table_are_counted_not_stored() {
    let constants = Constants {
        max_members: 3,
        ..constants()
    };
    let (mut rig, _) = Rig::start(constants, BLANK);
    for n in 10..200 {
        rig.hear_all(n, Message::WantToken);
    }
    assert_eq!(rig.members(), [ME, 10, 11]);
    let counted = |event: &&Event| matches!(event, Event::TableFull { .. });
    assert_eq!(rig.events.iter().filter(counted).count(), 188);
    let members: Vec<_> = (20..60).map(|n| member(n, NO_IP)).collect();
    rig.hear(
        10,
        Message::RingMembers {
            digest: SAME,
            members: &members,
        },
    );
    assert_eq!(rig.members(), [ME, 10, 11]);
}

#[test]
fn a_node_without_a_link_hears_nothing() {
    let mut rig = Rig::waiter();
    rig.link(LinkState::Down);
    for bytes in every_kind(mac(ME)) {
        rig.events.clear();
        assert_eq!(rig.hear_bytes(&bytes, Duration::ZERO), [""; 0]);
        let reason = DropReason::NotListening;
        assert_eq!(rig.events, [Event::Dropped { reason }]);
    }
    assert_eq!(rig.token(), "10-n3-1");
}

#[test]
fn tokens_are_18_bytes_on_the_wire_and_compared_as_such() {
    let bytes = frame(mac(7), mac(ME), generating(token(0x0102)));
    let (progress, rest) = bytes[MESSAGE..].split_at(8);
    let (author, number) = rest.split_at(6);
    assert_eq!(progress, [0, 0, 0, 0, 0, 0, 1, 2]);
    assert_eq!(author, mac(3).0);
    assert_eq!(number, [0, 0, 0, 1]);
    let token: Token = token(0x0102);
    let mut wire = bytes[MESSAGE..][..18].to_vec();
    wire[..8].iter_mut().for_each(|byte| *byte = !*byte);
    assert_eq!(token.priority().as_slice(), wire);
}

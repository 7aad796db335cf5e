//! Datagrams that a client drops (D3). Such datagrams change nothing and get no answer.

use super::rig::*;

fn awaiting() -> (Rig, String) {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    rig.request(&name, Exclusive);
    rig.events.clear();
    (rig, name)
}

fn grant(name: &str) -> Message<'_> {
    Message::Grant {
        msgnum: base() + 1,
        token: Token {
            name: name.as_bytes(),
            data: b"d",
        },
    }
}

fn header(from: i32, to: i32) -> Header {
    let ssig = servers().signature();
    Header { from, to, ssig }
}

#[test]
fn a_datagram_that_does_not_decode_is_dropped() {
    let (mut rig, name) = awaiting();
    let whole = encode(header(0, ME), grant(&name));
    let longer = [&whole[..], b"x"].concat();
    for bytes in [&[][..], &whole[..whole.len() - 1], &longer, b"\xff\xff"] {
        assert!(rig.deliver_bytes(address(0), bytes).is_empty());
        assert_eq!(rig.take_drops(), [DropReason::Malformed]);
        assert!(!rig.holds(&name));
    }
    rig.deliver_bytes(address(0), &whole);
    assert!(rig.holds(&name));
}

#[test]
fn another_ssig_is_dropped_and_reported_once_per_sender() {
    let (mut rig, name) = awaiting();
    let header = Header {
        ssig: 1,
        ..header(0, ME)
    };
    let bytes = encode(header, grant(&name));
    for server in [0, 0, 1] {
        assert!(rig.deliver_bytes(address(server), &bytes).is_empty());
    }
    assert!(!rig.holds(&name));
    let dropped = "dropped: ssig";
    assert_eq!(
        rig.take_events(),
        ["other list 1", dropped, dropped, "other list 1", dropped]
    );
}

#[test]
fn up_to_1024_senders_with_another_list_are_reported() {
    let mut rig = Rig::login();
    let header = Header {
        ssig: 1,
        ..header(0, 0)
    };
    let bytes = encode(header, Message::Alive);
    for port in 0..2_000 {
        rig.deliver_bytes(([192, 0, 2, 9], port).into(), &bytes);
    }
    assert_eq!(rig.take_drops().len(), 2_000);
    assert_eq!(rig.take_events().len(), 1_024);
    let standing = rig.client.state();
    assert_eq!(
        standing,
        ClientState::Login {
            answered: 0,
            other_list: true
        }
    );
    rig.pass(ms(2_000));
    assert_eq!(rig.take_events(), ["login failed: OtherList"]);
}

#[test]
fn messages_for_servers_are_dropped() {
    let (mut rig, _) = awaiting();
    let token = Token {
        name: b"t",
        data: b"",
    };
    let messages = [
        Message::Alive,
        Message::Logout,
        Message::Login { p: b":1" },
        Message::Catalog {
            holdings: (&[]).into(),
        },
        Message::Request {
            msgnum: 1,
            token,
            access: Exclusive,
        },
        Message::Elect { seq: 0, leader: -1 },
        Message::Transferred { msgnum: 1, part: 0 },
    ];
    for message in messages {
        assert!(rig.deliver(0, ME, message).is_empty());
        assert_eq!(rig.take_drops(), [DropReason::NotForClients]);
    }
}

#[test]
fn messages_from_an_address_that_is_not_listed_for_their_server_are_dropped() {
    let (mut rig, name) = awaiting();
    let other_port = ([192, 0, 2, 0], 9_999).into();
    for (from, server) in [(address(1), 0), (other_port, 0), (address(0), 3)] {
        assert!(rig.deliver_from(from, server, ME, grant(&name)).is_empty());
        assert_eq!(rig.take_drops(), [DropReason::NotAServer]);
    }
    let bytes = encode(header(-1, ME), grant(&name));
    rig.deliver_bytes(address(0), &bytes);
    assert_eq!(rig.take_drops(), [DropReason::NotAServer]);
    assert!(!rig.holds(&name));
}

#[test]
fn grant_revoke_and_confirm_to_another_session_are_dropped() {
    let (mut rig, name) = awaiting();
    let revoke = Message::Revoke { name: b"free" };
    let confirm = Message::Confirm { msgnum: base() };
    for to in [0, ME + 1] {
        for message in [grant(&name), revoke, confirm] {
            assert!(rig.deliver(0, to, message).is_empty());
            assert_eq!(rig.take_drops(), [DropReason::NotForMe]);
        }
    }
    assert!(!rig.holds(&name));
}

#[test]
fn without_a_session_only_answers_to_login_count() {
    let mut rig = Rig::login();
    let name = name_of(0, 0);
    assert!(rig.deliver(0, 0, grant(&name)).is_empty());
    assert_eq!(rig.take_drops(), [DropReason::NoSession]);
    let mut rig = Rig::new();
    assert!(rig.config_to(1, ME, C, ALL).is_empty());
    assert_eq!(rig.take_drops(), [DropReason::NoSession]);
}

#[test]
fn names_and_data_that_are_too_long_are_dropped() {
    let (mut rig, name) = awaiting();
    let (fits, long) = ("d".repeat(32 * 1_024), "d".repeat(32 * 1_024 + 1));
    rig.grant(0, 1, &name, &long);
    assert_eq!(rig.take_drops(), [DropReason::TooLong]);
    assert!(!rig.holds(&name));
    assert!(rig.revoke(0, &long[..1_025]).is_empty());
    assert_eq!(rig.take_drops(), [DropReason::TooLong]);
    rig.grant(0, 1, &name, &fits);
    assert!(rig.holds(&name));
}

#[test]
fn a_configuration_with_another_number_of_servers_or_a_negative_number_is_dropped() {
    for mut rig in [Rig::login(), Rig::live()] {
        let four = [Ready; 4];
        for (leader, sstates) in [(8, &four[..]), (8, &four[..2]), (8, &[]), (-1, &four[..3])] {
            let sstates = sstates.into();
            assert!(
                rig.deliver(1, ME, Message::Config { leader, sstates })
                    .is_empty()
            );
            assert_eq!(rig.take_drops(), [DropReason::Illegal]);
        }
    }
}

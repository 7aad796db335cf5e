//! Tests of two machines with the same MAC address.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Message;

use super::rig::*;
use crate::LinkState;
use crate::lab2::{Diagnostic, Event};

/// If the node makes no observation for this time, the problem has ended.
const RECENT_TIME: Duration = Duration::from_millis(128 * 400);

fn about(rig: &Rig) -> (usize, usize) {
    let count = |is: fn(&Event) -> bool| rig.events.iter().filter(|event| is(event)).count();
    (
        count(|event| matches!(event, Event::MemberMoved { .. })),
        count(|event| matches!(event, Event::DiagnosticChanged { .. })),
    )
}

#[test]
fn two_machines_with_one_address_are_reported_once_with_their_ips() {
    let mut rig = Rig::waiter();
    for _ in 0..50 {
        rig.hear(7, ping(ip(7)));
        rig.hear(7, ping(ip(77)));
        rig.pass_time(HEARTBEAT);
        rig.hear_all(3, here(token(10)));
    }
    let (moved, shared) = about(&rig);
    assert_eq!(shared, 1);
    assert!(moved <= 6, "{moved} changes of an address");
    let named = rig.events.iter().find_map(|event| match *event {
        Event::DiagnosticChanged { trouble, .. } => Some(trouble),
        _ => None,
    });
    let by_ips = [(ip(7), ip(77)), (ip(77), ip(7))].map(|ips| Diagnostic::AddressShared {
        mac: mac(7),
        ips: Some(ips),
    });
    assert!(named.is_some_and(|named| by_ips.contains(&named)));
    let mut shown = rig.machine.problems();
    assert!(shown.next().is_some_and(|shown| by_ips.contains(&shown)));
    assert_eq!(shown.next(), None);
    drop(shown);
    rig.stall(RECENT_TIME);
    rig.wake();
    assert_eq!(rig.machine.problems().next(), None);
}

#[test]
fn an_ip_that_is_lost_and_assigned_again_is_no_problem() {
    let mut rig = Rig::waiter();
    rig.hear(7, ping(ip(7)));
    rig.hear(7, ping(ring_codec::lab2::NO_IP));
    rig.hear(7, ping(ip(7)));
    rig.hear(7, ping(ip(8)));
    assert_eq!(about(&rig), (4, 0));
}

#[test]
fn distant_changes_of_an_ip_are_unrelated() {
    let mut rig = Rig::waiter();
    for _ in 0..5 {
        rig.hear(7, ping(ip(7)));
        rig.pass_time(11 * WAITER_TIMEOUT);
        rig.hear(7, ping(ip(77)));
        rig.pass_time(11 * WAITER_TIMEOUT);
    }
    assert_eq!(about(&rig), (10, 0));
}

#[test]
fn a_frame_with_this_nodes_address_is_reported_once() {
    let mut rig = Rig::waiter();
    let bytes = frame(mac(ME), MacAddr::BROADCAST, Message::WhereIsToken);
    for _ in 0..50 {
        assert_eq!(rig.hear_bytes(&bytes, Duration::ZERO), [""; 0]);
        rig.pass_time(HEARTBEAT);
    }
    assert_eq!(about(&rig), (0, 1));
    let (mac, ips) = (mac(ME), None);
    let shared = Diagnostic::AddressShared { mac, ips };
    assert!(rig.machine.problems().eq([shared]));
    rig.stall(RECENT_TIME);
    rig.wake();
    assert_eq!(rig.machine.problems().next(), None);
}

#[test]
fn a_new_address_is_not_reported_as_shared() {
    let mut rig = Rig::waiter();
    let own = frame(mac(ME), MacAddr::BROADCAST, Message::WhereIsToken);
    rig.hear_bytes(&own, Duration::ZERO);
    rig.link(LinkState::Up {
        mac: mac(9),
        ip: ip(ME),
        mtu: 1500,
    });
    assert_eq!(rig.machine.problems().next(), None);
}

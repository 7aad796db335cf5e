//! Leases that no node may have (section 1).

use std::time::Duration;

use ring_codec::jitterbug::{Message, Terms};

use super::rig::{Fate, Rig, Said, encode, host, id, ms, node};
use super::terms::{give, terms, tr1_with};
use crate::jitterbug::{Difference, Event, LEAST_LEASE, MOST_LEASE, Reason, State};

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap()
}

/// Terms in which one number is impossible.
fn impossible() -> Vec<Terms> {
    let (least, most) = (micros(LEAST_LEASE), micros(MOST_LEASE));
    let mut all = Vec::new();
    for wrong in [0, 1_000, least - 1, most + 1, u32::MAX] {
        let good = terms();
        all.extend([
            Terms {
                lease_us: wrong,
                ..good
            },
            Terms {
                shortest_us: wrong,
                ..good
            },
            Terms {
                longest_us: wrong,
                ..good
            },
        ]);
    }
    all
}

/// One datagram with a lease of nothing made each input to a leader a stall. It asked who leads, each answer was the next
/// stall, and its time-outs were due at once for ever.
#[test]
fn a_datagram_with_an_impossible_lease_does_not_end_the_ring() {
    for terms in impossible() {
        let mut rig = Rig::leader(5);
        rig.forget();
        rig.hear(2, &tr1_with(-1, 2, terms));
        assert_eq!(rig.said(), [Said::Tr2(host(2), 5)], "it hears of a leader");
        let how = Difference::Lease;
        assert!(
            rig.events()
                .contains(&Event::NodeDiffers { node: host(2), how })
        );
        assert_eq!(rig.machine.snapshot().differing, [(host(2), how)]);
        assert_eq!(rig.machine.lease(), ms(500), "{terms:?}");
        assert!(rig.due().unwrap() > Duration::ZERO);
        let answer = Message::Tr2 {
            token_id: id(-1),
            terms: Some(terms),
        };
        rig.hear(2, &encode(&answer));
        rig.run(secs(5));
        assert_eq!(rig.state(), State::Leader);
        assert_eq!(rig.machine.lease(), ms(500), "{terms:?}");
        assert_eq!(rig.machine.counters().stalls, 0);
        assert_eq!(rig.machine.lists(), (&[node(1)][..], &[][..]));
    }
}

#[test]
fn a_token_with_an_impossible_lease_is_refused_and_its_giver_named() {
    for terms in impossible() {
        let mut rig = Rig::waiter(5);
        let stream = give(&mut rig, 2, 9, &[node(2), node(1)], terms);
        assert_eq!(rig.fate(stream), Fate::Reset);
        assert_eq!(rig.dropped(Reason::Lease), 1);
        assert_eq!(
            rig.machine.snapshot().differing,
            [(host(2), Difference::Lease)]
        );
    }
}

/// A lease of 71 minutes kept each node without a token from the election for as long.
#[test]
fn a_new_node_waits_for_no_longer_than_the_longest_lease_that_a_node_may_have() {
    let told = |longest_us| Message::Tr2 {
        token_id: id(-1),
        terms: Some(Terms {
            longest_us,
            ..terms()
        }),
    };
    let mut rig = Rig::orphan();
    rig.hear(2, &encode(&told(u32::MAX)));
    rig.run(ms(600));
    assert_eq!(rig.state(), State::Leader, "that is no lease");
    let mut rig = Rig::orphan();
    rig.hear(2, &encode(&told(micros(MOST_LEASE))));
    rig.run(ms(10_000));
    assert_eq!(rig.state(), State::Orphan);
    rig.run(ms(200));
    assert_eq!(rig.state(), State::Leader);
}

//! Stalls (`docs/jitterbug/protocol/leader.md` S1 to S8). A loop stalled if it did not run for (2 × tr_count - 1) ×
//! tr_interval, here 500 ms.

use super::prelude::*;
use crate::time::{Instant, Now, nanos};

#[test]
fn a_leader_that_stood_still_becomes_an_orphan_before_it_answers_anything() {
    let mut rig = Rig::leader(5);
    rig.stall(ms(500));
    rig.receive_datagram(2, &tr1(-1, 7002));
    assert_eq!(rig.state(), State::Orphan);
    assert_eq!(
        rig.take_datagrams()[0],
        SentDatagram::Tr1(BROADCAST, -5),
        "no TR2 as a leader"
    );
    assert_eq!(rig.machine.counters().stalls, 1);
    let after = ms(500);
    assert!(rig.take_events().contains(&Event::Stalled { after }));
}

#[test]
fn after_a_shorter_stall_it_continues() {
    let mut rig = Rig::leader(5);
    rig.stall(ms(499));
    rig.receive_datagram(2, &tr1(-1, 7002));
    assert_eq!(rig.state(), State::Leader);
    assert!(
        rig.take_datagrams()
            .contains(&SentDatagram::Tr2(host(2), 5))
    );
}

#[test]
fn it_resets_its_pass() {
    let (mut rig, stream) = Rig::giver();
    rig.accept_pass(stream);
    rig.stall(ms(500));
    rig.receive_end(stream, &[]);
    assert_eq!(
        (rig.state(), rig.fate(stream)),
        (State::Orphan, Fate::Reset)
    );
    assert_eq!(rig.machine.counters().passes_done, 0);
}

#[test]
fn an_orphan_that_stalled_in_a_restore_restarts_it() {
    let mut rig = Rig::orphan();
    rig.run(ms(590));
    rig.clear_output();
    rig.stall(ms(500));
    rig.fire_timeout();
    assert_eq!(
        rig.state(),
        State::Orphan,
        "its restore would have been granted"
    );
    assert_eq!(rig.take_datagrams().len(), 1);
    rig.run(ms(599));
    assert_eq!(rig.state(), State::Orphan);
    rig.run(ms(1));
    assert_eq!(rig.state(), State::Leader);
    assert_eq!(rig.machine.counters().restores, 2);
}

#[test]
fn a_waiter_may_stand_still() {
    let mut rig = Rig::waiter(5);
    rig.stall(ms(1000));
    rig.receive_datagram(2, &tr1(-1, 7002));
    assert_eq!(
        (rig.state(), rig.machine.counters().stalls),
        (State::Waiter, 0)
    );
}

#[test]
fn an_idle_loop_is_not_a_stall() {
    let mut rig = Rig::leader(5);
    rig.machine.set_work(true);
    rig.run(ms(10_000));
    assert_eq!(rig.state(), State::Leader);
    assert_eq!(rig.machine.counters().stalls, 0);
    assert!(
        rig.due().unwrap() <= ms(63),
        "the node reads the clock often enough"
    );
}

/// Checks a process that stalls after it reads the clock and before it receives the waiting messages. The messages seem
/// to arrive shortly after each other, so each message would seem to be in time.
#[test]
fn a_stall_between_the_clock_and_the_messages_is_noticed() {
    let mut rig = Rig::leader(5);
    let at = rig.now;
    rig.stall(ms(5000));
    let late = Now {
        monotonic: Instant::from_nanos(nanos(rig.now)),
        wall: 0,
    };
    rig.machine.handle_lateness(late);
    rig.drain();
    rig.now = at + ms(100);
    rig.receive_datagram(2, &tr1(-1, 7002));
    assert_eq!(rig.state(), State::Orphan);
    assert!(
        !rig.take_datagrams()
            .contains(&SentDatagram::Tr2(host(2), 5))
    );
}

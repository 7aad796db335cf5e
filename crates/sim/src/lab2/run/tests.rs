//! Shorter schedules that still fail.

use crate::kernel::schedule::Schedule as _;
use crate::kernel::shrink::shrink;
use crate::lab2::{Action, Fault, Schedule};

fn pause(at_us: u64, node: usize) -> Action {
    let fault = Fault::Pause { node };
    Action { at_us, fault }
}

fn schedule(actions: Vec<Action>) -> Schedule {
    Schedule {
        about: String::new(),
        seed: 1,
        nodes: 6,
        time_us: 60_000_000,
        idle_hold_us: 10_000,
        heartbeat_us: 100_000,
        take_timeout_us: 5_000,
        take_attempts: 3,
        forget_us: 86_400_000_000,
        preferences: vec![],
        latency_us: (10, 10),
        keys: crate::kernel::keys::NodeKeys::default(),
        stay_dead: vec![0, 5],
        lasting: None,
        actions,
    }
}

fn shrink_quietly(schedule: &Schedule, fails: impl FnMut(&Schedule) -> bool) -> Schedule {
    shrink(schedule, fails, |_, _| {})
}

#[test]
fn only_the_necessary_actions_nodes_and_time_are_left() {
    let actions = (0..40).map(|n| {
        let node = usize::try_from(n % 6).unwrap();
        pause(1_000_000 * (n + 1), node)
    });
    // The failure needs two of the actions, in this order.
    let needs = |schedule: &Schedule| {
        let mut faults = schedule.actions.iter().map(|action| &action.fault);
        faults.any(|fault| *fault == Fault::Pause { node: 1 })
            && faults.any(|fault| *fault == Fault::Pause { node: 0 })
    };
    let small = shrink_quietly(&schedule(actions.collect()), needs);
    assert_eq!(small.actions.len(), 2);
    assert_eq!((small.nodes, small.stay_dead), (2, vec![]));
    assert!(small.time_us < 10_000, "{}", small.time_us);
}

#[test]
fn a_schedule_that_does_not_fail_is_unchanged() {
    let whole = schedule(vec![pause(7, 3)]);
    assert_eq!(shrink_quietly(&whole, |_| false), whole);
}

#[test]
fn nodes_above_a_removed_one_are_renumbered() {
    let groups = Fault::Part {
        groups: vec![0, 1, 2, 3],
    };
    let cut = Fault::Cut { from: 5, to: 1 };
    let faults = [groups, cut, Fault::Pause { node: 2 }];
    let actions = faults.map(|fault| Action { at_us: 1, fault });
    let fewer = schedule(actions.to_vec()).without(2);
    let groups = vec![0, 1, 3];
    let left: Vec<_> = fewer.actions.into_iter().map(|a| a.fault).collect();
    let cut = Fault::Cut { from: 4, to: 1 };
    assert_eq!(left, [Fault::Part { groups }, cut]);
    assert_eq!(fewer.stay_dead, [0, 4]);
}

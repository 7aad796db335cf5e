//! Measures the cost of each action in rings of one size.

use std::thread;
use std::time::Duration;

use ring_codec::lab2::Kind;
use ring_proto::lab2::{Constants, Lab2};
use ring_sim::lab2::World;

use super::cost::{Action, Cost};

/// Time between two comparisons of all tables. Comparisons are slow if tables are large.
const TABLE_POLL_INTERVAL: Duration = Duration::from_millis(5);
const ACTION_LIMIT: Duration = Duration::from_secs(600);
/// Time of rest after an action. During the rest, the effects of the action end.
const REST_TIME: Duration = Duration::from_secs(2);
const IDLE_TIME: Duration = Duration::from_secs(10);

type Ring = World<Lab2>;

/// Measures every action in a ring of `nodes` members with the default constants. Runs two simulations in two threads.
pub(crate) fn all(nodes: usize) -> Vec<Cost> {
    thread::scope(|scope| {
        let merged = scope.spawn(|| measure_merge(nodes));
        let mut costs = measure_one_ring(nodes);
        costs.push(merged.join().expect("the halves merge"));
        costs
    })
}

/// Measures all actions that are possible in one ring, one by one.
fn measure_one_ring(nodes: usize) -> Vec<Cost> {
    let mut costs = Vec::new();
    let mut ring = ring(nodes + 1);
    let mut measure = |ring: &mut Ring, action, act: &mut dyn FnMut(&mut Ring)| {
        costs.push(measure_cost(ring, nodes, action, act));
        ring.run(REST_TIME);
    };
    measure(&mut ring, Action::Form, &mut |ring| {
        (0..nodes).for_each(|at| ring.start(at));
        wait_until_formed(ring);
    });
    measure(&mut ring, Action::Idle, &mut |ring| ring.run(IDLE_TIME));
    measure(&mut ring, Action::Join, &mut |ring| {
        ring.start(nodes);
        wait_until_formed(ring);
    });
    let at_rest = |ring: &Ring| ring.owner().is_some() && ring.has_one_owner();
    let owner = ring
        .run_until(ACTION_LIMIT, at_rest)
        .and_then(|_| ring.owner());
    measure(&mut ring, Action::FailOver, &mut |ring| {
        ring.kill(owner.expect("a ring at rest has an owner"));
        let replaced = ring.run_until(ACTION_LIMIT, |ring| !ring.owners().is_empty());
        assert!(replaced.is_some(), "no node took over");
    });
    assert_sound(&ring);
    costs
}

/// Measures the merge of two halves that were separate from the start. Members belong to the two halves alternately.
fn measure_merge(nodes: usize) -> Cost {
    let mut halves = ring(nodes);
    let groups: Vec<u8> = (0..nodes).map(|at| u8::from(at % 2 > 0)).collect();
    halves.part(&groups);
    halves.start_all();
    halves.run(REST_TIME);
    let cost = measure_cost(&mut halves, nodes, Action::Merge, &mut |ring| {
        ring.part(&[]);
        wait_until_formed(ring);
    });
    assert_sound(&halves);
    cost
}

fn assert_sound(ring: &Ring) {
    assert!(ring.violations().is_empty(), "{:?}", ring.violations());
}

fn ring(nodes: usize) -> Ring {
    let constants = Constants {
        max_members: nodes.max(2),
        // If `expect` were not set, each half would consider itself complete.
        expect: Some(nodes),
        ..Constants::default()
    };
    World::new(nodes, constants, 1)
}

fn wait_until_formed(ring: &mut Ring) {
    let start = ring.now();
    while !(ring.has_one_owner() && ring.common_digest().is_some()) {
        assert!(
            ring.now() < start + ACTION_LIMIT,
            "the tables do not become equal"
        );
        // The simulation's time does not advance during this comparison.
        assert_sound(ring);
        ring.run(TABLE_POLL_INTERVAL);
    }
}

fn measure_cost(
    ring: &mut Ring,
    nodes: usize,
    action: Action,
    act: &mut dyn FnMut(&mut Ring),
) -> Cost {
    let counts = |ring: &Ring| Kind::ALL.map(|kind| (ring.sent(kind), ring.broadcasts(kind)));
    let (start, before) = (ring.now(), counts(ring));
    act(ring);
    let mut sent = counts(ring);
    for ((frames, broadcasts), (frames_before, broadcasts_before)) in sent.iter_mut().zip(before) {
        *broadcasts -= broadcasts_before;
        *frames = *frames - frames_before - *broadcasts;
    }
    Cost {
        action,
        nodes,
        time: ring.now().saturating_sub(start),
        sent,
    }
}

//! Tests of the simulator's TCP connections. The tests use the passes of a ring.

use std::time::Duration;

use ring_proto::time::nanos;

use super::schedule::{DataPlan, Decider, NodeOptions, Schedule};
use super::system::World;
use crate::kernel::faults::{NetworkFault, StreamFault};
use crate::kernel::rng::{Rng, Stream};
use crate::kernel::schedule::FaultFields as _;

/// token_pass_timeout.
const PASS: Duration = Duration::from_secs(1);
/// The maximum time in which a ring forms, or continues after a failed pass.
const RING_TIMEOUT: Duration = Duration::from_secs(10);
/// Size in bytes of a pass between two nodes that know each other. The size excludes padding. These bytes are the
/// messages TP6, TP1, TP3 and TP5, and the data after TP5.
const PASS_BYTES: u64 = 34 + 9 + 1 + 5 + 14;

/// Starts nodes with `padding` bytes in their data, and runs until each node has led.
fn ring(nodes: usize, seed: u64, padding: usize) -> World {
    let schedule = Schedule {
        about: String::new(),
        seed,
        nodes,
        time_us: 0,
        options: NodeOptions {
            interval_us: 50_000,
            count: 3,
            renew_us: 2_000_000,
            pass_us: nanos(PASS) / 1_000,
            hold_us: 1_000,
            compute_us: 300_000,
            max_nodes: 64,
        },
        deviant: None,
        data: DataPlan {
            computes: true,
            decides: Decider::Greater,
            padding,
        },
        latency_us: (50, 100),
        keys: crate::kernel::keys::NodeKeys::default(),
        stay_dead: Vec::new(),
        actions: Vec::new(),
    };
    schedule.check().expect("a valid schedule");
    let mut sim = World::of(&schedule);
    for at in 0..nodes {
        sim.start(at);
    }
    let is_formed = |sim: &World| {
        let mut owns = sim.nodes.iter().map(|node| &node.own);
        owns.all(|own| own.led > 2 && own.list.len() == nodes)
    };
    let formed = sim.run_until(RING_TIMEOUT, is_formed);
    assert!(formed.is_some(), "seed {seed}: the nodes form no ring");
    sim
}

/// Runs until each node has led one more time. Returns the duration of this run.
fn await_all_lead(sim: &mut World) -> Option<Duration> {
    let led = |sim: &World| -> Vec<u64> { sim.nodes.iter().map(|node| node.own.led).collect() };
    let before = led(sim);
    sim.run_until(RING_TIMEOUT, |sim| {
        let mut pairs = led(sim).into_iter().zip(&before);
        pairs.all(|(now, before)| now > *before)
    })
}

/// Returns the number of successful passes.
fn done_passes(sim: &World) -> u64 {
    sim.system.stats.counters.passes_done
}

/// Returns the number of passes that have failed, were aborted, or have an unknown outcome.
fn failed_passes(sim: &World) -> u64 {
    let counters = &sim.system.stats.counters;
    counters.passes_failed + counters.passes_unknown + counters.passes_aborted
}

fn check(sim: &World, what: &str) {
    assert_eq!(sim.system.checks.findings.violations, [], "{what}");
}

#[test]
fn bytes_that_arrive_one_by_one_make_a_pass() {
    let mut sim = ring(3, 1, 5_000);
    let before = (failed_passes(&sim), sim.system.stats.dropped);
    sim.apply_stream_fault(&StreamFault::Dribble { rate: 1_000 });
    for _ in 0..10 {
        assert!(await_all_lead(&mut sim).is_some());
    }
    assert_eq!((failed_passes(&sim), sim.system.stats.dropped), before);
    check(&sim, "dribble");
}

/// The reset cuts off the message TP6, TP1, TP3 or TP5.
#[test]
fn a_reset_after_any_byte_costs_a_pass_and_nothing_else() {
    const PADDING: usize = 100;
    let whole = PASS_BYTES + PADDING as u64;
    for byte in 0..whole + 8 {
        let mut sim = ring(2, byte, PADDING);
        let before = failed_passes(&sim);
        let fault = StreamFault::ResetAt { byte };
        sim.apply_stream_fault(&fault);
        sim.run(PASS / 2);
        let costs = failed_passes(&sim) > before;
        assert_eq!(costs, byte < whole, "a reset after {byte} bytes");
        sim.apply_stream_fault(&fault.end());
        let goes_on = await_all_lead(&mut sim);
        assert!(goes_on.is_some(), "a reset after {byte} bytes lasts");
        check(&sim, &format!("a reset after {byte} bytes"));
    }
}

/// Bytes that a split delays arrive before bytes that are sent later.
#[test]
fn short_cuts_exchange_no_bytes() {
    for seed in 0..20 {
        let mut sim = ring(2, seed, 3_000);
        sim.apply_stream_fault(&StreamFault::Dribble { rate: 1_000 });
        let mut rng = Rng::new(seed, Stream::Plan);
        let before = (failed_passes(&sim), sim.system.stats.dropped);
        for _ in 0..400 {
            sim.run(Duration::from_micros(rng.below(10_000)));
            let cut = NetworkFault::Part { groups: vec![0, 1] };
            sim.apply_network_fault(&cut);
            sim.run(Duration::from_micros(rng.below(20)));
            sim.apply_network_fault(&cut.end());
        }
        assert!(await_all_lead(&mut sim).is_some(), "seed {seed}");
        let after = (failed_passes(&sim), sim.system.stats.dropped);
        assert_eq!(after, before, "seed {seed}");
        check(&sim, &format!("seed {seed}"));
    }
}

/// Each connection stalls after some bytes. If the giver's kernel gives up the connection, the giver learns this before
/// the end of the pass.
#[test]
fn a_kernel_gives_up_a_connection_without_acknowledgements() {
    let missed_early = |patience: Option<Duration>| -> u64 {
        let counts = (0..20).map(|seed| {
            let mut sim = ring(2, seed, 0);
            if let Some(patience) = patience {
                sim.set_ack_timeout(nanos(patience));
            }
            let before = failed_passes(&sim);
            sim.apply_stream_fault(&StreamFault::Stall { rate: 1_000 });
            sim.run(PASS / 2);
            check(&sim, &format!("seed {seed}"));
            failed_passes(&sim) - before
        });
        counts.sum()
    };
    assert_eq!(missed_early(None), 0);
    assert!(missed_early(Some(PASS / 10)) > 0);
}

#[test]
fn an_unanswered_connection_is_given_up() {
    let mut sim = ring(2, 1, 0);
    let before = failed_passes(&sim);
    let fault = StreamFault::Unanswered { rate: 1_000 };
    sim.apply_stream_fault(&fault);
    let elapsed = sim.run_until(RING_TIMEOUT, |sim| failed_passes(sim) > before);
    let elapsed = elapsed.expect("the pass has an end");
    assert!(elapsed >= PASS && elapsed < 2 * PASS, "{elapsed:?}");
    let before = done_passes(&sim);
    sim.run(2 * PASS);
    assert_eq!(done_passes(&sim), before);
    sim.apply_stream_fault(&fault.end());
    let elapsed = await_all_lead(&mut sim).expect("the pass is repeated");
    assert!(elapsed < 2 * PASS, "{elapsed:?}");
    check(&sim, "no answer");
}

#[test]
fn hundreds_of_strangers_delay_the_token_only_for_a_short_time() {
    let mut sim = ring(3, 1, 0);
    for at in 0..sim.len() {
        for _ in 0..100 {
            sim.connect_idle_stranger(at);
        }
    }
    let elapsed = await_all_lead(&mut sim).expect("the token goes on");
    assert!(elapsed < 3 * PASS, "{elapsed:?}");
    check(&sim, "strangers");
}

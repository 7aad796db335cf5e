//! A second system in the simulator's kernel: datagrams with senders, connections, jobs, a disk.

mod fault;
mod world;

use std::collections::BTreeSet;
use std::time::Duration;

use ring_note::wire::{self, HEADER, REQUEST};
use ring_note::{Failure, Version};
use ring_proto::time::nanos;
use ringd::sim::kernel::kinds::Trouble;
use ringd::sim::kernel::network::Weather;
use ringd::sim::kernel::node::Node;
use ringd::sim::kernel::rng::{Rng, Stream};
use ringd::sim::kernel::schedule::{Action, Schedule};
use ringd::sim::kernel::shrink::shrink;
use ringd::sim::kernel::stranger::{Ending, Stranger};
use ringd::sim::kernel::streams::StreamWeather;

use fault::{Fault, Plan, text};
use world::{MTU, PERIOD, Room, TRANSFER, World, address, agree, assemble, start, stranger, write};

const MS: u64 = 1_000_000;
const SECOND: Duration = Duration::from_secs(1);
/// Longer than two transfers that come to nothing.
const SOON: Duration = Duration::from_secs(10);

fn started(nodes: usize, seed: u64) -> World {
    let mut world = assemble(nodes, seed);
    for at in 0..nodes {
        start(&mut world, at);
    }
    world.run(PERIOD);
    world
}

fn check(world: &World, what: &str) {
    assert!(
        world.system.broken.is_empty(),
        "{what}: {:?}",
        world.system.broken
    );
}

#[test]
fn all_nodes_come_to_show_the_newest_note() {
    let mut world = started(4, 1);
    write(&mut world, 2, text(20_000, 1));
    let took = world.run_until(SECOND, agree).expect("it comes soon");
    assert!(took < SECOND / 10, "{took:?}");
    check(&world, "a clear network");
}

/// The request, the answer and both ends: the note comes by another connection, whole.
#[test]
fn a_reset_after_any_byte_costs_a_fetch_and_nothing_else() {
    const LEN: usize = 300;
    let mut failed = BTreeSet::new();
    for byte in 0..=(REQUEST + HEADER + LEN) as u64 {
        let mut world = started(2, byte);
        let reset_at = Some(byte);
        world.set_stream_weather(StreamWeather {
            reset_at,
            ..StreamWeather::default()
        });
        write(&mut world, 0, text(LEN, byte));
        world.run(2 * PERIOD);
        check(&world, &format!("a reset after {byte} bytes"));
        if !agree(&world) {
            failed.insert(byte);
        }
        world.set_stream_weather(StreamWeather::default());
        let took = world.run_until(SOON, agree);
        assert!(took.is_some(), "a reset after {byte} bytes is for good");
        check(&world, &format!("after a reset after {byte} bytes"));
    }
    assert_eq!(failed.len(), REQUEST + HEADER + LEN, "{failed:?}");
}

#[test]
fn bytes_that_arrive_one_by_one_make_a_note() {
    let mut world = started(3, 1);
    world.set_stream_weather(StreamWeather {
        dribble: 1000,
        ..StreamWeather::default()
    });
    write(&mut world, 0, text(5_000, 1));
    assert!(world.run_until(SOON, agree).is_some());
    check(&world, "dribble");
    assert!(world.system.met.contains(&Trouble::Dribble));
}

/// What a cut holds up is not overtaken by what was sent after it.
#[test]
fn short_cuts_exchange_no_bytes() {
    for seed in 0..20 {
        let mut world = started(2, seed);
        world.set_stream_weather(StreamWeather {
            dribble: 1000,
            ..StreamWeather::default()
        });
        write(&mut world, 0, text(3_000, seed));
        let mut rng = Rng::new(seed, Stream::Plan);
        for _ in 0..20 {
            world.run(Duration::from_nanos(rng.below(MS / 10)));
            world.part(&[0, 1]);
            world.run(Duration::from_nanos(rng.below(MS / 50)));
            world.part(&[]);
        }
        let took = world.run_until(SOON, agree);
        assert!(took.is_some(), "seed {seed}: the note does not come");
        for failure in [Failure::Corrupt, Failure::Malformed] {
            let name = ring_note::Event::Failed(Version::default(), failure).name();
            let failed = world.system.events.contains_key(name);
            assert!(!failed, "seed {seed}: {name}");
        }
        check(&world, &format!("seed {seed}"));
    }
}

/// A connection stalls at some byte, of the request in some runs: who has sent it hears of that from its kernel.
#[test]
fn a_kernel_gives_up_what_nobody_acknowledges() {
    let closed = |patience: Option<Duration>| {
        let mut count = 0;
        for seed in 0..20 {
            let mut world = started(2, seed);
            if let Some(patience) = patience {
                world.set_patience(nanos(patience));
            }
            world.set_stream_weather(StreamWeather {
                stall: 1000,
                ..StreamWeather::default()
            });
            write(&mut world, 0, text(100, seed));
            world.run(TRANSFER / 2);
            let name = ring_note::Event::Failed(Version::default(), Failure::Closed).name();
            count += world.system.events.get(name).copied().unwrap_or_default();
        }
        count
    };
    assert_eq!(closed(None), 0);
    assert!(closed(Some(TRANSFER / 10)) > 0);
}

#[test]
fn a_connection_that_nobody_answers_is_given_up() {
    let mut world = started(2, 1);
    world.set_stream_weather(StreamWeather {
        unanswered: 1000,
        ..StreamWeather::default()
    });
    write(&mut world, 0, text(100, 1));
    world.run(TRANSFER / 2);
    world.set_stream_weather(StreamWeather::default());
    let took = world.run_until(SOON, agree).expect("it is tried again");
    assert!(took >= TRANSFER / 3 && took < 2 * TRANSFER, "{took:?}");
    assert!(world.system.events["fetch_timed_out"] > 0);
    check(&world, "no answer");
}

#[test]
fn hundreds_of_strangers_keep_nobody_from_the_note_for_long() {
    let mut world = started(3, 1);
    let silent = Stranger {
        from: stranger(0),
        to: address(0),
        says: Vec::new(),
        gap: 0,
        reads: false,
        ends: Ending::Stays,
    };
    // Asks for all there is, and reads none of it.
    let never_reads = Stranger {
        from: stranger(0),
        to: address(0),
        says: wire::request(Version::default()).to_vec(),
        gap: 0,
        reads: false,
        ends: Ending::Stays,
    };
    let dribbles = Stranger {
        from: stranger(0),
        to: address(0),
        says: wire::request(Version::default()).to_vec(),
        gap: 90 * MS,
        reads: true,
        ends: Ending::Stays,
    };
    for number in 0..100 {
        for peer in [&silent, &never_reads, &dribbles] {
            let from = stranger(number);
            world.admit_stranger(
                0,
                &Stranger {
                    from,
                    ..peer.clone()
                },
            );
        }
    }
    write(&mut world, 0, text(50_000, 1));
    let took = world.run_until(SOON, agree).expect("the others get it");
    assert!(took < 3 * TRANSFER, "{took:?}");
    world.run(2 * TRANSFER);
    let left = world.machine(0).map_or(0, ring_note::Notes::transfers);
    assert_eq!(left, 0, "who says nothing is not let go");
    assert!(world.system.events["refused"] > 0);
    check(&world, "strangers");
}

/// Carries a plan out. How it went, and whether all agree soon after everything is in order again.
fn run(plan: &Plan) -> (World, bool) {
    let mut world = started(plan.nodes(), plan.seed);
    world.network.captures = true;
    world.schedule(plan.actions().into());
    world.run(Duration::from_micros(plan.time_us()));
    world.part(&[]);
    world.network.cuts.clear();
    world.set_weather(Weather::default());
    world.set_stream_weather(StreamWeather::default());
    for at in 0..world.len() {
        let node = &mut world.nodes[at];
        (node.disk_full, node.deaf, node.unplugged) = (false, false, false);
        (node.slow, node.refuse, node.mtu) = (0, 0, MTU);
        node.broadcasts_lost = false;
        world.resume(at);
        start(&mut world, at);
    }
    let agreed = world.run_until(SOON, agree).is_some();
    (world, agreed)
}

#[test]
fn whatever_goes_wrong_no_version_is_torn_or_taken_back_and_all_agree_in_the_end() {
    let mut met = BTreeSet::new();
    let mut events = BTreeSet::new();
    for seed in 0..120 {
        let (world, agreed) = run(&Plan::draw(seed, 4));
        check(&world, &format!("seed {seed}"));
        assert!(agreed, "seed {seed}: they do not agree within {SOON:?}");
        met.extend(world.system.met.iter().copied());
        events.extend(world.system.events.keys().copied());
    }
    // The note's datagrams are for all.
    let missed = Trouble::ALL.iter().filter(|it| !met.contains(*it));
    assert_eq!(missed.collect::<Vec<_>>(), [&Trouble::Unicast]);
    for failure in [Failure::Closed, Failure::TimedOut, Failure::NotStored] {
        let name = ring_note::Event::Failed(Version::default(), failure).name();
        assert!(events.contains(name), "{name} is never met");
    }
}

/// As if it were forbidden to store a third version: three writes are all it takes.
#[test]
fn a_schedule_of_any_system_is_made_shorter() {
    let fails = |plan: &Plan| {
        let (world, _) = run(plan);
        let third = |node: &Node<Room>| node.own.stored.version.number >= 3;
        world.nodes.iter().any(third)
    };
    let long = Plan::draw(1, 4);
    assert!(fails(&long));
    let short = shrink(&long, fails, |_, _| {});
    let is_write = |action: &Action<Fault>| matches!(action.fault, Fault::Write(..));
    assert!(short.actions().iter().all(is_write), "{short:?}");
    assert_eq!(short.actions().len(), 3, "{short:?}");
}

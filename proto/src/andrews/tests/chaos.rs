//! Rings in which random faults occur and later end (rules Q).

use super::prelude::*;

const NODES: u32 = 5;

/// Runs a ring with faults, and checks that the ring recovers. The database checks the invariants after each write.
fn run_with_faults(seed: u64) {
    let mut draw = RandomNumbers::new(seed);
    let methods = [Method::RingBased, Method::ChangRoberts, Method::Bully];
    let mut network = Network::new(NODES, FakeDatabase::default(), |id| Options {
        election: methods[(id as usize + usize::try_from(seed % 3).unwrap_or_default()) % 3],
        ..Options::new(id)
    });
    network.chunk = [1, 7, usize::MAX][draw.next_below(3) as usize];
    let mut dead = BTreeSet::new();
    for number in 0..30 {
        let id = 1 + draw.next_below(NODES);
        match draw.next_below(10) {
            0 if dead.len() < 3 => {
                network.crash(id);
                dead.insert(id);
            }
            1 | 2 => {
                network.restart(id);
                dead.remove(&id);
            }
            3 => network.stall(id),
            4 => network.resume(id),
            5 => network.part[Network::index(id)] = 1,
            6 => network.part = vec![0; NODES as usize],
            7 => network.answers = DatabaseMode::Fails,
            8 => network.answers = DatabaseMode::After(ms(u64::from(draw.next_below(1400)))),
            _ => network.answers = DatabaseMode::After(ms(3)),
        }
        if !dead.contains(&id) {
            network.rig(id).request(seed * 1000 + number, true);
        }
        network.run(ms(u64::from(draw.next_below(4000))));
    }
    network.answers = DatabaseMode::After(ms(2));
    network.part = vec![0; NODES as usize];
    for id in 1..=NODES {
        network.resume(id);
        if dead.contains(&id) {
            network.restart(id);
        }
    }
    // S + 6 × T1.
    let bound = ms(3 * 5250 + 5 * 1500 + 5000 + 3000 + 6000);
    let is_well = |it: &Network| it.is_ring() && it.has_final_coordinator();
    assert!(
        network.run_until(bound, is_well),
        "seed {seed}: {}",
        network.describe()
    );
    assert!(
        network.run_until(bound, |it| it.token_count() == 1),
        "seed {seed}: {}",
        network.describe()
    );
    network.run(ms(15_000));
    assert!(
        is_well(&network),
        "seed {seed}: it stays: {}",
        network.describe()
    );
    assert_eq!(network.token_count(), 1, "seed {seed}");
    for (request, answer) in &network.answered {
        let posts = network
            .database
            .posts
            .iter()
            .filter(|(.., id)| id == request);
        match answer {
            RequestAnswer::Done { .. } => assert_eq!(posts.count(), 1, "seed {seed}: once"),
            RequestAnswer::Unknown => assert!(posts.count() <= 1, "seed {seed}"),
            _ => assert_eq!(posts.count(), 0, "seed {seed}: {request} was not written"),
        }
    }
}

#[test]
fn the_ring_recovers_from_all_faults_without_lost_or_double_posts() {
    (0..60).for_each(run_with_faults);
}

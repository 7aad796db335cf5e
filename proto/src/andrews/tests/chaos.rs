//! Whole rings in which things go wrong at random, then stop going wrong (section 12).

use super::prelude::*;

const NODES: u32 = 5;

/// What holds always is checked by the database and after each answer.
fn live(seed: u64) {
    let mut draw = Draw::new(seed);
    let methods = [Method::RingBased, Method::ChangRoberts, Method::Bully];
    let mut world = World::new(NODES, Base::default(), |id| Options {
        election: methods[(id as usize + usize::try_from(seed % 3).unwrap_or_default()) % 3],
        ..Options::new(id)
    });
    world.chunk = [1, 7, usize::MAX][draw.below(3) as usize];
    let mut dead = BTreeSet::new();
    for number in 0..30 {
        let id = 1 + draw.below(NODES);
        match draw.below(10) {
            0 if dead.len() < 3 => {
                world.crash(id);
                dead.insert(id);
            }
            1 | 2 => {
                world.restart(id);
                dead.remove(&id);
            }
            3 => world.stop(id),
            4 => world.go_on(id),
            5 => world.part[World::at(id)] = 1,
            6 => world.part = vec![0; NODES as usize],
            7 => world.answers = Answers::Fails,
            8 => world.answers = Answers::After(ms(u64::from(draw.below(1400)))),
            _ => world.answers = Answers::After(ms(3)),
        }
        if !dead.contains(&id) {
            world.rig(id).request(seed * 1000 + number, true);
        }
        world.run(ms(u64::from(draw.below(4000))));
    }
    world.answers = Answers::After(ms(2));
    world.part = vec![0; NODES as usize];
    for id in 1..=NODES {
        world.go_on(id);
        if dead.contains(&id) {
            world.restart(id);
        }
    }
    // S, and 6 × T1.
    let bound = ms(3 * 5250 + 5 * 1500 + 5000 + 3000 + 6000);
    let is_well = |it: &World| it.is_ring() && it.is_led();
    assert!(world.until(bound, is_well), "seed {seed}: {}", world.show());
    assert!(
        world.until(bound, |it| it.tokens() == 1),
        "seed {seed}: {}",
        world.show()
    );
    world.run(ms(15_000));
    assert!(is_well(&world), "seed {seed}: it stays: {}", world.show());
    assert_eq!(world.tokens(), 1, "seed {seed}");
    for (request, answer) in &world.answered {
        let posts = world.base.posts.iter().filter(|(.., id)| id == request);
        match answer {
            Answer::Done { .. } => assert_eq!(posts.count(), 1, "seed {seed}: once"),
            Answer::Unknown => assert!(posts.count() <= 1, "seed {seed}"),
            _ => assert_eq!(posts.count(), 0, "seed {seed}: {request} was not written"),
        }
    }
}

#[test]
fn whatever_goes_wrong_it_heals_and_no_post_is_lost_or_doubled() {
    (0..60).for_each(live);
}

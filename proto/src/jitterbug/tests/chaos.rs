//! Rings in which things go wrong at random: what must always hold, and what must come back.

use std::collections::BTreeSet;

use super::rig::ms;
use super::world::{Cut, How, World};
use crate::draw::Draw;
use crate::jitterbug::Options;

/// How many worlds there are. A failure names its seed.
const WORLDS: u64 = 100;

fn number(world: &World, at: usize) -> u64 {
    let text = String::from_utf8(world.rigs[at].machine.data().to_vec());
    text.expect("digits").parse().unwrap_or(0)
}

/// No token is used by two nodes, and no data of a process goes back.
fn check(world: &World, before: &mut [u64], seed: u64) {
    let standings = world.rigs.iter().map(|rig| rig.machine.standing());
    let used: Vec<u32> = standings
        .filter(|standing| standing.may_use)
        .map(|standing| standing.token_id)
        .collect();
    let ids: BTreeSet<u32> = used.iter().copied().collect();
    assert_eq!(
        ids.len(),
        used.len(),
        "a token is used twice, seed {seed}: {used:?}"
    );
    for (at, before) in before.iter_mut().enumerate() {
        let now = number(world, at);
        assert!(
            now >= *before,
            "data of {at} went back, seed {seed}: {before} to {now}"
        );
        *before = now;
    }
}

fn harm(world: &mut World, draw: &mut Draw, before: &mut [u64], stopped: &mut BTreeSet<usize>) {
    let count = u32::try_from(world.rigs.len()).expect("few");
    let at = draw.below(count) as usize;
    match draw.below(8) {
        0 => {
            for part in &mut world.part {
                *part = u8::try_from(draw.below(2)).expect("0 or 1");
            }
        }
        1 | 2 => world.part.fill(0),
        3 => {
            // A candidate says one byte and its end.
            let of_giver = draw.below(2) > 0;
            world.cut = Some(Cut {
                after: draw.below(if of_giver { 70 } else { 2 }) as usize,
                how: [How::Reset, How::Silence][draw.below(2) as usize],
                of_giver,
                times: 1 + draw.below(3) as usize,
            });
        }
        4 if !stopped.contains(&at) => {
            world.restart(at);
            before[at] = 0;
        }
        5 => {
            world.stop(at);
            stopped.insert(at);
        }
        _ => {
            for at in std::mem::take(stopped) {
                world.go_on(at);
            }
        }
    }
}

#[test]
fn whatever_goes_wrong_no_token_is_used_twice_and_one_ring_comes_back() {
    for seed in 0..WORLDS {
        let mut draw = Draw::new(seed);
        let count = 2 + u8::try_from(draw.below(4)).expect("few");
        let mut world = World::new(count, Options::default());
        let mut before = vec![0; count.into()];
        let mut stopped = BTreeSet::new();
        for _ in 0..40 {
            for _ in 0..=draw.below(10) {
                world.run(ms(u64::from(1 + draw.below(100))));
                check(&world, &mut before, seed);
            }
            harm(&mut world, &mut draw, &mut before, &mut stopped);
            check(&world, &mut before, seed);
        }
        world.part.fill(0);
        world.cut = None;
        for at in std::mem::take(&mut stopped) {
            world.go_on(at);
        }
        let is_whole = |world: &World| world.is_one_ring() && world.leading().len() == 1;
        assert!(
            world.until(ms(15_000), is_whole),
            "no ring comes back, seed {seed}"
        );
        let taken = world.taken();
        world.run(ms(15_000));
        let again = world.taken();
        let lead = taken
            .iter()
            .zip(&again)
            .all(|(before, after)| before < after);
        assert!(
            lead,
            "one does not lead again, seed {seed}: {taken:?} {again:?}"
        );
        check(&world, &mut before, seed);
    }
}

//! A pass that breaks after any of its bytes, in any way: never two tokens of one id, never half of the data.

use super::prelude::*;
use super::world::{Cut, How, World};

/// Bytes of a whole pass among two nodes that do not know each other: TP1, TP4, TP5 with some data.
const WHOLE: usize = 9 + 5 + 14 + 5 + 3;

fn broken(cut: Cut) {
    let mut world = World::new(2, Options::default());
    for rig in &mut world.rigs {
        // Data that half of which would be seen.
        assert!(rig.machine.data_mut().receive(b"100".to_vec()));
        rig.time_out();
    }
    world.cut = Some(cut);
    let mut seen = BTreeSet::new();
    for _ in 0..400 {
        world.run(ms(25));
        // A giver that does not know yet is leader to the outside, but uses the token no longer.
        let using = world.rigs.iter().map(|rig| rig.machine.standing());
        let tokens = using.filter(|it| it.may_use).map(|it| it.token_id);
        let tokens: Vec<u32> = tokens.collect();
        let ids: BTreeSet<u32> = tokens.iter().copied().collect();
        assert_eq!(ids.len(), tokens.len(), "two hold one token: {cut:?}");
        for rig in &world.rigs {
            let data = rig.machine.data().to_vec();
            assert!(data.len() >= 3, "{data:?} is half of it: {cut:?}");
            seen.insert(data);
        }
    }
    assert!(world.is_one_ring(), "{cut:?}");
    assert_eq!(world.leading().len(), 1, "{cut:?}");
    assert!(seen.len() > 50, "the ring goes on: {cut:?}");
}

#[test]
fn cut_after_each_byte_of_the_giver() {
    for how in [How::Reset, How::Silence] {
        for after in 0..=WHOLE {
            broken(Cut {
                after,
                how,
                of_giver: true,
                times: 1,
            });
        }
    }
}

#[test]
fn cut_after_each_byte_of_the_candidate() {
    for how in [How::Reset, How::Silence] {
        for after in 0..=1 {
            for times in [1, 3] {
                broken(Cut {
                    after,
                    how,
                    of_giver: false,
                    times,
                });
            }
        }
    }
}

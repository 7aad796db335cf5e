//! Passes whose connection fails after any number of bytes, in every possible way. There must never be two tokens with
//! the same id, and nodes must never take incomplete data.

use super::prelude::*;
use super::segment::{Cut, How, Segment};

/// The length of a whole pass between two nodes that do not know each other: TP1, TP4 and TP5 with some data.
const PASS_LEN: usize = 9 + 5 + 14 + 5 + 3;

fn check_broken_pass(cut: Cut) {
    let mut segment = Segment::new(2, Options::default());
    for rig in &mut segment.rigs {
        // The first half of this data differs from the whole.
        assert!(rig.machine.data_mut().queue_received(b"100".to_vec()));
        rig.fire_timeout();
    }
    segment.cut = Some(cut);
    let mut seen = BTreeSet::new();
    for _ in 0..400 {
        segment.run(ms(25));
        // While a giver does not know the outcome, it still announces itself as leader, but does not use the token.
        let using = segment.rigs.iter().map(|rig| rig.machine.summary());
        let tokens = using.filter(|it| it.may_use).map(|it| it.token_id);
        let tokens: Vec<u32> = tokens.collect();
        let ids: BTreeSet<u32> = tokens.iter().copied().collect();
        assert_eq!(ids.len(), tokens.len(), "two nodes hold one token: {cut:?}");
        for rig in &segment.rigs {
            let data = rig.machine.data().to_vec();
            assert!(
                data.len() >= 3,
                "{data:?} is only a part of the data: {cut:?}"
            );
            seen.insert(data);
        }
    }
    assert!(segment.is_one_ring(), "{cut:?}");
    assert_eq!(segment.leader_indexes().len(), 1, "{cut:?}");
    assert!(seen.len() > 50, "the ring goes on: {cut:?}");
}

#[test]
fn cut_after_each_byte_of_the_giver() {
    for how in [How::Reset, How::Silence] {
        for after in 0..=PASS_LEN {
            check_broken_pass(Cut {
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
                check_broken_pass(Cut {
                    after,
                    how,
                    of_giver: false,
                    times,
                });
            }
        }
    }
}

use super::{check_fair_rotation, tenures};
use crate::invariants::test_frames::{here, mac, take, token};

#[test]
fn an_offer_that_no_node_accepts_is_no_tenure() {
    let frames = [
        here(0, 1, token(5, 1, 1)),
        take(1, 1, 2, token(6, 1, 1)),
        take(2, 1, 3, token(8, 1, 2)),
        here(3, 3, token(8, 1, 2)),
    ];
    let holders: Vec<_> = tenures(&frames)
        .iter()
        .map(|tenure| tenure.holder)
        .collect();
    // Node 1 had two tenures: with its first chain, and with the chain that replaced it.
    assert_eq!(holders, [mac(1), mac(1), mac(3)]);
}

#[test]
fn equal_shares_pass_and_unequal_ones_are_found() {
    let frames = (0..9).map(|turn: u8| {
        let (at, from, to) = (turn.into(), turn % 3 + 1, (turn + 1) % 3 + 1);
        take(at, from, to, token(6 + at, 1, 1))
    });
    let all = tenures(&frames.collect::<Vec<_>>());
    let members = [mac(1), mac(2), mac(3)];
    check_fair_rotation(&all, &members, 3, 0).expect("each node had three tenures");
    check_fair_rotation(&all[..7], &members, 1, 0)
        .expect_err("one node had three tenures, and two nodes had two");
    check_fair_rotation(&all, &members, 4, 0).expect_err("no node had four tenures");
    check_fair_rotation(&all, &[mac(1), mac(9)], 0, 2).expect_err("node 9 had no tenure");
}

//! Whole rings (`docs/board.md`, section 12).

use super::prelude::*;

fn methods() -> [Method; 3] {
    [Method::RingBased, Method::ChangRoberts, Method::Bully]
}

fn with(method: Method) -> impl Fn(u32) -> Options {
    move |id| Options {
        election: method,
        ..Options::new(id)
    }
}

/// S, for N nodes with default options.
fn settled(nodes: u32) -> Duration {
    let options = Options::new(1);
    let silence = options.silence(nodes as usize);
    silence * 3
        + (options.connect_timeout + options.ack_timeout) * nodes
        + options.alone_timeout
        + options.poll * 3
}

#[test]
fn all_live_nodes_form_one_ring_with_one_token_and_the_largest_as_coordinator() {
    for method in methods() {
        for nodes in [1, 2, 3, 8] {
            let mut world = World::new(nodes, Base::default(), with(method));
            world.form();
            world.run(ms(20_000));
            assert!(world.is_ring() && world.is_led(), "{}", world.show());
            assert_eq!(world.tokens(), 1, "{}", world.show());
            assert_eq!(world.sum(|rig| rig.counters().removed), 0);
        }
    }
}

#[test]
fn one_crash_after_the_other_heals_within_the_bounds() {
    for method in methods() {
        let mut world = World::new(6, Base::default(), with(method));
        world.form();
        for victim in [6, 3, 1, 5, 2] {
            world.crash(victim);
            let bound = settled(6) + ms(6000);
            assert!(
                world.until(bound, |it| it.is_ring() && it.is_led()),
                "{victim} {}",
                world.show()
            );
            assert!(world.until(bound, |it| it.tokens() == 1), "{victim}");
        }
        for victim in [1, 2, 3, 5, 6] {
            world.restart(victim);
        }
        world.expect(settled(6) + ms(6000), |it| it.is_ring() && it.is_led());
    }
}

#[test]
fn streams_may_be_cut_at_any_byte() {
    let mut world = World::new(4, Base::default(), Options::new);
    world.chunk = 1;
    world.form();
    world.run(ms(10_000));
    assert!(world.is_ring() && world.is_led());
    assert_eq!(world.tokens(), 1);
}

//! Rings without faults, and with crashes (`docs/board/protocol/promises.md`, rules Q).

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

/// Returns S, the time within which a ring of `nodes` with default options recovers.
fn settling_time(nodes: u32) -> Duration {
    let options = Options::new(1);
    let silence = options.token_loss_timeout(nodes as usize);
    silence * 3
        + (options.connect_timeout + options.ack_timeout) * nodes
        + options.alone_timeout
        + options.poll * 3
}

#[test]
fn all_live_nodes_form_one_ring_with_one_token_and_the_largest_as_coordinator() {
    for method in methods() {
        for nodes in [1, 2, 3, 8] {
            let mut network = Network::new(nodes, FakeDatabase::default(), with(method));
            network.form();
            network.run(ms(20_000));
            assert!(
                network.is_ring() && network.has_final_coordinator(),
                "{}",
                network.describe()
            );
            assert_eq!(network.token_count(), 1, "{}", network.describe());
            assert_eq!(network.sum(|rig| rig.counters().removed), 0);
        }
    }
}

#[test]
fn one_crash_after_the_other_heals_within_the_bounds() {
    for method in methods() {
        let mut network = Network::new(6, FakeDatabase::default(), with(method));
        network.form();
        for victim in [6, 3, 1, 5, 2] {
            network.crash(victim);
            let bound = settling_time(6) + ms(6000);
            assert!(
                network.run_until(bound, |it| it.is_ring() && it.has_final_coordinator()),
                "{victim} {}",
                network.describe()
            );
            assert!(
                network.run_until(bound, |it| it.token_count() == 1),
                "{victim}"
            );
        }
        for victim in [1, 2, 3, 5, 6] {
            network.restart(victim);
        }
        network.expect(settling_time(6) + ms(6000), |it| {
            it.is_ring() && it.has_final_coordinator()
        });
    }
}

#[test]
fn streams_may_be_cut_at_any_byte() {
    let mut network = Network::new(4, FakeDatabase::default(), Options::new);
    network.chunk = 1;
    network.form();
    network.run(ms(10_000));
    assert!(network.is_ring() && network.has_final_coordinator());
    assert_eq!(network.token_count(), 1);
}

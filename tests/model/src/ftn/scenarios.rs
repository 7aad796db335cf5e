//! The scenarios that every test run explores, and the scenarios that a developer starts by hand.

use ring_codec::ftn::Access;

use super::scenario::{Faults, Scenario, Wishes};

const NONE: Faults = Faults::NONE;

const fn wishes(asks: u8, gives: u8) -> Wishes {
    Wishes::NONE.asks(asks).gives(gives)
}

/// The accesses of two clients. Only the second client wants shared access.
const ONE_SHARES: &[Access] = &[Access::Exclusive, Access::Shared];

/// Returns the scenarios that take some seconds with the test profile.
pub fn small() -> Vec<Scenario> {
    vec![
        Scenario::new("datagrams are lost and duplicated")
            .wishes(wishes(2, 1))
            .faults(NONE.lost(1).doubled(1))
            .with_duration(100, 64),
        Scenario {
            clients: ONE_SHARES,
            ..Scenario::new("the holder asks for the other access")
        }
        .wishes(wishes(2, 2).changes(1))
        .faults(NONE.late(1))
        .with_duration(100, 64),
        Scenario::new("the server of a held token crashes")
            .held_at(1)
            .wishes(wishes(1, 0))
            .faults(NONE.crashes(1).lost(1))
            .with_duration(1_800, 64),
        Scenario::new("a server crashes, and may be the leader")
            .held_at(0)
            .wishes(wishes(1, 1))
            .faults(NONE.crashes(1))
            .with_duration(1_600, 64),
        Scenario::new("a server crashes and soon restarts")
            .held_at(1)
            .wishes(wishes(1, 1))
            .faults(NONE.crashes(1).returns(1))
            .with_duration(200, 64),
        Scenario {
            absent: 1,
            ..Scenario::new("a client starts, and a server crashes")
        }
        .wishes(wishes(2, 0))
        .faults(NONE.crashes(1).returns(1))
        .with_duration(1_500, 64),
        Scenario {
            quorum: 2,
            ..Scenario::new("a server of a majority is stalled")
        }
        .held_at(1)
        .wishes(wishes(1, 0))
        .faults(NONE.server_stops(1))
        .with_duration(1_700, 64),
    ]
}

/// Returns the scenarios that take about an hour on two cores in release mode.
pub fn large() -> Vec<Scenario> {
    let usual = NONE.lost(1).doubled(1).crashes(1).returns(1);
    let mut all = Vec::new();
    for at in 0..2 {
        all.push(
            Scenario::new("loss, duplication, a crash and a stalled client")
                .held_at(at)
                .wishes(wishes(1, 1))
                .faults(usual.client_stops(1))
                .with_duration(150, 256),
        );
        all.push(
            Scenario {
                quorum: 2,
                ..Scenario::new("the same with a stalled server of a majority")
            }
            .held_at(at)
            .wishes(wishes(1, 1))
            .faults(usual.server_stops(1))
            .with_duration(150, 256),
        );
        all.push(
            Scenario::new("a crash until every client has the token again")
                .held_at(at)
                .wishes(wishes(1, 1).updates(1))
                .faults(NONE.crashes(1))
                .with_duration(2_500, 256),
        );
    }
    all.extend(single_fault_scenarios());
    all
}

/// Returns the large scenarios that have only one kind of fault. Large scenarios last longer than the small scenarios,
/// or have more nodes.
fn single_fault_scenarios() -> Vec<Scenario> {
    vec![
        Scenario {
            clients: ONE_SHARES,
            ..Scenario::new("the holder asks for the other access")
        }
        .wishes(wishes(2, 2).changes(2))
        .faults(NONE.late(1).lost(1))
        .with_duration(150, 256),
        Scenario::new("the holder is stalled until its session ends")
            .held_at(0)
            .wishes(wishes(1, 0))
            .faults(NONE.client_stops(1))
            .with_duration(4_400, 256),
        Scenario {
            speeds: &[942, 1_058, 1_058, 942],
            ..Scenario::new("the same with drifting clocks")
        }
        .held_at(0)
        .wishes(wishes(1, 0))
        .faults(NONE.client_stops(1))
        .with_duration(4_700, 256),
        Scenario::new("a server is shut down and soon restarts")
            .held_at(1)
            .wishes(wishes(1, 1))
            .faults(NONE.leaves(1).returns(1).lost(1))
            .with_duration(150, 256),
        Scenario::new("all servers crash and restart")
            .held_at(0)
            .wishes(wishes(1, 0))
            .faults(NONE.crashes(2).returns(2))
            .with_duration(150, 64),
        Scenario {
            servers: 3,
            quorum: 2,
            ..Scenario::new("one of three servers is stalled")
        }
        .held_at(0)
        .wishes(wishes(1, 0))
        .faults(NONE.server_stops(1))
        .with_duration(1_700, 256),
    ]
}

//! Checks of the level `full`.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{Test, tests};

use super::exchange::offer_on_wire;
use super::probe::{
    Heard, LARGE_ID, LONG_HOLD, Probe, SHORT_HOLD, SLOW_TRIES, TR_COUNT, Times, tr1,
};
use super::uniform::check_gives_up;
use crate::jitterbug::terms::Terms;

pub(super) fn tests() -> Vec<Test> {
    tests![
        the_first_restore_of_a_node_with_short_times_lasts_600_ms,
        terms_announce_the_shortest_and_the_longest_lease,
        a_leader_with_a_long_lease_uses_the_short_lease_of_its_giver,
        a_leader_answers_foreign_nodes_but_exchanges_no_token_with_them,
    ]
}

/// The times of the node permit a restore of 180 ms.
fn the_first_restore_of_a_node_with_short_times_lasts_600_ms() -> Result<()> {
    const TIMES: Times = Times {
        tr_interval: 30,
        ..SHORT_HOLD
    };
    const RESTORE_MIN: Duration = Duration::from_millis(600);
    /// Delay of the recording on a busy machine.
    const TOLERANCE: Duration = Duration::from_millis(100);
    let (probe, _) = Probe::start_leader(TIMES)?;
    let restore = probe.first_restore()?;
    let questions = restore.len() - 1;
    let lasted = restore[questions].0.at - restore[0].0.at;
    ensure!(
        lasted + TOLERANCE >= RESTORE_MIN,
        "rule T11 (terms.md): the first restore lasts only {lasted:?}"
    );
    // A node on a busy machine may be late with each TR1.
    ensure!(
        questions > 2 * TR_COUNT as usize || lasted > 2 * RESTORE_MIN,
        "rule R9 (restore.md): a longer second try has more TR1, but {questions} TR1 took {lasted:?}"
    );
    Ok(())
}

fn terms_announce_the_shortest_and_the_longest_lease() -> Result<()> {
    let (probe, _) = Probe::start_leader(LONG_HOLD)?;
    let own = LONG_HOLD.lease_us();
    let ask = |terms: Option<Terms>| -> Result<Option<[u32; 3]>> {
        probe.send(&tr1(-1, terms))?;
        let answer = probe
            .wait_for(Heard::is_answer)
            .context("rule M5 (messages.md): a leader answers each TR1")?;
        let leases = |terms: Terms| [terms.lease_us, terms.shortest_us, terms.longest_us];
        Ok(answer.terms.map(leases))
    };
    let without = ask(None)?;
    ensure!(
        without.is_none(),
        "rule M13 (messages.md): the answer to a TR1 without terms has terms: {without:?}"
    );
    // Only the leases of other nodes count, not their `shortest` and `longest`.
    for (lease, shortest, longest, expected) in [
        (300_000, 300_000, 300_000, [own, 300_000, own]),
        (400_000, 50_000, 3_000_000, [own, 400_000, own]),
        (2_000_000, 500_000, 2_000_000, [own, own, 2_000_000]),
    ] {
        let terms = Terms {
            lease_us: lease,
            shortest_us: shortest,
            longest_us: longest,
            ..LONG_HOLD.terms()
        };
        let found = ask(Some(terms))?;
        ensure!(
            found == Some(expected),
            "rules T3, T6, T7, T9, M4 (terms.md, messages.md): lease, shortest, longest are {found:?} instead of \
             {expected:?} after {terms:?}"
        );
    }
    Ok(())
}

/// The node's basic lease is 2.5 s, and the giver's lease is 300 ms.
fn a_leader_with_a_long_lease_uses_the_short_lease_of_its_giver() -> Result<()> {
    const TIMES: Times = Times {
        tr_interval: SLOW_TRIES.tr_interval,
        ..LONG_HOLD
    };
    const STALL: Duration = Duration::from_millis(1_200);
    let mut probe = Probe::start_waiter(TIMES)?;
    let terms = Terms {
        shortest_us: 300_000,
        ..TIMES.terms()
    };
    let list = [probe.own_entry()];
    probe
        .connect()?
        .pass(terms, LARGE_ID, &list, b"5")
        .context("rule C10 (passing.md): a waiter takes a token")?;
    probe.stall(STALL)?;
    check_gives_up(&probe, LARGE_ID).context(
        "rules T8, S1 (terms.md, leader.md): a stall of 1.2 s exceeds the giver's lease of 300 ms",
    )
}

fn a_leader_answers_foreign_nodes_but_exchanges_no_token_with_them() -> Result<()> {
    let terms = SHORT_HOLD.terms();
    let foreign = [
        (
            "another policy",
            Terms {
                policy: terms.policy ^ 1,
                ..terms
            },
        ),
        (
            "a lease below 50 ms",
            Terms {
                shortest_us: 49_999,
                ..terms
            },
        ),
        (
            "a lease above 10 s",
            Terms {
                longest_us: 10_000_001,
                ..terms
            },
        ),
    ];
    let (probe, id) = Probe::start_leader(SHORT_HOLD)?;
    let list = [probe.own_entry(), probe.node_entry()];
    for (difference, terms) in foreign {
        probe.send(&tr1(-1, Some(terms)))?;
        let answer = probe
            .wait_for(Heard::is_answer)
            .context("rule F4 (terms.md): a leader answers each TR1 of a foreign node")?;
        ensure!(
            answer.id == id,
            "rule F4 (terms.md): {answer:?} instead of {id}"
        );
        let mut giver = probe.connect()?;
        giver.send(&offer_on_wire(terms, LARGE_ID, &list))?;
        giver.expect_reset().with_context(|| {
            format!(
                "rules F2, F6 (terms.md): a node resets the exchange of a node with {difference}"
            )
        })?;
        ensure!(
            !probe.has_connection(),
            "rules F2, F6, K2 (terms.md, leader.md): a leader connects to a node with {difference}"
        );
    }
    probe.ask()?;
    let candidate = probe
        .accept()
        .context("rule F8 (terms.md): a node with acceptable terms is no longer foreign")?;
    ensure!(
        candidate.id == id,
        "rule F3 (terms.md): the node offers {} instead of {id}",
        candidate.id
    );
    candidate.take().map(drop)
}

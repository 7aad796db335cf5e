//! Section 1, options.

use std::time::Duration;

use super::rig::ms;
use crate::jitterbug::{Jitterbug, Options, OptionsError};

fn refused(change: impl FnOnce(&mut Options)) -> Option<OptionsError> {
    let mut options = Options::default();
    change(&mut options);
    Jitterbug::new(options, 1).err()
}

#[test]
fn the_defaults_are_those_of_the_page() {
    let options = Options::default();
    assert_eq!(options.check(), Ok(()));
    assert_eq!((options.udp_port, options.tr_count), (57_700, 3));
    assert_eq!((options.tr_interval, options.hold), (ms(100), ms(100)));
    assert_eq!(options.renew_timeout, ms(2000));
    assert_eq!(options.token_pass_timeout, ms(500));
    assert_eq!(options.compute_timeout, ms(10_000));
    assert_eq!((options.max_nodes, options.max_data), (65_536, 1 << 20));
    assert_eq!((options.restore(), options.stall()), (ms(600), ms(500)));
}

#[test]
fn options_that_cannot_work_are_refused() {
    let zero = Duration::ZERO;
    let periods = [
        refused(|it| it.tr_interval = zero),
        refused(|it| it.renew_timeout = zero),
        refused(|it| it.token_pass_timeout = zero),
        refused(|it| it.compute_timeout = zero),
    ];
    assert!(
        periods
            .iter()
            .all(|it| matches!(it, Some(OptionsError::Zero(_))))
    );
    let short = Duration::from_micros(999);
    assert_eq!(
        refused(|it| it.tr_interval = short),
        Some(OptionsError::Interval(short))
    );
    assert_eq!(refused(|it| it.udp_port = 0), Some(OptionsError::Port));
    for count in [0, 101] {
        assert_eq!(
            refused(|it| it.tr_count = count),
            Some(OptionsError::Count(count))
        );
    }
    for most in [0, 65_537] {
        assert_eq!(
            refused(|it| it.max_nodes = most),
            Some(OptionsError::Nodes(most))
        );
    }
    assert_eq!(refused(|it| it.hold = zero), None);
    assert_eq!(refused(|it| it.max_data = 0), None);
}

#[test]
fn the_longest_durations_are_borne() {
    let long = Options {
        tr_interval: Duration::MAX,
        renew_timeout: Duration::MAX,
        token_pass_timeout: Duration::MAX,
        hold: Duration::MAX,
        compute_timeout: Duration::MAX,
        ..Options::default()
    };
    let mut rig = super::rig::Rig::new(long);
    rig.hear_tr1(2, 5);
    rig.given(2, 9, &[super::rig::node(2)], b"1");
    rig.command(crate::jitterbug::Command::Yield);
    rig.command(crate::jitterbug::Command::ShutDown);
    rig.run(ms(1000));
}

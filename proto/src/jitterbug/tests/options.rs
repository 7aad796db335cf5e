//! Options (`docs/jitterbug/protocol/addresses.md` O1 to O6).

use super::prelude::*;

fn refusal_of(change: impl FnOnce(&mut Options)) -> Option<OptionsError> {
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
    assert_eq!(
        (options.restore_duration(), options.own_lease()),
        (ms(600), ms(500))
    );
}

#[test]
fn options_that_cannot_work_are_refused() {
    let zero = Duration::ZERO;
    assert_eq!(
        refusal_of(|it| it.compute_timeout = zero),
        Some(OptionsError::Zero("--compute-timeout"))
    );
    assert_eq!(refusal_of(|it| it.udp_port = 0), Some(OptionsError::Port));
    for count in [0, 101] {
        assert_eq!(
            refusal_of(|it| it.tr_count = count),
            Some(OptionsError::Count(count))
        );
    }
    for most in [0, 65_537] {
        assert_eq!(
            refusal_of(|it| it.max_nodes = most),
            Some(OptionsError::Nodes(most))
        );
    }
    assert_eq!(refusal_of(|it| it.hold = zero), None);
    assert_eq!(refusal_of(|it| it.max_data = 0), None);
}

/// Checks minimum times. With a shorter limit for a pass, a node never takes or passes a token. With a shorter
/// `renew_timeout`, a node would continuously ask which node leads.
#[test]
fn a_time_that_would_stop_the_ring_is_refused_with_the_least_one() {
    const fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }
    let error_text = |change: fn(&mut Options)| refusal_of(change).map(|it| it.to_string());
    let least = [
        error_text(|it| it.tr_interval = us(999)),
        error_text(|it| it.renew_timeout = us(99_999)),
        error_text(|it| it.token_pass_timeout = us(9_999)),
    ];
    let expected = [
        "--tr-interval 999µs is less than 1ms",
        "--renew-timeout 99.999ms is less than 100ms",
        "--token-pass-timeout 9.999ms is less than 10ms",
    ];
    assert_eq!(least, expected.map(|it| Some(it.to_owned())));
    let fine = |it: &mut Options| {
        it.renew_timeout = us(100_000);
        it.token_pass_timeout = us(10_000);
    };
    assert_eq!(refusal_of(fine), None);
}

/// Checks the minimum lease. All nodes use the shortest lease in the ring. If the shortest lease were 1 ms, every
/// leader would soon stop leading.
#[test]
fn a_lease_that_would_stop_the_ring_is_refused_with_the_interval_that_works() {
    let error_text = |interval, count| {
        let refused = refusal_of(|it| (it.tr_interval, it.tr_count) = (interval, count));
        refused.map(|it| it.to_string())
    };
    let text = |it: &str| Some(it.to_owned());
    assert_eq!(
        error_text(ms(1), 1),
        text(
            "--tr-interval 1ms with --tr-count 1 makes a lease shorter than 50ms: use --tr-interval 50ms or more"
        )
    );
    assert_eq!(
        error_text(ms(16), 2),
        text(
            "--tr-interval 16ms with --tr-count 2 makes a lease shorter than 50ms: use --tr-interval 17ms or more"
        )
    );
    assert_eq!(
        error_text(ms(60_000), 3),
        text(
            "--tr-interval 60s with --tr-count 3 makes a lease longer than 10s: use --tr-interval 2s or less"
        )
    );
    assert!(error_text(Duration::MAX, 100).is_some());
    for (interval, count) in [(50, 1), (17, 2), (10, 3), (1, 100), (10_000, 1), (2_000, 3)] {
        assert_eq!(error_text(ms(interval), count), None, "{interval} {count}");
    }
}

#[test]
fn the_longest_durations_are_borne() {
    let long = Options {
        tr_interval: ms(2_000),
        renew_timeout: Duration::MAX,
        token_pass_timeout: Duration::MAX,
        hold: Duration::MAX,
        compute_timeout: Duration::MAX,
        ..Options::default()
    };
    let mut rig = Rig::new(long);
    rig.receive_tr1(2, 5);
    rig.receive_token(2, 9, &[node(2)], b"1");
    rig.command(Command::Yield);
    rig.command(Command::ShutDown);
    rig.run(ms(1000));
}

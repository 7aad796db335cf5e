//! Schedules that once showed a fault in the machine, the page or the world, each a test of its own. To add one: put the
//! file that `ringd sim --system andrews` has written into `schedules/` and its name here.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ringd::sim::andrews::{Schedule, replay};

/// Declares a test for each file.
macro_rules! schedules {
    ($($name:ident,)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];

        $(
            #[test]
            fn $name() {
                holds(include_str!(concat!("schedules/", stringify!($name), ".json")));
            }
        )*
    };
}

schedules! {
    a_crowd_of_strangers_keeps_no_predecessor_out,
    a_token_that_its_next_holder_has_used_is_not_lost,
    crowds_that_come_one_after_the_other_keep_no_predecessor_out,
    one_of_two_tokens_that_follow_one_another_goes_no_further,
}

fn holds(text: &str) {
    let schedule: Schedule = serde_json::from_str(text).expect("a schedule");
    schedule.check().expect("a sound one");
    let outcome = replay(&schedule);
    assert_eq!(outcome.violations, [], "{}", schedule.about);
}

#[test]
fn every_schedule_that_is_kept_is_run() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sim/andrews/schedules");
    let files = fs::read_dir(directory).expect("the schedules are there");
    let kept: BTreeSet<String> = files
        .map(|file| {
            let name = file.expect("it can be listed").file_name();
            let name = name.to_string_lossy().into_owned();
            name.trim_end_matches(".json").to_owned()
        })
        .collect();
    let run: BTreeSet<String> = NAMES.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(kept, run);
}

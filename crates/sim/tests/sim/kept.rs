//! Tests of kept schedules: each file is a test, and each file in the directory is run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Declares a test for each file in the directory `schedules/` next to the caller. The test calls the caller's
/// `replay`.
macro_rules! schedules {
    ($schedule:ty; $($name:ident,)*) => {
        fn holds(text: &str) {
            let schedule: $schedule = serde_json::from_str(text).expect("a schedule");
            schedule.check().expect("a valid schedule");
            let outcome = replay(&schedule);
            assert_eq!(outcome.violations, [], "{}", schedule.about);
        }

        $(
            #[test]
            fn $name() {
                holds(include_str!(concat!("schedules/", stringify!($name), ".json")));
            }
        )*

        #[test]
        fn every_kept_schedule_is_run() {
            crate::kept::all_are_run(file!(), &[$(stringify!($name)),*]);
        }
    };
}
pub(crate) use schedules;

/// Checks that a test runs each file in the directory `schedules/` next to a source file, by comparing their names with
/// `names`. The path of the source file begins at the workspace.
pub(crate) fn all_are_run(source: &str, names: &[&str]) {
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(source);
    let files =
        fs::read_dir(source.with_file_name("schedules")).expect("the directory of schedules");
    let kept: BTreeSet<String> = files
        .map(|file| {
            let name = file.expect("a directory entry").file_name();
            let name = name.to_string_lossy().into_owned();
            name.trim_end_matches(".json").to_owned()
        })
        .collect();
    let run: BTreeSet<String> = names.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(kept, run);
}

//! Tests of the `ringctl` program with real processes, signals and terminals, and with a fake daemon that each test
//! controls (`docs/reference/control.md`).

/// Defines the function `tests()`, which lists the tests of a module for `main`. With `exclusive` before its name, a
/// test does not run in parallel with other tests, as in `ring_segment::tests!`.
macro_rules! tests {
    (@one exclusive $test:ident) => {
        crate::Test {
            path: concat!(module_path!(), "::exclusive::", stringify!($test)),
            run: $test,
            is_exclusive: true,
        }
    };
    (@one $test:ident) => {
        crate::Test {
            path: concat!(module_path!(), "::", stringify!($test)),
            run: $test,
            is_exclusive: false,
        }
    };
    ($($($word:ident)+),* $(,)?) => {
        pub(crate) fn tests() -> Vec<crate::Test> {
            vec![$(tests!(@one $($word)+)),*]
        }
    };
}

mod examining;
mod fake;
mod guarding;
mod leases;
mod leaving;
mod locking;
mod loss;
mod metrics;
mod namespaces;
mod program;
mod requests;
mod running;
mod signals;
mod silence;
mod snapshots;
mod stranger;
mod sudo;
mod terminal;
mod top;

use std::process::ExitCode;
use std::thread;

use libtest_mimic::{Arguments, Trial};
use ring_segment::Turn;

/// Number of parallel tests per processor. Nearly all tests only wait.
const TESTS_PER_CPU: usize = 8;

/// A test. The path of a test begins with the name of this test program.
#[derive(Clone, Copy)]
struct Test {
    path: &'static str,
    run: fn(),
    is_exclusive: bool,
}

impl Test {
    /// Creates a trial that waits for its turn. At most `parallel_max` trials run at the same time.
    fn trial(self, parallel_max: usize) -> Trial {
        let name = self.path.split_once("::").map_or("", |(_, name)| name);
        Trial::test(name, move || {
            let _turn = if self.is_exclusive {
                Turn::alone()
            } else {
                Turn::with_others(parallel_max)
            };
            (self.run)();
            Ok(())
        })
    }
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    let parallel_max = *arguments.test_threads.get_or_insert_with(|| {
        thread::available_parallelism().map_or(1, usize::from) * TESTS_PER_CPU
    });
    let parts = [
        examining::tests(),
        guarding::tests(),
        leases::tests(),
        leaving::tests(),
        locking::tests(),
        loss::tests(),
        metrics::tests(),
        namespaces::tests(),
        requests::tests(),
        running::tests(),
        signals::tests(),
        silence::tests(),
        snapshots::tests(),
        stranger::tests(),
        sudo::tests(),
        terminal::tests(),
        top::tests(),
    ];
    let mut tests: Vec<Test> = parts.into_iter().flatten().collect();
    tests.sort_by_key(|test| test.is_exclusive);
    let trials = tests
        .into_iter()
        .map(|test| test.trial(parallel_max))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

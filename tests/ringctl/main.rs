//! `ringctl` as its users see it: real processes, signals and terminals, and a daemon that does
//! what the test says (`docs/control.md`).

/// Lists the tests of a module: `tests()`, for `main`.
macro_rules! tests {
    ($($test:ident),* $(,)?) => {
        pub fn tests() -> Vec<libtest_mimic::Trial> {
            let test = |name: &'static str, run: fn()| {
                let path = module_path!().split_once("::").map_or("", |(_, path)| path);
                libtest_mimic::Trial::test(format!("{path}::{name}"), move || {
                    run();
                    Ok(())
                })
            };
            vec![$(test(stringify!($test), $test)),*]
        }
    };
}

mod fake;
mod guarding;
mod leaving;
mod locking;
mod loss;
mod program;
mod requests;
mod running;
mod signals;
mod silence;
mod stranger;
mod sudo;
mod terminal;

use std::process::ExitCode;
use std::thread;

use libtest_mimic::Arguments;

/// Tests for each processor side by side: nearly all that they do is to wait.
const TESTS_PER_CPU: usize = 4;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert_with(|| {
        thread::available_parallelism().map_or(1, usize::from) * TESTS_PER_CPU
    });
    let parts = [
        guarding::tests(),
        leaving::tests(),
        locking::tests(),
        loss::tests(),
        requests::tests(),
        running::tests(),
        signals::tests(),
        silence::tests(),
        stranger::tests(),
        sudo::tests(),
        terminal::tests(),
    ];
    let tests = parts.into_iter().flatten().collect();
    libtest_mimic::run(&arguments, tests).exit_code()
}

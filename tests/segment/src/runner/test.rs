//! A test and its properties for the runner.

use anyhow::Result;

/// A test for [`main`](crate::main). The macro [`tests!`](crate::tests) makes such a test.
#[derive(Debug, Clone, Copy)]
pub struct Test {
    path: &'static str,
    run: fn() -> Result<()>,
    exclusive: bool,
    may_stall: bool,
}

impl Test {
    /// Makes a test from its path. The path begins with the name of the test program.
    pub const fn new(path: &'static str, run: fn() -> Result<()>) -> Self {
        Self {
            path,
            run,
            exclusive: false,
            may_stall: true,
        }
    }

    /// Marks a test that judges an upper bound of time. No other test runs at the same time.
    pub const fn exclusive(self) -> Self {
        Self {
            exclusive: true,
            ..self
        }
    }

    /// Marks a test whose daemons the runner must not stall. A test with this mark stops its daemons itself, or has no
    /// daemons.
    pub const fn without_stalls(self) -> Self {
        Self {
            may_stall: false,
            ..self
        }
    }

    pub(crate) fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// Whether the runner may stall the test's daemons. In an exclusive test a stall would falsify the measured times.
    pub(crate) fn may_stall(&self) -> bool {
        self.may_stall && !self.exclusive
    }

    /// Returns the test's path without the name of the test program.
    pub(crate) fn name(&self) -> &'static str {
        self.path
            .split_once("::")
            .map_or(self.path, |(_, name)| name)
    }

    pub(crate) fn run(&self) -> Result<()> {
        (self.run)()
    }
}

/// Lists test functions (`fn() -> anyhow::Result<()>`) for [`main`](crate::main), named by the path of the listing
/// module. `exclusive` before a name marks a test that judges an upper bound of time. The word becomes a part of the
/// test's path. So other runners also recognize an exclusive test (`.config/nextest.toml`).
#[macro_export]
macro_rules! tests {
    (@one exclusive $test:ident) => {
        $crate::Test::new(concat!(module_path!(), "::exclusive::", stringify!($test)), $test).exclusive()
    };
    (@one $test:ident) => {
        $crate::Test::new(concat!(module_path!(), "::", stringify!($test)), $test)
    };
    ($($($word:ident)+),* $(,)?) => {
        vec![$($crate::tests!(@one $($word)+)),*]
    };
}

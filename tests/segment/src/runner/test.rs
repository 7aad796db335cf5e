//! One test, and what the runner has to know of it.

use anyhow::Result;

/// A test for [`main`](crate::main); the macro [`tests!`](crate::tests) makes these.
#[derive(Debug, Clone, Copy)]
pub struct Test {
    path: &'static str,
    run: fn() -> Result<()>,
    exclusive: bool,
    may_stall: bool,
}

impl Test {
    /// A test by its path, which begins with the name of the test program.
    pub const fn new(path: &'static str, run: fn() -> Result<()>) -> Self {
        Self {
            path,
            run,
            exclusive: false,
            may_stall: true,
        }
    }

    /// It judges an upper bound of time: nothing runs beside it.
    pub const fn exclusive(self) -> Self {
        Self {
            exclusive: true,
            ..self
        }
    }

    /// Nobody is to stop its daemons: it does so itself and judges them by that, or it has none.
    pub const fn without_stalls(self) -> Self {
        Self {
            may_stall: false,
            ..self
        }
    }

    pub(crate) fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// Whether its daemons may be made to stand still: that would spoil what an exclusive test measures.
    pub(crate) fn may_stall(&self) -> bool {
        self.may_stall && !self.exclusive
    }

    /// Its path below the test program.
    pub(crate) fn name(&self) -> &'static str {
        self.path
            .split_once("::")
            .map_or(self.path, |(_, name)| name)
    }

    pub(crate) fn run(&self) -> Result<()> {
        (self.run)()
    }
}

/// Lists test functions (`fn() -> anyhow::Result<()>`) for [`main`](crate::main) under the paths of
/// the module that lists them. `exclusive` before a name keeps everything else from running beside
/// it: for tests that judge an upper bound of time. It is part of their path, by which other runners
/// know them (`.config/nextest.toml`).
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

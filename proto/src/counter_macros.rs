//! Macros that define a machine's drop reasons and its counters from a table. Each row of the table defines one reason
//! or counter. A reason without a text does not compile.

/// Defines an enum of reasons. Each variant has the name of a counter and a text.
macro_rules! reasons {
    ($(#[$about:meta])* pub enum $name:ident; $($(#[$meta:meta])* $variant:ident $key:literal $text:literal,)*) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$meta])* $variant,)*
        }

        impl $name {
            /// Every reason, in the order of the numbers.
            pub const ALL: [Self; [$($key),*].len()] = [$(Self::$variant),*];

            /// Returns the name of the reason's counter in `dropped`.
            pub const fn key(self) -> &'static str {
                match self {
                    $(Self::$variant => $key,)*
                }
            }

            /// Returns a text for people that describes the reason.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

/// Defines a struct of counters. It has arrays with one counter per kind, and single counters with names.
macro_rules! counters {
    (
        $(#[$about:meta])* pub struct $name:ident;
        arrays { $($array:ident: $len:expr,)* }
        $($(#[$meta:meta])* $counter:ident,)*
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            $($array: [u64; $len],)*
            $($(#[$meta])* pub $counter: u64,)*
        }

        impl $name {
            pub(super) const fn new() -> Self {
                Self {
                    $($array: [0; $len],)*
                    $($counter: 0,)*
                }
            }

            /// Returns the name and value of each counter that is not part of an array, in the order of the table.
            pub fn plain(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($counter), self.$counter)),*].into_iter()
            }
        }
    };
}

pub(crate) use {counters, reasons};

//! Macros that make a machine's drop reasons and counters from a table with one row per entry. A reason without a text
//! does not compile.

/// Defines an enum with a counter name and a text for each variant.
macro_rules! reasons {
    ($(#[$about:meta])* pub enum $name:ident; $($(#[$meta:meta])* $variant:ident $key:literal $text:literal,)*) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$meta])* $variant,)*
        }

        impl $name {
            /// All reasons, in the order of their numbers.
            pub const ALL: [Self; [$($key),*].len()] = [$(Self::$variant),*];

            /// Returns the name in `dropped`.
            pub const fn key(self) -> &'static str {
                match self {
                    $(Self::$variant => $key,)*
                }
            }

            /// Returns a text that tells people what happened.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

/// Defines the struct of counters, with its arrays of counters by kind, and the names of the other counters.
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

            /// Returns the name and value of each counter that is not in an array, in order.
            pub fn plain(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($counter), self.$counter)),*].into_iter()
            }
        }
    };
}

pub(crate) use {counters, reasons};

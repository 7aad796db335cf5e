//! Why something was dropped and what is counted: tables, one row an entry, of which a machine's enum of reasons and its
//! counters are made. A reason without a text does not compile.

/// Makes an enum with a name for counters and a text for each variant.
macro_rules! reasons {
    ($(#[$about:meta])* pub enum $name:ident; $($(#[$meta:meta])* $variant:ident $key:literal $text:literal,)*) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$meta])* $variant,)*
        }

        impl $name {
            /// Every reason, in the order of their numbers.
            pub const ALL: [Self; [$($key),*].len()] = [$(Self::$variant),*];

            /// The name in `dropped`.
            pub const fn key(self) -> &'static str {
                match self {
                    $(Self::$variant => $key,)*
                }
            }

            /// What happened, for people.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

/// Makes the struct of counters, with arrays of its own kinds, and the list of the plain ones' names.
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

            /// All but what is counted by kind, by name, in order.
            pub fn plain(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($counter), self.$counter)),*].into_iter()
            }
        }
    };
}

pub(crate) use {counters, reasons};

//! Counts of events in one run.

/// Declares a struct of counts, in which each count has a text that describes it in a title.
macro_rules! counts {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $field:ident $words:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name {
            $($(#[$doc])* pub $field: u8,)*
        }

        impl $name {
            /// Counts that are all zero.
            pub const NONE: Self = Self { $($field: 0,)* };

            $(
                #[doc = concat!("Returns these counts with a different `", stringify!($field), "`.")]
                #[must_use]
                pub const fn $field(self, $field: u8) -> Self {
                    Self { $field, ..self }
                }
            )*
        }

        /// Formats counts as in `, 1 lost, 2 doubled`.
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                for (count, words) in [$((self.$field, $words)),*] {
                    if count > 0 {
                        write!(f, ", {count} {words}")?;
                    }
                }
                Ok(())
            }
        }
    };
}
pub(crate) use counts;

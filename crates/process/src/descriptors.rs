//! How many descriptors the process may have.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit to `wanted` descriptors, as far as the process may; the limit in force since. A
/// higher one stays.
pub fn raise_limit(wanted: u64) -> u64 {
    // No limit is given as none.
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let (now, most) = (current.unwrap_or(u64::MAX), maximum.unwrap_or(u64::MAX));
    let next = wanted.min(most);
    if next <= now {
        return now;
    }
    let raised: io::Result<()> = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(next),
            maximum,
        },
    )
    .map_err(Into::into);
    // A sandbox may forbid even what the limits allow.
    raised.map_or(now, |()| next)
}

#[cfg(test)]
mod tests {
    use super::raise_limit;

    #[test]
    fn it_is_never_lowered() {
        let before = raise_limit(0);
        assert!(before > 0);
        assert_eq!(raise_limit(before - 1), before);
    }
}

//! The limit of open descriptors.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit to `wanted` descriptors, as far as the process has permission. Never lowers the limit. Returns the
/// limit after the call.
pub fn raise_limit(wanted: u64) -> u64 {
    // If a limit is absent, the number is not limited.
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
    // A sandbox may forbid the call, even if the hard limit permits the value.
    raised.map_or(now, |()| next)
}

#[cfg(test)]
mod tests {
    use super::raise_limit;

    #[test]
    fn the_limit_is_never_lowered() {
        let before = raise_limit(0);
        assert!(before > 0);
        assert_eq!(raise_limit(before - 1), before);
    }
}

//! The log's line of work that was ended because the token was lost.

use tracing::{info, warn};

use super::Client;

/// Logs whose work was ended, and why: by the reason's name and in words. `is_wrong`: nobody has asked for it.
/// `peer`: `None` if the client is gone.
pub(crate) fn say_lost(
    peer: Option<Client>,
    label: &str,
    (reason, text): (&str, &str),
    is_wrong: bool,
) {
    let (pid, uid) = peer.map_or((None, None), |peer| (peer.pid, peer.uid));
    let who = peer.map_or_else(
        || "a client that is gone".to_owned(),
        |peer| peer.to_string(),
    );
    macro_rules! line {
        ($level:ident) => {
            $level!(
                event = "lock_lost",
                label,
                pid,
                uid,
                reason,
                "{label:?} ({who}) has lost the token: {text}"
            )
        };
    }
    if is_wrong {
        line!(warn);
    } else {
        line!(info);
    }
}

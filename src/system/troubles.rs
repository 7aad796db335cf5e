//! The troubles of the parts that several systems of `ringd` share.

use ring_control::troubles;

troubles! {
    pub(crate) TROUBLES:
    STATE_CORRUPT "state_corrupt" Degraded "starts without"
        "the state file was empty or damaged at the start";
    STATE_REMOVED "state_removed" Degraded "was removed or replaced"
        "the state file is not in its place, and the daemon cannot create it again";
}

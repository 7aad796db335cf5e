//! The troubles that a node of any system can have.

use ring_control::troubles;

troubles! {
    pub TROUBLES:
    CLOCK_RATE "clock_rate" Degraded "this machine's clock runs"
        "the clock of this machine runs more than 1 % too fast or too slow";
    MESSAGES_REFUSED "messages_refused" Degraded "drops messages without a valid signature"
        "messages with a missing, wrong or repeated signature arrived in the last minute";
}

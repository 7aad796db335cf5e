//! Every flaw of Jitterbug's machine, and of what it needs of TCP, is found out by its simulator.

use std::time::Duration;

found_by_seeds! {
    jitterbug, simulate_jitterbug, Duration::from_secs(10);
    both_give_way "partition" 54, Chain;
    both_wait "forge" 185, Merged;
    ids_do_not_grow "all" 1, Replaced;
    linger_left_on "crash" 2, Chain;
    list_replaced "all" 0, Lists;
    no_announcements "all" 6, Settled;
    no_stall "pause" 0, Stall;
    received_data_continues "all" 0, Data;
    silent_while_giving "all" 37, OneLeader;
    skipped_though_heard "all" 0, Leads;
    unknown_is_failed "all" 0, Chain;
    used_while_given "all" 0, OneLeader;
}

//! The simulator detects every flaw of Jitterbug's state machine, and every flaw in its assumptions about TCP.

use std::time::Duration;

found_by_seeds! {
    jitterbug, simulate_jitterbug, Duration::from_secs(10);
    answers_twice "all" 0, Answers;
    both_give_way "partition" 54, Chain;
    ids_do_not_grow "all" 1, Replaced;
    impossible_lease_is_followed "stranger" 0, Terms;
    larger_id_is_stronger "partition,work" 0, Company;
    lease_of_its_own "times,pause,work" 8, Lease;
    linger_left_on "crash" 2, Chain;
    list_replaced "all" 0, Lists;
    list_without_end "all" 3, Memory;
    no_announcements "all" 4, Merged;
    no_stall "pause" 0, Stall;
    own_list_first "all" 2, EqualLists;
    received_data_continues "all" 0, Data;
    reset_ends_a_token "reset,crash,stall,dribble" 56, Torn;
    silent_while_giving "all" 37, OneLeader;
    skipped_though_heard "all" 0, Leads;
    terms_count_for_ever "stranger" 0, Terms;
    tr2_answered "all" 4, Storm;
    unknown_is_failed "all" 0, Chain;
    used_while_given "all" 0, OneLeader;
}

//! Schedules that once showed an error in the state machine, the document or the simulator, each as a test. To add a
//! schedule, move the file that `ring-sim --system jitterbug` wrote into `schedules/`. Then add the name of the
//! schedule to this file.

use ring_sim::jitterbug::{Schedule, replay};

use crate::kept::schedules;

schedules! {
    Schedule;
    a_full_list_has_no_room_for_a_new_address,
    a_giver_dies_while_its_token_is_on_its_way,
    a_giver_loses_its_link_and_the_token_arrives_late,
    a_giver_moves_before_it_hears_that_its_pass_is_done,
    a_leader_that_did_not_object_to_a_restore_is_no_rival,
    a_leader_that_leaves_has_no_time_left_for_its_pass,
    a_leader_that_leaves_was_given_data_behind_its_own,
    a_leader_that_restarts_hears_of_a_shorter_lease,
    a_node_that_one_has_heard_is_forgotten_by_the_others,
    a_pause_within_a_slow_turn_is_no_stall,
    a_stranger_says_that_it_has_the_token_of_a_lone_node,
    a_token_that_is_lost_at_the_end_of_a_cut_takes_a_weaker_one_along,
    ids_that_began_again_at_the_bottom_cost_more_restores,
    two_tokens_of_one_forged_id_do_not_meet,
    two_tokens_of_one_forged_id_have_lists_of_two_orders,
    what_a_stranger_said_in_a_silent_nodes_name_counts_for_a_time,
    what_a_stranger_said_of_a_lease_lived_on,
    a_broadcast_is_repeated_from_a_wrong_address,
    a_node_is_skipped_for_a_while_after_an_attack,
}

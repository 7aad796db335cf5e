//! Schedules that once showed an error in the state machine or in the simulator, each as a test. To add a schedule,
//! move the file that `ring-sim` wrote into `schedules/`. Then add the name of the schedule to this file.

use ring_proto::lab2::Lab2;
use ring_sim::lab2::{self, Outcome, Schedule};

use crate::kept::schedules;

fn replay(schedule: &Schedule) -> Outcome {
    lab2::replay::<Lab2>(schedule, None)
}

schedules! {
    Schedule;
    a_flipped_bit_that_strengthens_a_chain_costs_one_more_election,
    a_clock_counts_for_who_knows_of_no_clock_yet,
    a_member_that_is_forgotten_as_tables_are_compared_breaks_nothing,
    an_election_of_a_deaf_node_that_cannot_send_counts_for_the_clocks,
    an_election_whose_winner_cannot_send_counts_for_the_clocks,
    who_has_too_small_an_mtu_to_say_so_says_it_again_after_a_cut,
    who_says_where_the_token_is_while_it_offers_it_still_wants_it,
    who_says_with_a_heartbeat_where_the_token_is_still_wants_it,
    an_owner_is_not_kept_busy_by_two_of_one_address_one_of_them_held_off,
    a_giver_asks_for_the_token_while_it_waits_for_an_answer,
    a_member_without_an_ip_is_believed_though_a_table_has_lied,
    a_node_that_forgot_takes_old_offers_and_mints_from_them_again,
    a_node_that_was_leaving_when_the_faults_ended_is_started_again,
    a_node_without_its_state_file_mints_a_chain_of_an_old_name,
    a_run_whose_stamp_gives_way_after_a_cut_still_counts,
    a_shared_address_costs_one_more_election,
    a_strong_token_of_flipped_bits_is_ahead_of_the_clock_of_one_that_forgets,
    a_twin_forgets_under_its_own_name_too,
    a_twin_parts_while_its_process_stands_still,
    a_token_that_was_taken_in_too_long_a_turn_is_nobodys_to_rely_on,
    who_is_passed_over_while_others_mint_waits_for_no_more_tenures,
    two_owners_beside_a_station_that_takes_no_token_need_one_more_round,
    tables_become_equal_when_cards_that_are_gone_count_as_silent,
    an_acknowledgement_does_not_unsay_what_was_asked_for_since,
    an_offer_whose_bits_flipped_makes_two_tenures_of_a_chain,
    an_owner_that_passes_all_over_goes_on_saying_so,
    an_owner_that_passes_speaks_as_often_as_the_shortest_patience_asks,
    an_owner_that_lost_a_confirmed_token_frees_nobody_with_its_next_one,
    an_owner_that_has_let_go_in_a_slow_turn_may_be_outdone_in_it,
    an_owner_that_cannot_store_what_it_outbids_with_owns_nothing,
    a_member_that_one_node_alone_has_heard_is_forgotten_by_all,
    a_node_that_was_deaf_forgets_nobody,
    who_was_forgotten_on_one_side_of_a_cut_comes_back,
    an_ip_that_its_station_never_settles_is_settled_by_the_others,
    two_owners_that_never_wait_compare_their_tables,
    two_owners_with_doubled_frames_do_not_answer_each_other_for_ever,
    two_owners_with_slow_frames_do_not_answer_each_other_for_ever,
    two_tokens_that_cross_in_a_ring_of_two_become_one,
    two_tokens_that_go_round_equally_fast_meet,
    what_is_asked_for_after_an_offer_is_not_forgotten_when_it_ends,
    who_has_let_go_is_not_served_before_it_may_own_again,
    a_ring_whose_members_have_all_let_go_has_an_owner_again,
    a_quorum_is_void_for_a_chain_whose_name_comes_back,
    a_token_that_its_next_member_takes_for_its_past_is_lost_within_a_round,
    who_leaves_says_so_when_a_frame_has_had_its_answers,
    new_options_may_be_unheard_of_beside_a_tiny_mtu,
    a_token_that_outbids_another_is_handed_over_in_the_same_turn,
    a_node_that_has_its_old_address_again_does_not_tell_of_itself,
    who_takes_the_address_of_a_member_that_is_apart_tells_of_none,
    a_hand_over_within_one_slow_turn_ends_what_was_told,
    a_member_whose_predecessor_hears_no_broadcast_is_passed_over_once,
    who_was_just_started_is_asked_for_a_quorum_later,
    an_owner_that_is_unsure_gives_way_though_members_confirm_it,
    a_token_that_is_worked_under_gets_to_its_double_after_the_work,
    a_quorum_is_void_for_a_name_that_its_author_may_use_again,
    a_member_that_leaves_takes_its_word_of_the_ring_along,
}

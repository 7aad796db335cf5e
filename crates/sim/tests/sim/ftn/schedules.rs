//! Schedules that once showed an error in the state machines, each as a test. To add a schedule, move the file that
//! `ring-sim --system ftn` wrote into `schedules/`. Then add the name of the schedule to this file.

use ring_sim::ftn::{Schedule, replay};

use crate::kept::schedules;

schedules! {
    Schedule;
    a_grace_outlives_its_leader,
    a_leader_follows_a_state_of_before_a_lost_state_file,
    a_leader_that_has_lost_its_state_file_outnumbers_what_a_server_knows,
    a_leader_that_never_met_one_that_died_has_lower_numbers,
    a_leader_that_nobody_follows_gives_up,
    a_leader_with_a_late_clock_outnumbers_what_a_server_knows,
    a_leader_with_a_majority_does_not_give_way_to_one_without,
    a_round_of_before_a_lost_state_file_is_not_late,
    a_state_of_before_a_lost_state_file_is_not_late,
    an_update_under_a_grant_of_the_other_of_two_leaders_may_be_lost,
    fencing_numbers_of_a_configuration_are_not_given_twice,
    two_that_leave_do_not_count_on_each_other,
    votes_on_which_all_agree_do_not_rest_in_turns,
    what_a_cut_off_server_does_before_it_hears_that_it_was_marked_down_is_lost,
    what_a_leaving_server_was_just_given_is_not_lost,
    what_a_majority_agreed_on_under_a_number_that_was_seen_is_found_out_anew,
    what_a_server_that_was_marked_down_does_before_it_hears_of_that_is_lost,
    what_no_quorum_knows_of_is_not_served,
    what_went_to_a_server_that_was_back_for_a_moment_is_asked_for_anew,
    who_leads_in_a_cut_is_one_of_two_leaders_until_it_meets_the_other,
    who_returns_a_token_holds_it_if_its_former_server_says_so,
    who_takes_over_in_a_cut_is_one_of_two_leaders,
    who_was_ready_under_an_earlier_configuration_is_sent_the_rest,
    a_leader_dies_with_the_news_that_a_server_has_left,
    who_keeps_tokens_of_a_leaver_leaves_when_they_are_its_own,
    what_a_server_learns_in_its_last_moment_is_lost_with_it,
    who_lost_its_file_leads_under_a_number_that_is_known,
    lists_that_come_at_the_same_time_do_not_drive_each_other_out,
    what_was_to_go_to_a_server_before_delays_nothing,
    who_has_had_its_turn_lets_another_list_come,
    who_hears_an_old_configuration_again_after_a_start_has_no_survey,
    a_datagram_of_an_ended_client_arrives_after_one_of_its_successor,
    a_long_catalog_of_a_client_with_a_key_arrives,
    a_server_that_starts_again_learns_the_keys_of_its_clients,
    the_address_of_a_client_stays_its_own_when_its_key_is_removed,
}

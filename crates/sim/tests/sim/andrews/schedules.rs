//! Schedules that once showed an error in the state machine, the document or the simulator, each as a test. To add a
//! schedule, move the file that `ring-sim --system andrews` wrote into `schedules/`. Then add the name of the schedule
//! to this file.

use ring_sim::andrews::{Schedule, replay};

use crate::kept::schedules;

schedules! {
    Schedule;
    a_crowd_of_strangers_keeps_no_predecessor_out,
    a_token_does_not_lead_into_the_next_term,
    a_token_is_not_passed_into_the_next_term,
    a_token_that_its_next_holder_has_used_is_not_lost,
    crowds_that_come_one_after_the_other_keep_no_predecessor_out,
    one_of_two_tokens_that_follow_one_another_goes_no_further,
    proof_from_before_the_cut_counts_for_a_loss_before_it,
    who_wants_a_token_looks_at_the_beat_before_it_claims,
    a_changed_length_is_noticed_only_later,
}

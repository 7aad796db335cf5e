//! Hooks of real daemons, written like those of operators (`docs/hooks.md`).

mod ending;
mod environment;
mod hook_dir;
mod order;

use ring_segment::{Test, tests};

use ending::{
    a_hook_that_hangs_does_not_affect_the_ring,
    a_hook_that_hangs_is_ended_with_all_that_it_has_started, a_killed_daemon_takes_its_hook_along,
    a_second_signal_ends_the_hooks_at_once,
    a_stop_ends_the_running_hook_and_runs_the_hooks_of_the_stop,
    processes_of_a_hook_end_with_it_unless_they_left_its_group,
};
use environment::{
    a_daemon_of_roots_without_hooks_cannot_get_rights_back, a_hook_has_nothing_of_the_daemons,
    a_hook_of_roots_may_do_more_than_its_daemon,
    a_hook_that_cannot_run_is_reported_once_and_others_run,
    a_hooks_directory_of_another_user_is_skipped, a_restless_token_is_warned_of,
    orphans_of_a_hook_in_a_container_are_waited_for,
    the_log_has_the_output_of_hooks_but_not_a_flood,
};
use order::{
    a_drop_in_needs_no_restart, hooks_and_watchers_get_the_same_events,
    hooks_run_in_the_order_of_their_names_after_that_of_the_command_line,
    slow_hooks_run_one_at_a_time_in_order_and_get_the_last_state,
};

pub(crate) fn tests() -> Vec<Test> {
    tests![
        hooks_and_watchers_get_the_same_events,
        slow_hooks_run_one_at_a_time_in_order_and_get_the_last_state,
        hooks_run_in_the_order_of_their_names_after_that_of_the_command_line,
        a_drop_in_needs_no_restart,
        a_hook_that_hangs_is_ended_with_all_that_it_has_started,
        a_hook_that_hangs_does_not_affect_the_ring,
        processes_of_a_hook_end_with_it_unless_they_left_its_group,
        exclusive a_stop_ends_the_running_hook_and_runs_the_hooks_of_the_stop,
        exclusive a_second_signal_ends_the_hooks_at_once,
        a_killed_daemon_takes_its_hook_along,
        a_hook_that_cannot_run_is_reported_once_and_others_run,
        a_hooks_directory_of_another_user_is_skipped,
        a_hook_has_nothing_of_the_daemons,
        orphans_of_a_hook_in_a_container_are_waited_for,
        a_hook_of_roots_may_do_more_than_its_daemon,
        a_daemon_of_roots_without_hooks_cannot_get_rights_back,
        the_log_has_the_output_of_hooks_but_not_a_flood,
        a_restless_token_is_warned_of,
    ]
}

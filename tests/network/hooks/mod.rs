//! Hooks of real daemons, written like those of operators (`docs/hooks.md`).

mod ending;
mod environment;
mod hook_dir;
mod order;

use ring_segment::{Test, tests};

use ending::{
    a_hook_that_hangs_is_ended_with_all_that_it_has_started,
    a_hook_that_hangs_leaves_the_ring_alone, a_killed_daemon_takes_its_hook_along,
    a_second_signal_ends_the_hooks_at_once, a_stop_ends_the_hook_that_runs_and_is_told,
    what_a_hook_leaves_behind_is_ended_unless_it_has_left,
};
use environment::{
    a_daemon_of_roots_without_hooks_cannot_get_rights_back, a_hook_has_nothing_of_the_daemons,
    a_hook_of_roots_may_do_more_than_its_daemon,
    a_hook_that_cannot_be_run_is_said_once_and_disturbs_nobody,
    a_hooks_directory_of_another_user_is_skipped, a_restless_token_is_warned_of,
    what_a_hook_leaves_behind_in_a_container_is_waited_for,
    what_hooks_say_is_in_the_log_and_a_flood_is_not,
};
use order::{
    a_drop_in_needs_no_restart,
    hooks_run_in_the_order_of_their_names_after_that_of_the_command_line,
    slow_hooks_run_one_at_a_time_in_order_and_are_told_the_last_state,
    what_hooks_are_told_is_what_watchers_are_told,
};

pub(crate) fn tests() -> Vec<Test> {
    tests![
        what_hooks_are_told_is_what_watchers_are_told,
        slow_hooks_run_one_at_a_time_in_order_and_are_told_the_last_state,
        hooks_run_in_the_order_of_their_names_after_that_of_the_command_line,
        a_drop_in_needs_no_restart,
        a_hook_that_hangs_is_ended_with_all_that_it_has_started,
        a_hook_that_hangs_leaves_the_ring_alone,
        what_a_hook_leaves_behind_is_ended_unless_it_has_left,
        exclusive a_stop_ends_the_hook_that_runs_and_is_told,
        exclusive a_second_signal_ends_the_hooks_at_once,
        a_killed_daemon_takes_its_hook_along,
        a_hook_that_cannot_be_run_is_said_once_and_disturbs_nobody,
        a_hooks_directory_of_another_user_is_skipped,
        a_hook_has_nothing_of_the_daemons,
        what_a_hook_leaves_behind_in_a_container_is_waited_for,
        a_hook_of_roots_may_do_more_than_its_daemon,
        a_daemon_of_roots_without_hooks_cannot_get_rights_back,
        what_hooks_say_is_in_the_log_and_a_flood_is_not,
        a_restless_token_is_warned_of,
    ]
}

//! `ring-runtime` on a real link: its filter, its wake-ups, lost interfaces, and the lock of a daemon.

mod datagrams;
mod errors;
mod helpers;
mod interfaces;
mod locks;
mod packets;
mod streams;

use ring_segment::Test;

use datagrams::{
    a_broadcast_and_a_multicast_reach_the_other, a_buffer_is_as_large_as_it_may_be,
    a_datagram_that_has_waited_has_its_age, a_datagram_that_is_cut_is_none,
    a_multicast_reaches_through_the_interface_named_only,
    a_refused_datagram_among_many_loses_none_behind_it,
    datagrams_that_the_kernel_drops_are_counted, each_datagram_has_its_sender_and_its_outcome,
};
use errors::{
    a_down_interface_is_an_error_and_works_again_after, a_missing_permission_is_explained,
    a_removed_interface_is_an_error, a_socket_needs_an_interface_that_is_there,
    a_socket_opened_on_a_down_interface_works_once_it_is_up, only_ethernet_is_opened,
};
pub(crate) use helpers::run_as_child;
use interfaces::{
    a_bridge_and_a_macvlan_are_ethernet, a_missing_interface_is_none_and_the_others_have_names,
    all_addresses_have_their_prefix, an_interface_is_as_it_was_made,
    an_interface_that_cannot_send_is_down, ip_addresses_are_found_in_their_order,
    the_watch_rings_on_addresses, the_watch_rings_on_links,
};
use locks::{
    a_killed_holder_leaves_no_lock, a_lock_is_held_until_it_is_dropped,
    the_same_name_in_another_network_is_another_lock,
};
use packets::{
    a_burst_takes_few_calls_and_keeps_its_order, a_frame_in_time_is_fresh_whatever_the_wall_clock,
    a_frame_that_came_after_the_clocks_were_read_has_its_age, a_late_frame_has_its_age,
    frames_for_a_macvlan_are_not_ours, frames_that_do_not_fit_are_counted, long_frames_are_cut,
    only_our_frames_wake_the_process, own_frames_do_not_come_back,
    sent_frames_have_control_priority, the_ring_goes_round,
};
use streams::{
    a_connection_comes_from_the_own_address_if_it_must,
    a_peer_that_falls_silent_is_given_up_in_time,
    a_peer_that_never_reads_costs_no_more_than_a_buffer, a_process_that_dies_leaves_no_end_behind,
    a_reset_after_the_end_is_reported, a_station_that_does_not_listen_refuses,
    written_bytes_and_the_answer_arrive_complete,
};

pub(crate) fn tests() -> Vec<Test> {
    // No daemon runs that could be stalled.
    let tests = ring_segment::tests![
        only_our_frames_wake_the_process,
        frames_for_a_macvlan_are_not_ours,
        own_frames_do_not_come_back,
        sent_frames_have_control_priority,
        a_burst_takes_few_calls_and_keeps_its_order,
        the_ring_goes_round,
        long_frames_are_cut,
        a_frame_that_came_after_the_clocks_were_read_has_its_age,
        a_late_frame_has_its_age,
        a_frame_in_time_is_fresh_whatever_the_wall_clock,
        frames_that_do_not_fit_are_counted,
        a_down_interface_is_an_error_and_works_again_after,
        a_removed_interface_is_an_error,
        a_socket_opened_on_a_down_interface_works_once_it_is_up,
        a_socket_needs_an_interface_that_is_there,
        only_ethernet_is_opened,
        a_missing_permission_is_explained,
        each_datagram_has_its_sender_and_its_outcome,
        a_datagram_that_has_waited_has_its_age,
        a_refused_datagram_among_many_loses_none_behind_it,
        a_datagram_that_is_cut_is_none,
        datagrams_that_the_kernel_drops_are_counted,
        a_buffer_is_as_large_as_it_may_be,
        a_broadcast_and_a_multicast_reach_the_other,
        a_multicast_reaches_through_the_interface_named_only,
        written_bytes_and_the_answer_arrive_complete,
        a_peer_that_never_reads_costs_no_more_than_a_buffer,
        a_process_that_dies_leaves_no_end_behind,
        a_reset_after_the_end_is_reported,
        a_station_that_does_not_listen_refuses,
        a_connection_comes_from_the_own_address_if_it_must,
        a_peer_that_falls_silent_is_given_up_in_time,
        an_interface_is_as_it_was_made,
        an_interface_that_cannot_send_is_down,
        ip_addresses_are_found_in_their_order,
        all_addresses_have_their_prefix,
        a_bridge_and_a_macvlan_are_ethernet,
        a_missing_interface_is_none_and_the_others_have_names,
        the_watch_rings_on_links,
        the_watch_rings_on_addresses,
        a_lock_is_held_until_it_is_dropped,
        the_same_name_in_another_network_is_another_lock,
        a_killed_holder_leaves_no_lock,
    ];
    tests.into_iter().map(Test::without_stalls).collect()
}

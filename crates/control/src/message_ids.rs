//! The MESSAGE_ID of each log event that programs or operators look for in systemd's journal.
//!
//! An id stays the same in all versions, because catalogs and queries of other programs contain it. If several systems
//! log events with the same name, these events have the same id. But an event may be a warning in one system, and
//! routine in another system. So log lines of the level INFO get an id only if `ringctl history` reads them.

/// The names of the events that have an id, in alphabetical order, each with its id.
pub const MESSAGE_IDS: &[(&str, &str)] = &[
    ("accept_failed", "2ae1248e89ac49e59d33081a5804a328"),
    ("address_changed", "21a5c2f33b92490cb4ec0a66bf2db8ba"),
    ("address_shared", "af60c9316be64ec3bbd9a7f240d84360"),
    ("address_warning", "c879251bd1db48e6acc31745a9961c2f"),
    ("answer_late", "cbddd0923d7e498f86ead068e060b5b6"),
    ("authority_lost", "ba6853d4332049c98432813e4a9490e7"),
    ("bind_failed", "79038253f4bd4ada856651d76e3ee9ef"),
    ("bridge_port", "5d978954925c4ac6903eecffa8799e3b"),
    ("broadcasts_unheard", "24c08c8cd1714995b339e0356bedaf56"),
    ("call_denied", "9fccc21609c84059a8201b1b5a805e6c"),
    ("cannot_send", "dd5c067b755b4c33a9ae21f842e48119"),
    ("claimed", "c442aa7c1f11414f8b067d86ca69806f"),
    ("clock_ahead", "1a1c60b5de1a4f788dad285b07ac7208"),
    ("clock_rate", "3e78cdc0b6b04e72aed8f2e40ac28beb"),
    ("clock_unknown", "fffdfafb40a94da99434990681f34f78"),
    ("command_output", "df14802e69c9469486420ba1ff88ee5e"),
    ("compute_failed", "725a0d5f67474ab5a945ec5a8bebbb6c"),
    ("config_refused", "a6b8f17d7b2b4e5181c65d9fe484752a"),
    ("config_reloaded", "36caeaaab98846f18fcb6a3f9430e133"),
    ("configuration_changed", "12b8f813a07a499c829183cee96f68a5"),
    ("conflict", "49bc4ad30aff44e8aab40689679fc2fe"),
    ("conflicting_data", "c1285a4ac6f540e8a3615b48cd5cb937"),
    ("constants_apart", "c0372ba6e5bf4a0c9c17cd249b1471f0"),
    ("control_socket_missing", "b16f770085a143079ca567b2068c618e"),
    (
        "control_socket_recreated",
        "b5874bcbd3a54affb0c592d1f7d898c1",
    ),
    ("data_dropped", "6a215a4727394d81ab8aab29b5a6182b"),
    ("data_refused", "5a61432ff5da44c4a22e394b970bf922"),
    ("database_changed", "c14dc957f7c44d2aa17c2437e55631ae"),
    ("database_failed", "82d5b6676ecd4e198f0a5ce0b7f1dcfe"),
    ("decide_failed", "f9a07f67137c45c0a7e0f5551e3d9b77"),
    ("fd_limit_low", "ba1772702922441b8c6ddcc1b7a04abf"),
    ("hand_over_failed", "eb8d2cce2a784ea196f5083d8af0dfec"),
    ("history_not_written", "e0f33ae61b644809bd7db086d126bd6b"),
    ("holder_not_ended", "290dda447b1e400191b040391a6bb478"),
    ("hook_failed", "44c2aac8c5334b4ba9bcf6504d568dbf"),
    ("hooks_dir_changing", "8cc4505927d349b888753cc66a792eb6"),
    ("interface_shared", "5d37f9542a3245efbb60b83fa7de774e"),
    ("jobs_corrupt", "1a6a09a16d8d4d6fb81878ee24ed929b"),
    ("kernel_dropped", "2d784bee5c57453a89ad03908efc1443"),
    ("late_wake_up", "8fa30b92dbae45a698c3318895004d4d"),
    ("left", "8c6bf62bceab461eaf97433c608a4746"),
    ("link_failed", "191230ebd19544bc8fa78a1ada72f9d6"),
    ("link_lost", "a8e2138dd94f4145adb83d78df79358f"),
    ("list_cut", "f19f00a8f1434c7082bb43295b0e5454"),
    ("lock_granted", "06c6c050660d4be8b1e011e28af61f38"),
    ("lock_lost", "a15b652a673d404cb82450ad6785116c"),
    ("lock_released", "58287284113c4ec8b1e8cc33be8199de"),
    ("log_lines_lost", "bcaeab08756b40f39b8f38d7ad8b3d9e"),
    ("login_failed", "536e9d84a0964dc1a9dba39b0f67a642"),
    ("lookup_failed", "4119193707f24ff38f592af4757dc54e"),
    ("member_deaf", "10a819d6f8cc4d81908eb7fdfac6792f"),
    ("member_differs", "cc94e18ccf124efe923f78852859fcf6"),
    ("member_held", "0222fd0721f2485ab42e58a792c8e30c"),
    ("member_holds", "5372aa3d3f864823911809a44a9b3e61"),
    ("member_silent", "f736c6ef7aa0408eaaee7783c9f3982f"),
    ("member_unreached", "0fbfe3c6e83240ad910fd688db41ce5c"),
    ("messages_refused", "410b06590dbd45b7a04cc41477bf6bbc"),
    ("misplaced", "c0502e97badf4022ac828d59bdb88a43"),
    ("monitor_group_denied", "645849111db64060821495a39e872cb8"),
    ("move_failed", "a1af7969f7f14dd68587112f3ce65184"),
    ("mtu_too_small", "28b555bd782a4c48b186fbed79796f49"),
    ("name_denied", "0014d214aec29941671bc7b12031c0ca"),
    ("no_address", "aad33ec6a5ec46f19fcc8a61bffd4ea3"),
    ("no_quorum", "f98a1271dfff4d0ba5c539126c00acd4"),
    ("node_differs", "35dc09fc7ea348bdbbc5191ecadf6a5a"),
    ("node_refused", "7c0d105428204652a423b58ae5ca3f4b"),
    ("node_removed", "c399c2e453be401895c075470c625090"),
    ("number_ahead", "f7adfcd290ee4feda93c2602f82e8486"),
    ("numbers_exhausted", "4a88823b0d5b4438bdd1b91f7af5430f"),
    ("open_failed", "2c66ec19b75c48f7a57531a9e1165e2a"),
    ("options_differ", "b30e92221c224f078907a446f7e18a43"),
    ("options_warning", "1e66baadf34d454197076b6bfbae4cc8"),
    ("other_list", "b2e82fd17a5a41608829a3d48425b04f"),
    ("other_machines", "056808af9a25440fbf9758f5becc95b5"),
    ("owner_unheard", "82afd7b348734e728187edfbacecff5b"),
    ("pass_failed", "01d6b6c1103d478e801ff1b06b0affdc"),
    ("pass_unknown", "ca49bcabc24b4450889e3ec2af4317f1"),
    ("pause_not_synced", "445a74b016f84996bbee26fb79e92e4b"),
    ("preferred_refuses", "660745ecf23d41b7b959fd6c3398afe6"),
    ("progress_exhausted", "2c6d1cedbbf246468e97a14968abe301"),
    ("receives_nothing", "ed0d595989ca43efb1ca14a4980757e0"),
    ("recording_not_written", "d149386fc41140fe9e635a2c6f43e053"),
    ("removed", "756e0e36f1c64aef89ad07ecc859e776"),
    ("reset", "edf13dbfe97c41c597ae785e6be90ea6"),
    ("run_failed", "51886bba40604680991d85c96a1c971b"),
    ("run_lost", "52cd56cfcbd54ccd8aacbe4208466d43"),
    ("sandbox_incomplete", "05c9054f92ca4ef281dada10a748951d"),
    ("send_failed", "01acef7b5268481c9e39e1bf077c4ec8"),
    ("stalled", "9460e1b276874380aa48407c265ff6f2"),
    ("started", "78c058c2f98c4c5f9a7f8702e0ea6ca4"),
    ("starving", "54fbc09ab9e44586bcee05b1d43e9a24"),
    ("state_changed", "a524e559474e45b49723e93644f9c383"),
    ("state_corrupt", "9cb93a05ee6f40cdbf302728aed584dd"),
    ("state_not_stored", "97344e047f3b49b896311d65022529f0"),
    ("state_not_synced", "95b054e83f4b4667baa66363908277d5"),
    ("state_not_written", "e207bad1af9548ec8d4c91da3500a5dc"),
    ("state_removed", "b27b4d0c317448198e4088409e1fa733"),
    ("storage_failed", "9bd32367a3024f4790170340a8e2880d"),
    ("successor_failed", "841f5c3dc58c4495bde00ed784c70d42"),
    ("successor_lost", "ef8e2a66dd8847398d63797ae643c64a"),
    ("table_full", "0ed58be689c647c68d624f64b4a291eb"),
    ("tables_differ", "bb8018c77a1b4dddbd026a54ec5b138f"),
    ("taken_late", "416eaecb84d64b939070e3b282a65d51"),
    ("token_ahead", "03ccc80ed13c4c1b85a0d51605faf195"),
    ("token_lost", "4bf2b8b558104e3791a9c451abec59c3"),
    ("token_made", "9d836b346b1a4e7aa357d30e714a8e7f"),
    ("token_returned", "40895da83a044f08abccb43a84241571"),
    ("too_long", "6a7a9e1f7f274a5ab7afab5aa9cea829"),
    ("took_over", "0727129eed474b6b9615ae622cefb125"),
    ("took_over_tokens", "f3bc5ac317404f999c230cba7950a4fa"),
    ("unanswered", "4b89c88f41b94b7194244584f202b97c"),
    ("unheard", "b28b6a7b81da4197aba5bc0a3eb31cdf"),
    ("unicast_lost", "601cb0e6f1554e7b9668c576152d24db"),
    ("unknown_row", "17764240bf2f45b4aa13f74b271ca772"),
    ("unknown_sender", "5e15e6b1f5fc4c77a01561f4c9d5a0c1"),
];

/// Returns the MESSAGE_ID of an event; `None` if the event has no id.
pub fn message_id(event: &str) -> Option<&'static str> {
    let at = MESSAGE_IDS.binary_search_by_key(&event, |&(name, _)| name);
    at.ok().map(|at| MESSAGE_IDS[at].1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{MESSAGE_IDS, message_id};

    #[test]
    fn each_event_has_its_own_id() {
        assert!(MESSAGE_IDS.is_sorted_by(|one, two| one.0 < two.0));
        let ids: BTreeSet<_> = MESSAGE_IDS.iter().map(|&(_, id)| id).collect();
        assert_eq!(ids.len(), MESSAGE_IDS.len());
        for (event, id) in MESSAGE_IDS {
            let is_digit = |it: u8| it.is_ascii_digit() || (b'a'..=b'f').contains(&it);
            assert!(id.len() == 32 && id.bytes().all(is_digit), "{event}: {id}");
            assert_eq!(message_id(event), Some(*id));
        }
        assert_eq!(message_id("handed_over"), None);
    }
}

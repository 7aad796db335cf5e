use ring_control::NodeName;
use ring_control::lab2::parse_ring_name;
use ring_host::SystemError;
use ring_proto::StoreOutcome;
use ring_proto::lab2::StoredState;
use ring_runtime::driver::Store;
use ring_text::hex;

use super::record::{self, LEN};
use super::{INITIAL_DURABLE, StateFile};
use crate::system::Error;
use crate::system::record_file::{LoadedState, SLOTS};
use ring_codec::MacAddr;
use ring_codec::lab2::Token;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;

fn durable(number: u32) -> StoredState {
    StoredState {
        my_token_number: number,
        known: Some(Token {
            progress: 1000 + u64::from(number),
            author: MacAddr([2, 0, 0, 0, 0, 1]),
            number,
        }),
        stamp: None,
    }
}

fn ring(interface: &str) -> NodeName {
    parse_ring_name(interface).expect("a name")
}

/// A directory that does not exist.
const NOT_THERE: &str = "/not/there";

fn open_with(
    directory: &Path,
    memory: impl AsRef<Path>,
) -> Result<(StateFile, LoadedState<StoredState>), Error> {
    let recent = memory.as_ref().join("eth0.recent");
    StateFile::open(directory, &ring("eth0"), &recent, OWN)
}

const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const OTHER: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

fn open(directory: &Path) -> (StateFile, LoadedState<StoredState>) {
    open_with(directory, NOT_THERE).unwrap()
}

/// Overwrites bytes at `offset`, as an interrupted write does.
fn damage(directory: &Path, offset: u64) {
    let file = OpenOptions::new()
        .write(true)
        .open(directory.join("eth0.state"))
        .unwrap();
    file.write_all_at(&[0xaa; 20], offset).unwrap();
}

#[test]
fn the_last_record_is_found_again() {
    let directory = tempfile::tempdir().unwrap();
    let (mut state, found) = open(directory.path());
    assert_eq!(found, LoadedState::Nothing);
    for number in 1..=5 {
        state.store(&durable(number));
    }
    drop(state);
    assert_eq!(open(directory.path()).1, LoadedState::Stored(durable(5)));
}

/// Returns a state with the first token number.
fn with_token(progress: u64) -> StoredState {
    let mut durable = durable(1);
    durable.known.as_mut().unwrap().progress = progress;
    durable
}

/// Returns a directory on a disk or in memory, and a directory in memory.
fn two_directories() -> [tempfile::TempDir; 2] {
    [tempfile::tempdir(), tempfile::tempdir_in("/dev/shm")].map(Result::unwrap)
}

#[test]
fn a_known_token_that_is_only_in_memory_is_found_again() {
    let [directory, memory] = two_directories();
    let reopen = || open_with(directory.path(), &memory).unwrap();
    let (mut state, _) = reopen();
    state.store(&with_token(1));
    let on_disk = fs::read(state.path()).unwrap();
    for progress in 2..=8 {
        assert_eq!(state.store(&with_token(progress)), StoreOutcome::Done);
        assert_eq!(fs::read(state.path()).unwrap(), on_disk);
        drop(state);
        let found;
        (state, found) = reopen();
        assert_eq!(found, LoadedState::Stored(with_token(progress)));
        // The start wrote the token to the state file.
        assert_eq!(
            open_copy(state.path()),
            LoadedState::Stored(with_token(progress))
        );
        state.store(&with_token(progress));
        fs::write(state.path(), &on_disk).unwrap();
    }
}

/// Reads a copy of a state file.
fn open_copy(path: &Path) -> LoadedState<StoredState> {
    let directory = tempfile::tempdir().unwrap();
    fs::copy(path, directory.path().join("eth0.state")).unwrap();
    open(directory.path()).1
}

#[test]
fn tokens_in_memory_are_written_to_the_file_later() {
    let [directory, memory] = two_directories();
    let (mut state, _) = open_with(directory.path(), &memory).unwrap();
    state.store(&with_token(1));
    state.store(&with_token(2));
    assert_eq!(open_copy(state.path()), LoadedState::Stored(with_token(1)));
    state.check_place();
    assert_eq!(open_copy(state.path()), LoadedState::Stored(with_token(2)));
    for progress in 3..=1010 {
        state.store(&with_token(progress));
    }
    assert_eq!(
        open_copy(state.path()),
        LoadedState::Stored(with_token(1003))
    );
    state.sync().unwrap();
    assert_eq!(
        open_copy(state.path()),
        LoadedState::Stored(with_token(1010))
    );
    assert_eq!(fs::read_dir(memory.path()).unwrap().count(), 0);
}

#[test]
fn a_new_token_number_is_written_to_the_file_at_once() {
    let [directory, memory] = two_directories();
    let (mut state, _) = open_with(directory.path(), &memory).unwrap();
    state.store(&with_token(5));
    state.store(&with_token(2000));
    let recent = memory.path().join("eth0.recent");
    let before = fs::read(&recent).unwrap();
    state.store(&durable(2));
    assert_eq!(open_copy(state.path()), LoadedState::Stored(durable(2)));
    drop(state);
    // As if the process had died between the two writes.
    fs::write(&recent, before).unwrap();
    // The file in memory has the stronger token, and the state file has the larger number.
    let joined = StoredState {
        my_token_number: 2,
        ..with_token(2000)
    };
    let found = open_with(directory.path(), &memory).unwrap().1;
    assert_eq!(found, LoadedState::Stored(joined));
}

/// Stores a token only in the file in memory. Returns the two directories.
fn leave_recent_token() -> [tempfile::TempDir; 2] {
    let directories = two_directories();
    let (mut state, _) = open_with(directories[0].path(), &directories[1]).unwrap();
    state.store(&with_token(1));
    state.store(&with_token(2));
    directories
}

/// Returns the found state, and whether the node reports that it starts without a part of its state.
fn opened_for(directories: &[tempfile::TempDir; 2], address: MacAddr) -> (StoredState, bool) {
    let [directory, memory] = directories;
    let recent = memory.path().join("eth0.recent");
    let opened = StateFile::open(directory.path(), &ring("eth0"), &recent, address);
    let (state, found) = opened.unwrap();
    let losses: Vec<_> = state.findings().map(|it| it.text).collect();
    let is_lost = losses.iter().any(|text| text.contains("eth0.recent"));
    assert_eq!(losses.len(), usize::from(is_lost), "{losses:?}");
    (found.or(INITIAL_DURABLE), is_lost)
}

#[test]
fn the_file_in_memory_is_bound_to_its_node() {
    let directories = leave_recent_token();
    let before = fs::read(directories[1].path().join("eth0.recent")).unwrap();
    assert_eq!(opened_for(&directories, OTHER), (with_token(1), true));
    // From now on, it is the file of the other node.
    assert_eq!(opened_for(&directories, OTHER), (with_token(1), false));
    fs::write(directories[1].path().join("eth0.recent"), before).unwrap();
    assert_eq!(opened_for(&directories, OWN), (with_token(2), false));
}

#[test]
fn the_file_in_memory_follows_the_node_to_another_network_card() {
    let directories = leave_recent_token();
    let (mut state, _) = open_with(directories[0].path(), &directories[1]).unwrap();
    state.store(&with_token(3));
    state.set_address(OTHER);
    drop(state);
    assert_eq!(opened_for(&directories, OTHER), (with_token(3), false));
}

#[test]
fn an_unusable_file_in_memory_is_reported() {
    for contents in [
        &b"a file of another program"[..],
        b"RINGSM99 and more",
        b"RINGSM01 and no more of a record",
    ] {
        let directories = leave_recent_token();
        let recent = directories[1].path().join("eth0.recent");
        fs::write(&recent, contents).unwrap();
        assert_eq!(opened_for(&directories, OWN), (with_token(1), true));
    }
    let directories = leave_recent_token();
    let recent = directories[1].path().join("eth0.recent");
    fs::remove_file(&recent).unwrap();
    symlink("eth1.recent", &recent).unwrap();
    assert_eq!(opened_for(&directories, OWN), (with_token(1), true));
}

#[test]
fn while_the_file_cannot_be_written_nothing_counts_as_stored() {
    let [directory, memory] = two_directories();
    let (mut state, _) = open_with(directory.path(), &memory).unwrap();
    state.store(&with_token(1));
    state.record.forbid_writes();
    assert_eq!(state.store(&with_token(2)), StoreOutcome::Done);
    state.check_place();
    assert_eq!(state.take_failures().unwrap().count, 1);
    assert_eq!(state.store(&with_token(3)), StoreOutcome::Failed);
    drop(state);
    let found = open_with(directory.path(), &memory).unwrap().1;
    assert_eq!(found, LoadedState::Stored(with_token(2)));
}

#[test]
fn the_file_in_memory_replaces_a_damaged_state_file() {
    for contents in ["", "RINGST01 and no more of a record"] {
        let [directory, memory] = two_directories();
        let (mut state, _) = open_with(directory.path(), &memory).unwrap();
        state.store(&with_token(2000));
        state.store(&durable(2));
        fs::write(state.path(), contents).unwrap();
        drop(state);
        let (state, found) = open_with(directory.path(), &memory).unwrap();
        assert_eq!(found, LoadedState::Stored(durable(2)));
        assert_eq!(state.findings().count(), 0);
        assert_eq!(open_copy(state.path()), LoadedState::Stored(durable(2)));
    }
}

#[test]
fn after_the_file_in_memory_was_removed_each_change_is_written_to_the_state_file() {
    let [directory, memory] = two_directories();
    let (mut state, _) = open_with(directory.path(), &memory).unwrap();
    state.store(&with_token(1));
    state.store(&with_token(2));
    fs::remove_file(memory.path().join("eth0.recent")).unwrap();
    state.check_place();
    assert_eq!(open_copy(state.path()), LoadedState::Stored(with_token(2)));
    state.store(&with_token(3));
    assert_eq!(open_copy(state.path()), LoadedState::Stored(with_token(3)));
    state.sync().unwrap();
}

#[test]
fn a_new_state_file_ignores_the_file_in_memory() {
    let [directory, memory] = two_directories();
    let (mut state, _) = open_with(directory.path(), &memory).unwrap();
    state.store(&with_token(1));
    state.store(&with_token(2));
    fs::remove_file(state.path()).unwrap();
    drop(state);
    for expected in [LoadedState::Nothing, LoadedState::Stored(INITIAL_DURABLE)] {
        let found = open_with(directory.path(), &memory).unwrap().1;
        assert_eq!(found, expected);
    }
}

#[test]
fn a_file_from_before_the_first_token_is_not_corrupt() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()));
    assert_eq!(
        open(directory.path()).1,
        LoadedState::Stored(INITIAL_DURABLE)
    );
}

#[test]
fn a_torn_slot_leaves_the_previous_record() {
    for stored in 2..=5_u32 {
        let directory = tempfile::tempdir().unwrap();
        let (mut state, _) = open(directory.path());
        for number in 1..=stored {
            state.store(&durable(number));
        }
        drop(state);
        damage(directory.path(), SLOTS[stored as usize % 2] + 10);
        let (mut state, found) = open(directory.path());
        assert_eq!(found, LoadedState::Stored(durable(stored - 1)));
        state.store(&durable(stored + 1));
        drop(state);
        assert_eq!(
            open(directory.path()).1,
            LoadedState::Stored(durable(stored + 1))
        );
    }
}

#[test]
fn a_corrupt_or_emptied_file_is_reported_and_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("eth0.state");
    let torn = [&b"RINGST01"[..], &[0xff; 600]].concat();
    for (contents, expected, expected_text) in [
        (torn, LoadedState::Corrupt, "is damaged"),
        (vec![], LoadedState::Emptied, "was empty"),
        (vec![0; 576], LoadedState::Emptied, "was empty"),
    ] {
        fs::write(&path, contents).unwrap();
        let (mut state, found) = open(directory.path());
        assert_eq!(found, expected);
        let findings: Vec<_> = state.findings().collect();
        assert!(findings[0].text.contains(expected_text), "{findings:?}");
        state.store(&durable(7));
        drop(state);
        let (state, found) = open(directory.path());
        assert_eq!(found, LoadedState::Stored(durable(7)));
        assert_eq!(state.findings().count(), 0);
    }
}

#[test]
fn another_programs_file_is_refused_and_kept() {
    for name in ["eth0.state", "eth0.jobs"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        for contents in [vec![b'x'], vec![0xff; 100_000], vec![0; 100_000]] {
            fs::write(&path, &contents).unwrap();
            let error = open_with(directory.path(), NOT_THERE).unwrap_err();
            assert!(matches!(error, Error::StateForeign { .. }), "{error}");
            assert_eq!(error.exit_code(), 9);
            assert_eq!(fs::read(&path).unwrap(), contents, "{name}");
        }
    }
}

#[test]
fn an_emptied_job_file_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()));
    assert_eq!(open(directory.path()).0.losses(), []);
    fs::write(directory.path().join("eth0.jobs"), "").unwrap();
    let (state, _) = open(directory.path());
    let findings: Vec<_> = state.findings().collect();
    assert!(findings[0].text.contains("may run again"), "{findings:?}");
    drop(state);
    assert_eq!(open(directory.path()).0.losses(), []);
}

#[test]
fn nothing_counts_as_stored_while_the_directory_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("place");
    let (mut state, _) = open(&place);
    state.store(&durable(1));
    state.check_place();
    assert!(state.is_in_place() && state.findings().count() == 0);
    fs::remove_dir_all(&place).unwrap();
    state.check_place();
    assert!(!state.is_in_place() && state.findings().count() == 1);
    assert_eq!(state.store(&durable(2)), StoreOutcome::Failed);
    fs::create_dir(&place).unwrap();
    state.check_place();
    assert!(state.is_in_place() && state.findings().count() == 0);
    // Another daemon cannot lock the file that this daemon has created again.
    assert!(open_with(&place, NOT_THERE).is_err());
    drop(state);
    assert_eq!(open(&place).1, LoadedState::Stored(durable(1)));
}

#[test]
fn a_record_is_one_write_to_one_slot() {
    let directory = tempfile::tempdir().unwrap();
    let (mut state, _) = open(directory.path());
    state.store(&durable(1));
    let before = fs::read(state.path()).unwrap();
    state.store(&durable(2));
    let after = fs::read(state.path()).unwrap();
    let [written, kept] = SLOTS.map(|slot| usize::try_from(slot).unwrap());
    assert_eq!(before[kept..kept + LEN], after[kept..kept + LEN]);
    let bytes = after[written..written + LEN].try_into().unwrap();
    let record = record::decode(bytes).map(|record| record.durable);
    assert_eq!(record, Some(durable(2)));
}

/// A record that ringd 0.1.0 wrote.
const SECOND: [&str; 2] = [
    "52494e47535430310000000000000002000000010000000118ead120633a55f1",
    "02000000000100000000000100000000000000000000000064b24263e0209f4f",
];

/// ringd 0.1.0 created the file of jobs, but wrote to it only when a job ran.
#[test]
fn an_empty_job_file_of_an_earlier_build_has_lost_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let [state, jobs] = ["eth0.state", "eth0.jobs"].map(|name| directory.path().join(name));
    let second = hex::decode(&SECOND.concat()).unwrap();
    fs::write(state, second).unwrap();
    fs::write(&jobs, "").unwrap();
    assert_eq!(open(directory.path()).0.losses(), []);
    fs::write(&jobs, "").unwrap();
    assert_eq!(open(directory.path()).0.losses().len(), 1, "this one did");
}

/// At the end of the test, the file of jobs has its mark.
#[test]
fn a_file_of_the_first_version_is_read_and_continued_byte_by_byte() {
    const THIRD: [&str; 2] = [
        "52494e47535430310000000000000003000000010000000118ead120633a55f1",
        "0200000000010000000000010000000100000000000000001e1660517579ed95",
    ];
    let [second, third] = [SECOND, THIRD].map(|it| hex::decode(&it.concat()).unwrap());
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("eth0.state"), second).unwrap();
    let (mut state, found) = open(directory.path());
    let known = Token {
        progress: 0x18ea_d120_633a_55f1,
        author: MacAddr([2, 0, 0, 0, 0, 1]),
        number: 1,
    };
    let durable = StoredState {
        my_token_number: 1,
        known: Some(known),
        stamp: None,
    };
    assert_eq!(found, LoadedState::Stored(durable));
    state.store(&durable);
    let written = fs::read(state.path()).unwrap();
    let at = usize::try_from(SLOTS[1]).unwrap();
    assert_eq!(written[at..], third);
}

#[test]
fn a_second_daemon_does_not_get_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let (_first, _) = open(directory.path());
    let second = open_with(directory.path(), NOT_THERE).unwrap_err();
    assert!(matches!(second, Error::StateLocked { .. }), "{second}");
    StateFile::open(
        directory.path(),
        &ring("eth1"),
        &Path::new(NOT_THERE).join("eth1.recent"),
        OWN,
    )
    .unwrap();
}

#[test]
fn a_missing_directory_is_made() {
    let directory = tempfile::tempdir().unwrap();
    open(&directory.path().join("a/b"));
}

#[test]
fn a_file_in_place_of_the_directory_is_an_error_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let error = open_with(&file, NOT_THERE).unwrap_err();
    assert!(error.to_string().contains(&file.display().to_string()));
    assert_eq!(error.exit_code(), 7);
}

#[test]
fn a_newer_file_is_refused_and_kept() {
    for slot in SLOTS.map(|slot| usize::try_from(slot).unwrap()) {
        let directory = tempfile::tempdir().unwrap();
        let (mut state, _) = open(directory.path());
        state.store(&durable(1));
        let path = state.path().to_owned();
        drop(state);
        let mut newer = fs::read(&path).unwrap();
        newer[slot..slot + 8].copy_from_slice(b"RINGST02");
        fs::write(&path, &newer).unwrap();
        let error = open_with(directory.path(), NOT_THERE).unwrap_err();
        assert!(
            matches!(error, Error::StateNewer { format: 2, .. }),
            "{error}"
        );
        assert_eq!(fs::read(&path).unwrap(), newer);
    }
}

#[test]
fn a_newer_file_of_jobs_is_refused_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()));
    let jobs = directory.path().join("eth0.jobs");
    let mut newer = b"RINGJB02".to_vec();
    newer.resize(128, 7);
    fs::write(&jobs, &newer).unwrap();
    let error = open_with(directory.path(), NOT_THERE).unwrap_err();
    assert!(
        matches!(&error, Error::StateNewer { path, format: 2 } if *path == jobs),
        "{error}"
    );
    assert_eq!(fs::read(&jobs).unwrap(), newer);
}

#[test]
fn damaged_records_of_jobs_are_counted_and_the_node_starts() {
    let directory = tempfile::tempdir().unwrap();
    let jobs = directory.path().join("eth0.jobs");
    assert_eq!(open(directory.path()).0.losses(), []);
    let damaged = [&b"RINGJB01"[..], &[7; 120]].concat();
    fs::write(&jobs, damaged.repeat(2)).unwrap();
    let (state, _) = open(directory.path());
    let (event, expected_text) = &state.losses()[0];
    assert_eq!(*event, "jobs_corrupt");
    assert!(expected_text.contains("2 records of"), "{expected_text}");
}

#[test]
fn a_link_is_refused_and_its_target_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let (path, target) = (
        directory.path().join("eth0.state"),
        directory.path().join("other"),
    );
    fs::write(&target, "precious").unwrap();
    symlink(&target, &path).unwrap();
    let error = open_with(directory.path(), NOT_THERE).unwrap_err();
    assert_eq!(error.exit_code(), 9);
    assert!(error.to_string().contains("symbolic link"), "{error}");
    assert_eq!(fs::read(&target).unwrap(), b"precious");
}

#[test]
fn failing_writes_are_counted_and_the_node_continues() {
    let directory = tempfile::tempdir().unwrap();
    let (mut state, _) = open(directory.path());
    state.store(&durable(1));
    assert!(state.take_failures().is_none());
    state.record.forbid_writes();
    state.store(&durable(2));
    state.store(&durable(3));
    assert_eq!(state.take_failures().unwrap().count, 2);
    assert!(state.take_failures().is_none());
}

//! Compares two numbers: the maximum memory that clients can make a node use, and the memory limit of the node's unit.

use super::clients::{ANSWER_BYTES_MAX, CONNECTIONS_MAX};
use super::events::{QUEUED_POSTS_MAX, VIEWS_MAX};
use super::input::{AUTHOR_CHARS_MAX, TEXT_CHARS_MAX};
use super::password::CHECK_KIB_MAX;
use super::routes::BODY_BYTES_MAX;
use super::server::{HEAD_BYTES_MAX, REFUSALS_MAX, SOCKET_BUFFER_BYTES};
use super::sessions::SESSIONS_MAX;

const UNIT: &str = include_str!("../../../systemd/ring-board@.service");
/// The bytes of one connection's tasks, requests and headers.
const CONNECTION_STATE_BYTES: usize = 16 << 10;
/// The maximum number of bytes of an event that contains a post: each byte of the post is escaped, and the event has
/// other fields.
const EVENT_BYTES_MAX: usize = 2 * 4 * (AUTHOR_CHARS_MAX + TEXT_CHARS_MAX) + 256;
/// The number of events that hyper has taken but not yet sent. The number includes the events that fit into 16 KiB, and
/// one more event.
const UNSENT_EVENTS_MAX: usize = 3;
/// The bytes of the posts in pending requests, and of the posts that one visit reads for live views. Each post counts
/// twice: in memory and as JSON.
const VISIT_BYTES_MAX: usize = 3 * 256 * EVENT_BYTES_MAX;
/// The bytes of one session.
const SESSION_BYTES: usize = 1 << 10;
/// The bytes of the program itself, its threads, the database's cache, and the ring.
const OTHER_BYTES: usize = 64 << 20;

#[test]
fn clients_cannot_fill_the_memory_of_the_unit() {
    let connection =
        2 * 2 * SOCKET_BUFFER_BYTES + HEAD_BYTES_MAX + BODY_BYTES_MAX + CONNECTION_STATE_BYTES;
    let refusal = 2 * 2 * SOCKET_BUFFER_BYTES + CONNECTION_STATE_BYTES;
    let view = (QUEUED_POSTS_MAX + UNSENT_EVENTS_MAX) * EVENT_BYTES_MAX;
    let clients = CONNECTIONS_MAX * connection + REFUSALS_MAX * refusal + VIEWS_MAX * view;
    let login = (CHECK_KIB_MAX as usize) << 10;
    let login = login + SESSIONS_MAX * SESSION_BYTES;
    let most = ANSWER_BYTES_MAX + clients + VISIT_BYTES_MAX + login + OTHER_BYTES;
    let line = UNIT
        .lines()
        .find_map(|line| line.strip_prefix("MemoryMax="));
    let limit = line.and_then(|line| line.strip_suffix('M')).unwrap();
    let limit = limit.parse::<usize>().unwrap() << 20;
    assert!(most <= limit, "{most} of {limit} bytes");
    assert!(
        limit <= 2 * most,
        "the limit is more than twice the maximum of {most} bytes"
    );
}

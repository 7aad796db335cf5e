//! The memory that clients can make a node use, compared with the limit of its unit.

use super::clients::{ANSWER_BYTES_MAX, CONNECTIONS_MAX};
use super::events::{QUEUED_POSTS_MAX, VIEWS_MAX};
use super::input::{AUTHOR_CHARS_MAX, TEXT_CHARS_MAX};
use super::routes::BODY_BYTES_MAX;
use super::server::{HEAD_BYTES_MAX, REFUSALS_MAX, SOCKET_BUFFER_BYTES};

const UNIT: &str = include_str!("../../../systemd/ring-board@.service");
/// The tasks, requests and headers of one connection.
const CONNECTION_STATE_BYTES: usize = 16 << 10;
/// A post as an event: each byte escaped, and the other fields.
const EVENT_BYTES_MAX: usize = 2 * 4 * (AUTHOR_CHARS_MAX + TEXT_CHARS_MAX) + 256;
/// Events that hyper has taken and not sent: 16 KiB, and the one that exceeds them.
const UNSENT_EVENTS_MAX: usize = 3;
/// The pending requests with posts, and the posts of one read for live views, in memory and as JSON.
const VISIT_BYTES_MAX: usize = 3 * 256 * EVENT_BYTES_MAX;
/// The program, its threads, the cache of the database, and the ring.
const OTHER_BYTES: usize = 64 << 20;

#[test]
fn clients_cannot_fill_the_memory_of_the_unit() {
    let connection =
        2 * 2 * SOCKET_BUFFER_BYTES + HEAD_BYTES_MAX + BODY_BYTES_MAX + CONNECTION_STATE_BYTES;
    let refusal = 2 * 2 * SOCKET_BUFFER_BYTES + CONNECTION_STATE_BYTES;
    let view = (QUEUED_POSTS_MAX + UNSENT_EVENTS_MAX) * EVENT_BYTES_MAX;
    let clients = CONNECTIONS_MAX * connection + REFUSALS_MAX * refusal + VIEWS_MAX * view;
    let most = ANSWER_BYTES_MAX + clients + VISIT_BYTES_MAX + OTHER_BYTES;
    let line = UNIT
        .lines()
        .find_map(|line| line.strip_prefix("MemoryMax="));
    let limit = line.and_then(|line| line.strip_suffix('M')).unwrap();
    let limit = limit.parse::<usize>().unwrap() << 20;
    assert!(most <= limit, "{most} of {limit} bytes");
    assert!(limit <= 2 * most, "the limit is far from {most} bytes");
}

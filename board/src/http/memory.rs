//! The memory that clients can make a node use, compared with the limit of its unit.

use super::clients::{ANSWERS, CONNECTIONS};
use super::events::{MOST, WAITING};
use super::input::{AUTHOR, TEXT};
use super::routes::BODY;
use super::server::{BUFFER, HEAD, REFUSALS};

const UNIT: &str = include_str!("../../../systemd/ring-board@.service");
/// The tasks, requests and headers of a connection.
const STATE: usize = 16 << 10;
/// A post as an event: each of its bytes escaped, and the other fields.
const EVENT: usize = 2 * 4 * (AUTHOR + TEXT) + 256;
/// Events that the server's library has taken and not sent: 16 KiB, and the one that exceeds it.
const UNSENT: usize = 3;
/// Posts that the machine lets wait, and posts that one visit of the token reads for live views: before and as JSON.
const VISIT: usize = 3 * 256 * EVENT;
/// The program, its threads, the database's cache, and the ring.
const REST: usize = 64 << 20;

#[test]
fn clients_cannot_fill_the_memory_of_the_unit() {
    let connection = 2 * 2 * BUFFER + HEAD + BODY + STATE;
    let refusal = 2 * 2 * BUFFER + STATE;
    let view = (WAITING + UNSENT) * EVENT;
    let clients = CONNECTIONS * connection + REFUSALS * refusal + MOST * view;
    let most = ANSWERS + clients + VISIT + REST;
    let line = UNIT
        .lines()
        .find_map(|line| line.strip_prefix("MemoryMax="));
    let limit = line.and_then(|line| line.strip_suffix('M')).unwrap();
    let limit = limit.parse::<usize>().unwrap() << 20;
    assert!(most <= limit, "{most} of {limit} bytes");
    assert!(limit <= 2 * most, "the limit is far from {most} bytes");
}

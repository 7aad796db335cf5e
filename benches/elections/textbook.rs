//! Numbers of messages according to the textbooks. A message to the next node counts as one, even if it announces the
//! result.

use ring_codec::andrews::Method;

use super::measure::{Spread, Start};

#[expect(clippy::cast_precision_loss, reason = "rings of less than 2^52 nodes")]
pub(crate) fn messages(method: Method, start: Start, nodes: usize) -> Spread {
    let n = nodes as f64;
    let harmonic: f64 = (1..=nodes).map(|k| 1.0 / k as f64).sum();
    Spread(match (method, start) {
        // Each node that starts causes one round of ELECTION and one round of COORDINATOR.
        (Method::RingBased, Start::One) => [2.0 * n; 3],
        (Method::RingBased, Start::All) => [2.0 * n * n; 3],
        // The message travels to the largest node. Two rounds follow after this message.
        (Method::ChangRoberts, Start::One) => [2.0 * n, 2.0 * n + (n - 1.0) / 2.0, 3.0 * n - 1.0],
        // The k-th largest node's candidacy ends at the next larger node.
        (Method::ChangRoberts, Start::All) => {
            [3.0 * n - 1.0, n * harmonic + n, n * (n + 1.0) / 2.0 + n]
        }
        // The k-th largest node makes all larger nodes ask. The cost is k(k - 1)/2 questions, the same number of
        // answers, and a COORDINATOR to all nodes.
        (Method::Bully, Start::One) => [n - 1.0, (n * n - 1.0) / 3.0 + n - 1.0, n * n - 1.0],
        (Method::Bully, Start::All) => [n * n - 1.0; 3],
    })
}

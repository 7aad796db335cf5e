use std::fmt::Write as _;

use ring_codec::andrews::Method;

use super::measure::{Measured, Spread, Start};
use super::page::group_digits;
use super::textbook;

pub(crate) const fn name(method: Method) -> &'static str {
    match method {
        Method::RingBased => "RING_BASED",
        Method::ChangRoberts => "CHANG_ROBERTS",
        Method::Bully => "BULLY",
    }
}

/// Returns the table. It compares the measured messages with the textbook's messages, and shows the time.
pub(crate) fn table(all: &[Measured]) -> String {
    let mut text = String::new();
    for start in Start::BOTH {
        let _ = writeln!(
            text,
            "| {} starts, nodes | | messages: best, mean, worst | the textbook's | hops: best, mean, worst |\n\
             |---:|---|---:|---:|---:|",
            start.name()
        );
        for it in all.iter().filter(|it| it.start == start) {
            let expected = textbook::messages(it.method, start, it.nodes);
            let [messages, expected, hops] = [it.messages, expected, it.time].map(triple);
            let (nodes, method) = (it.nodes, name(it.method));
            let _ = writeln!(
                text,
                "| {nodes} | {method} | {messages} | {expected} | {hops} |"
            );
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the numbers are small and rounded"
)]
fn triple(spread: Spread) -> String {
    spread
        .0
        .map(|it| group_digits(it.round() as u64))
        .join(", ")
}

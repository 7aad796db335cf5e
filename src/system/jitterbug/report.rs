//! Logs the status of a node.

use ring_control::escape_control_characters;
use ring_control::jitterbug::Status;

use crate::system::status_lines;

const NAMED_NODES_MAX: usize = 20;

pub(super) fn log(status: &Status) {
    status_lines::log(status, &state_line(status), details(status));
}

fn state_line(status: &Status) -> String {
    let address = status.address.as_deref().unwrap_or("no address");
    format!(
        "{}, token_id {}, {address}, {} nodes, {} bytes of data",
        status.state,
        status.token_id,
        status.nodes.len(),
        status.data_len
    )
}

fn details(status: &Status) -> Vec<String> {
    let troubles = status.troubles.iter();
    let troubles = troubles.map(|it| format!("trouble: {}", escape_control_characters(it)));
    let named = status.nodes.iter().take(NAMED_NODES_MAX);
    let mut nodes: Vec<_> = named.map(|node| node.address.clone()).collect();
    if status.nodes.len() > NAMED_NODES_MAX {
        nodes.push("…".to_owned());
    }
    let dropped = status.counters.dropped.iter();
    let dropped = dropped.map(|(name, count)| (format!("dropped.{name}"), *count));
    let plain = status.counters.plain.iter();
    let counters = plain
        .map(|(name, count)| (name.clone(), *count))
        .chain(dropped);
    let counters = counters.filter(|(_, count)| *count > 0);
    let counters: Vec<_> = counters
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    troubles
        .chain([
            format!("nodes: {}", nodes.join(", ")),
            format!("counters: {}", counters.join(", ")),
        ])
        .collect()
}

#[cfg(test)]
mod tests {
    use ring_proto::jitterbug::{Jitterbug, Options};

    use super::{details, state_line};
    use crate::system::jitterbug::status::status;

    #[test]
    fn the_first_line_is_the_nodes_state_and_the_others_are_details() {
        let machine = Jitterbug::new(Options::default(), 1).unwrap();
        let mut status = status("eth0", &machine, (2, None), None, Vec::new());
        status.token_id = 7;
        assert_eq!(
            state_line(&status),
            "orphan, token_id 7, no address, 0 nodes, 0 bytes of data"
        );
        assert_eq!(
            details(&status),
            ["nodes: ", "counters: dropped.trailing 2"]
        );
    }
}

//! What is wrong with a node, in sentences for its status.

use ring_control::Finding;
use ring_proto::andrews::{DatabaseState, Event, Snapshot, State};

use crate::observe::describe;

/// What the machine knows of, and what `complaint` says of the database.
pub(super) fn of(snapshot: &Snapshot, complaint: Option<String>) -> Vec<Finding> {
    let database = complaint.or_else(|| silent(snapshot.database));
    let database =
        database.map(|text| Finding::critical(format!("the database cannot be used: {text}")));
    let rows = snapshot.unknown_rows.iter();
    let rows = rows.map(|&id| Event::UnknownRow { id });
    let senders = snapshot.unknown_senders.iter();
    let senders = senders.map(|&(id, from)| Event::UnknownSender { id, from });
    let unanswered = snapshot.unanswered.map(|id| Event::Unanswered { id });
    let events = rows.chain(senders).chain(unanswered);
    let events = events.filter_map(|event| Some(Finding::degraded(describe(&event)?.text)));
    database
        .into_iter()
        .chain(ring(snapshot))
        .chain(events)
        .collect()
}

/// Whether the node is in the ring, with both its neighbours.
fn ring(snapshot: &Snapshot) -> Option<Finding> {
    let is_member = snapshot.state == State::Member;
    let has_neighbours = snapshot.successor.is_some() && snapshot.predecessor.is_some();
    (!is_member || !has_neighbours).then(|| {
        Finding::critical(format!(
            "{}: this node is not in the ring, or has no neighbour there; if that lasts, start the other nodes of the list, or look \
             at the network",
            snapshot.state.name()
        ))
    })
}

fn silent(database: DatabaseState) -> Option<String> {
    match database {
        DatabaseState::Up => None,
        DatabaseState::Slow => Some("it does not answer within --database-timeout".to_owned()),
        DatabaseState::Gone => Some("a transaction has failed, and none was done since".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use ring_proto::andrews::{Andrews, NodeList, Options};

    use super::*;

    #[test]
    fn each_trouble_has_its_sentence() {
        let list = NodeList::new([(7, ([10, 0, 0, 7], 7400).into())]).expect("it is one");
        let machine = Andrews::new(Options::new(7), list, 1).expect("they can work");
        let well = machine.snapshot();
        let texts = |found: Vec<Finding>| -> Vec<String> {
            let lasting = found.into_iter().map(|finding| finding.text);
            lasting
                .filter(|text| !text.contains("in the ring"))
                .collect()
        };
        assert_eq!(texts(of(&well, None)), [""; 0]);
        let ill = Snapshot {
            database: DatabaseState::Slow,
            unknown_rows: vec![4],
            unknown_senders: vec![(5, [10, 0, 0, 5].into())],
            unanswered: Some(3),
            ..well
        };
        let said = texts(of(&ill, None));
        for (said, words) in said.iter().zip([
            "--database-timeout",
            "the database has node 4,",
            "node 5 sends from 10.0.0.5",
            "node 3, the coordinator",
        ]) {
            assert!(said.contains(words), "{said}");
        }
        assert_eq!(said.len(), 4);
        let said = texts(of(&ill, Some("disk full".to_owned())));
        assert!(said[0].ends_with("disk full"), "{said:?}");
    }
}

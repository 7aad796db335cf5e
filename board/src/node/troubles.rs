//! Problems of a node, as sentences for its status.

use ring_control::Finding;
use ring_proto::andrews::{DatabaseState, Event, Snapshot, State};

use crate::observe::describe;
use crate::troubles;

/// Returns the problems that the state machine reports, and the current fault of the database.
pub(super) fn of(snapshot: &Snapshot, current_fault: Option<String>) -> Vec<Finding> {
    let database = current_fault.or_else(|| reason_of_state(snapshot.database));
    let database = database.map(|text| {
        let text = format!("the database cannot be used: {text}");
        Finding::new(&troubles::DATABASE_FAILED, text)
    });
    let rows = snapshot.unknown_rows.iter();
    let rows = rows.map(|&id| (&troubles::UNKNOWN_ROW, Event::UnknownRow { id }));
    let senders = snapshot.unknown_senders.iter();
    let senders =
        senders.map(|&(id, from)| (&troubles::UNKNOWN_SENDER, Event::UnknownSender { id, from }));
    let unanswered = snapshot.unanswered;
    let unanswered = unanswered.map(|id| (&troubles::UNANSWERED, Event::Unanswered { id }));
    let events = rows.chain(senders).chain(unanswered);
    let events =
        events.filter_map(|(trouble, event)| Some(Finding::new(trouble, describe(&event)?.text)));
    database
        .into_iter()
        .chain(ring(snapshot))
        .chain(events)
        .collect()
}

/// Returns a finding if the node is not in the ring, or lacks a neighbor.
fn ring(snapshot: &Snapshot) -> Option<Finding> {
    let is_member = snapshot.state == State::Member;
    let has_neighbours = snapshot.successor.is_some() && snapshot.predecessor.is_some();
    (!is_member || !has_neighbours).then(|| {
        Finding::new(
            &troubles::NOT_IN_RING,
            format!(
                "{}: this node is not in the ring, or has no neighbor in the ring; if this lasts, start the other \
                  nodes of the list, or check the network",
                snapshot.state.name()
            ),
        )
    })
}

fn reason_of_state(database: DatabaseState) -> Option<String> {
    match database {
        DatabaseState::Up => None,
        DatabaseState::Slow => {
            Some("the database does not answer within --database-timeout".to_owned())
        }
        DatabaseState::Gone => {
            Some("a transaction failed, and no write has succeeded since".to_owned())
        }
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
        let texts_of_ill = texts(of(&ill, None));
        for (texts_of_ill, words) in texts_of_ill.iter().zip([
            "--database-timeout",
            "the database has node 4,",
            "messages of node 5 from 10.0.0.5",
            "the coordinator, node 3,",
        ]) {
            assert!(texts_of_ill.contains(words), "{texts_of_ill}");
        }
        assert_eq!(texts_of_ill.len(), 4);
        let texts_of_ill = texts(of(&ill, Some("disk full".to_owned())));
        assert!(texts_of_ill[0].ends_with("disk full"), "{texts_of_ill:?}");
    }
}

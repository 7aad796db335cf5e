//! The pages and lines about a node, for people. For each of some systems, a folder with the name of the system
//! contains its page. The module `common` has the page for all other systems.

mod common;
mod ftn;
mod jitterbug;
mod lab2;
mod text;
mod view;

use ring_control::ftn::SYSTEM as FTN;
use ring_control::jitterbug::SYSTEM as JITTERBUG;
use ring_control::{EventHead, EventMessage, NodeStatus, escape_control_characters};

use ftn::ServerView;
pub(crate) use ftn::{role as server_role, size as format_size, state as server_state};
use jitterbug::NodeView;
use lab2::RingView;
#[cfg(test)]
pub(crate) use lab2::{example_status, survey_fixtures};
pub(crate) use lab2::{
    locks, mac_with_name, matrix, members, quorum_obstacle, quorum_text, survey,
};
pub(crate) use text::{new_table, short_duration, write_json};
pub(crate) use view::{Obstacle, View};

/// Returns the view of a status: the view of its system or, if there is none, the common view. A status without the
/// name of a system comes from a Lab2 ring, because Lab2 was the first system.
pub(crate) fn view(status: NodeStatus) -> serde_json::Result<Box<dyn View>> {
    Ok(match status.system().as_deref() {
        None => Box::new(RingView::new(&status)?),
        Some(FTN) => Box::new(ServerView::new(status)?),
        Some(JITTERBUG) => Box::new(NodeView::new(status)?),
        Some(_) => Box::new(status),
    })
}

/// Returns the text of an event for people, without its number, time and name. If `view` or the event contains a name
/// for a MAC address, the name follows the address.
pub(crate) fn event_text(
    event: &EventMessage,
    head: &EventHead,
    view: Option<&dyn View>,
) -> String {
    let name_of = |mac| view?.name_of(mac);
    match &head.text {
        Some(text) => escape_control_characters(text),
        None => lab2::event_text(event, name_of).unwrap_or_else(|| common::event_text(event)),
    }
}

#[cfg(test)]
mod tests {
    use super::view;
    use ring_control::{Health, NodeStatus, Reply};

    fn status(text: &str) -> NodeStatus {
        let line = format!("{{\"status\":{text}}}");
        match serde_json::from_str(&line) {
            Ok(Reply::Status(status)) => status,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_status_has_the_view_of_its_system_or_the_common_one() {
        let text = r#"{"system":"note","role":"leader","counters":{"grants":3}}"#;
        let any = view(status(text)).expect("any object has a view");
        assert_eq!(
            any.node().verdict().health,
            Health::Degraded,
            "it does not tell its health"
        );
        assert_eq!(any.node().json().text(), text);
        let mut page = Vec::new();
        any.write_page(&mut page).expect("a vector takes all");
        let page = String::from_utf8(page).expect("it is text");
        assert!(page.contains("leader") && page.contains("grants"), "{page}");
        assert_eq!(any.obstacle(false), None);
        let ill = r#"{"system":"note","health":"critical","troubles":["no room"]}"#;
        let ill = view(status(ill)).expect("a view").node().verdict();
        assert_eq!((ill.health, ill.troubles.len()), (Health::Critical, 1));
        let broken = view(status(r#"{"system":"ftn","health":"healthy"}"#)).err();
        let error = broken.expect("a server's status has more keys");
        assert!(error.to_string().contains("missing field"), "{error}");
    }

    #[test]
    fn a_status_without_a_system_must_be_a_rings() {
        let error = view(status("{}")).err().expect("it is no ring's");
        assert!(
            error.to_string().contains("missing field `interface`"),
            "{error}"
        );
    }
}

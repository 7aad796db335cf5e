//! A node as people want to see it: a system's own page in a folder of its name, or that of any system.

mod common;
mod ftn;
mod jitterbug;
mod lab2;
mod text;
mod view;

use ring_control::ftn::SYSTEM as FTN;
use ring_control::jitterbug::SYSTEM as JITTERBUG;
use ring_control::{EventHead, EventMessage, NodeStatus, harmless};

use common::AnyView;
use ftn::ServerView;
use jitterbug::NodeView;
use lab2::RingView;
pub(crate) use lab2::members;
pub(crate) use text::json;
pub(crate) use view::{Obstacle, View};

/// Returns the view of a status: its system's, or that of any JSON object. A status that does not name its system is
/// a Lab2 ring's, whose was there first.
pub(crate) fn view(status: NodeStatus) -> serde_json::Result<Box<dyn View>> {
    Ok(match status.system().as_deref() {
        None => Box::new(RingView::of(&status)?),
        Some(FTN) => Box::new(ServerView::of(status)?),
        Some(JITTERBUG) => Box::new(NodeView::of(status)?),
        Some(_) => Box::new(AnyView::of(status)),
    })
}

/// Returns what a person is shown of an event, besides its number, time and name.
pub(crate) fn event_text(event: &EventMessage, head: &EventHead) -> String {
    match &head.text {
        Some(text) => harmless(text),
        None => lab2::event_text(event).unwrap_or_else(|| common::event_text(event)),
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
    fn a_status_is_shown_by_its_system_and_that_of_an_unknown_one_as_it_is() {
        let text = r#"{"system":"note","role":"leader","counters":{"grants":3}}"#;
        let any = view(status(text)).expect("any object has a view");
        assert_eq!(
            any.verdict().health,
            Health::Degraded,
            "it does not tell its health"
        );
        assert_eq!(any.json().json().text(), text);
        let mut page = Vec::new();
        any.show(&mut page).expect("a vector takes all");
        let page = String::from_utf8(page).expect("it is text");
        assert!(page.contains("leader") && page.contains("grants"), "{page}");
        assert_eq!(any.obstacle(false), None);
        let ill = r#"{"system":"note","health":"critical","troubles":["no room"]}"#;
        let ill = view(status(ill)).expect("a view").verdict();
        assert_eq!((ill.health, ill.troubles.len()), (Health::Critical, 1));
        let broken = view(status(r#"{"system":"ftn","health":"healthy"}"#)).err();
        let error = broken.expect("a server's status has more keys");
        assert!(error.to_string().contains("missing field"), "{error}");
    }

    #[test]
    fn what_names_no_system_is_a_rings_or_said_to_be_none() {
        let error = view(status("{}")).err().expect("it is no ring's");
        assert!(
            error.to_string().contains("missing field `interface`"),
            "{error}"
        );
    }
}

//! The systems that `ringctl` knows: their commands, and how their nodes' statuses and events are shown. Outside a
//! system's own folders this is the one file of the room that names it.

use std::io::{self, Write};

use clap::Subcommand;

use super::Options;
use super::ftn::{self, TokenOptions};
use super::jitterbug;
use super::lab2::{self, RingCommand, RingView};
use super::render::common::{self, AnyView};
use super::render::ftn::ServerView;
use super::render::jitterbug::NodeView;
use crate::control::ftn::SYSTEM as FTN;
use crate::control::jitterbug::{LEADER, ORPHAN, SYSTEM as JITTERBUG, WAITER};
use crate::control::lab2::parse_ring_name;
use crate::control::{EventHead, EventMessage, NodeName, NodeStatus, Verdict, harmless};

/// What can be done with nodes of one system only.
#[derive(Debug, Clone, Subcommand)]
pub enum SystemCommand {
    /// Of a Lab2 ring.
    #[command(flatten)]
    Ring(RingCommand),
    /// Hold tokens of the FTN token service, and get and set their data.
    Token(TokenOptions),
    /// What a keeper starts to hold a token for it.
    #[command(hide = true)]
    GrantToken,
}

impl SystemCommand {
    /// Carries it out, prints to `output`, and returns the process's exit code.
    ///
    /// # Errors
    /// An [`Error`](super::Error), or that `output` takes nothing.
    pub(super) fn carry_out(
        &self,
        options: &Options,
        output: &mut impl Write,
    ) -> anyhow::Result<u8> {
        match self {
            Self::Ring(command) => lab2::carry_out(command, options, output),
            Self::Token(token) => ftn::carry_out(token, output),
            Self::GrantToken => {
                ftn::grant()?;
                Ok(0)
            }
        }
    }
}

impl SystemCommand {
    /// Whether the process that has called `ringctl` matters.
    pub(super) const fn is_for_its_caller(&self) -> bool {
        match self {
            Self::Ring(command) => command.is_for_its_caller(),
            Self::Token(_) | Self::GrantToken => false,
        }
    }
}

/// What `ringctl run --help` says at length.
pub(super) fn run_help() -> String {
    [lab2::help::RUN, jitterbug::help::RUN, lab2::help::RUN_CODES].join("\n\n")
}

/// What `ringctl lock --help` says at length.
pub(super) fn lock_help() -> String {
    let promise = [lab2::help::LOCK, jitterbug::help::LOCK].join(" ");
    [&promise, lab2::help::LOCK_CODES].join("\n\n")
}

/// A node's status, as far as its system is known here.
pub(super) trait View {
    /// Returns the verdict of the node on itself.
    fn verdict(&self) -> Verdict;

    /// The status, with what `ringctl` adds to it.
    fn json(&self) -> NodeStatus;

    /// Writes the page for people.
    ///
    /// # Errors
    /// `output` takes nothing.
    fn show(&self, output: &mut dyn Write) -> io::Result<()>;

    /// Returns what is to be known of it in one line.
    fn line(&self) -> String;

    /// Returns why a lock of this node is not granted at once, if it has any.
    fn obstacle(&self) -> Option<String>;
}

/// Returns the view of a status: its system's, or that of any JSON object. A status that does not name its system is
/// a Lab2 ring's, whose was there first.
///
/// # Errors
/// It is not what its system's statuses are.
pub(super) fn view(status: NodeStatus) -> serde_json::Result<Box<dyn View>> {
    Ok(match status.system().as_deref() {
        None => Box::new(RingView::of(&status)?),
        Some(FTN) => Box::new(ServerView::of(status)?),
        Some(JITTERBUG) => Box::new(NodeView::of(status)?),
        Some(_) => Box::new(AnyView::of(status)),
    })
}

/// What can be waited for at a node of a system: its states, as its status and its events have them in `state`, and `held`.
pub(super) fn waited_for(status: &NodeStatus) -> &'static [&'static str] {
    match status.system().as_deref() {
        None => &["OWNER", "WAITER", "LOOSER", "GENERATING", "held"],
        Some(JITTERBUG) => &[LEADER, WAITER, ORPHAN],
        Some(_) => &[],
    }
}

/// Returns what a person is shown of an event, besides its number, time and name.
pub(super) fn event_text(event: &EventMessage, head: &EventHead) -> String {
    match &head.text {
        Some(text) => harmless(text),
        None => lab2::event_text(event).unwrap_or_else(|| common::event_text(event)),
    }
}

/// The node that a user means by a name, be it a ring's or `SYSTEM-PLACE`.
///
/// # Errors
/// It is no name: why, as a sentence.
pub(super) fn parse_name(name: &str) -> Result<NodeName, String> {
    // A ring's name may be spelled in several ways; all others are as they are, and so is what has no colon.
    parse_ring_name(name)
}

#[cfg(test)]
mod tests {
    use super::view;
    use crate::control::{Health, NodeStatus, Reply, Verdict};

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
        assert_eq!(any.verdict(), Verdict::default());
        assert_eq!(any.json().json().text(), text);
        let mut page = Vec::new();
        any.show(&mut page).expect("a vector takes all");
        let page = String::from_utf8(page).expect("it is text");
        assert!(page.contains("leader") && page.contains("grants"), "{page}");
        assert_eq!(any.obstacle(), None);
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

//! The systems that `ringctl` knows: their commands, and how their nodes' statuses and events are shown. Outside a
//! system's own folders this is the one file of the room that names it.

use std::io::{self, Write};
use std::path::Path;

use clap::Subcommand;
use ring_control::ftn::SYSTEM as FTN;
use ring_control::jitterbug::{LEADER, ORPHAN, SYSTEM as JITTERBUG, WAITER};
use ring_control::lab2::parse_ring_name;
use ring_control::{EventHead, EventMessage, NodeName, NodeStatus, Verdict, harmless};

use super::Options;
use super::ftn::{self, SERVERS, TokenOptions};
use super::jitterbug;
use super::lab2::{self, RingCommand, RingView};
use super::render::common::{self, AnyView};
use super::render::ftn::ServerView;
use super::render::jitterbug::NodeView;

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
    /// Whether nodes of a system can do it; `None` is Lab2.
    pub(super) fn is_served_by(&self, system: Option<&str>) -> bool {
        match (self, system) {
            (Self::Ring(RingCommand::Wait { target, .. }), system) => can_be(system, target.name()),
            (Self::Ring(_), None) => true,
            (Self::Ring(command), Some(JITTERBUG)) => !command.is_for_rings_only(),
            (Self::Ring(_), Some(_)) | (Self::Token(_) | Self::GrantToken, _) => false,
        }
    }

    /// Returns a text in which each MAC address has the name of its machine behind it, as far as the node at `socket` knows
    /// the machines.
    pub(super) fn named(&self, socket: &Path, text: String) -> String {
        match self {
            Self::Ring(_) => lab2::named_by(socket, text),
            Self::Token(_) | Self::GrantToken => text,
        }
    }

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

    /// Returns a text in which each MAC address has the name of its machine behind it, if one is known.
    fn named(&self, text: String) -> String {
        text
    }

    /// Returns why a lock of this node is not granted at once; `None`: it grants none.
    fn obstacle(&self, requires_quorum: bool) -> Option<Obstacle>;
}

/// Why a lock is not granted at once.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Obstacle {
    /// The reason.
    pub text: String,
    /// For how long that has been so, as a text that follows it.
    pub since: String,
    /// Whether it does not pass by itself.
    pub is_lasting: bool,
}

impl Obstacle {
    /// Makes a reason that passes by itself.
    pub(super) fn passing(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            since: String::new(),
            is_lasting: false,
        }
    }

    /// Makes a reason that does not pass by itself.
    pub(super) fn lasting(text: impl Into<String>) -> Self {
        Self {
            is_lasting: true,
            ..Self::passing(text)
        }
    }
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
/// `None` is Lab2.
pub(super) fn waited_for(system: Option<&str>) -> &'static [&'static str] {
    match system {
        None => &["OWNER", "WAITER", "LOOSER", "GENERATING", "held"],
        Some(JITTERBUG) => &[LEADER, WAITER, ORPHAN],
        Some(_) => &[],
    }
}

/// Whether a node of a system can be in a state that is waited for.
pub(super) fn can_be(system: Option<&str>, state: &str) -> bool {
    let known = waited_for(system);
    known.iter().any(|name| name.eq_ignore_ascii_case(state))
}

/// Returns the command that starts a node of this name, or any node of a ring.
pub(super) fn start_command(name: Option<&NodeName>) -> String {
    let Some(name) = name.map(NodeName::to_string) else {
        return "sudo ringd IFACE".to_owned();
    };
    match name.split_once('-') {
        Some((FTN, index)) => {
            format!("sudo ringd ftn --servers {SERVERS} --index {index}")
        }
        Some((JITTERBUG, interface)) => format!("sudo ringd jitterbug {interface}"),
        Some(("board", id)) => format!("sudo ring-board -i {id} -f FILE"),
        _ => match name.split_once(':') {
            Some((interface, ethertype)) => {
                format!("sudo ringd {interface} --ethertype {ethertype}")
            }
            None => format!("sudo ringd {name}"),
        },
    }
}

/// Returns the command that starts a node of a system that can do what is asked.
pub(super) fn start_serving(serves: impl Fn(Option<&str>) -> bool) -> &'static str {
    if serves(None) {
        "sudo ringd IFACE"
    } else {
        "sudo ringd jitterbug IFACE"
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
    use clap::Parser;

    use super::{Options, start_command, start_serving, view};
    use ring_control::{Health, NodeName, NodeStatus, Reply};

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
    fn a_node_that_does_not_run_is_started_by_the_command_of_its_system() {
        for (name, command) in [
            ("eth0", "sudo ringd eth0"),
            ("br-lan", "sudo ringd br-lan"),
            ("eth0:0x88b6", "sudo ringd eth0 --ethertype 0x88b6"),
            (
                "ftn-0",
                "sudo ringd ftn --servers /etc/ringd/ftn.servers --index 0",
            ),
            ("jitterbug-eth0", "sudo ringd jitterbug eth0"),
            ("board-1", "sudo ring-board -i 1 -f FILE"),
        ] {
            assert_eq!(start_command(Some(&NodeName::new(name))), command);
        }
        assert_eq!(start_command(None), "sudo ringd IFACE");
    }

    #[test]
    fn a_command_goes_to_the_systems_that_can_do_it() {
        let served = |words: &str| -> Vec<&str> {
            let given = ["ringctl"].into_iter().chain(words.split(' '));
            let command = Options::try_parse_from(given).expect("it is right").command;
            let systems = [None, Some("jitterbug"), Some("ftn"), Some("board")];
            let serving = systems.into_iter().filter(|it| command.is_served_by(*it));
            serving.map(|system| system.unwrap_or("lab2")).collect()
        };
        for (words, systems) in [
            ("status", &["lab2", "jitterbug", "ftn", "board"][..]),
            ("watch", &["lab2", "jitterbug", "ftn", "board"]),
            ("run true", &["lab2", "jitterbug"]),
            ("lock", &["lab2", "jitterbug"]),
            ("unlock", &["lab2", "jitterbug"]),
            ("yield", &["lab2", "jitterbug"]),
            ("yield node3", &["lab2"]),
            ("data get", &["lab2", "jitterbug"]),
            ("data set x", &["lab2"]),
            ("once nightly --every 20h true", &["lab2"]),
            ("pause", &["lab2"]),
            ("resume", &["lab2"]),
            ("forget node3", &["lab2"]),
            ("wait OWNER", &["lab2"]),
            ("wait waiter", &["lab2", "jitterbug"]),
            ("wait leader", &["jitterbug"]),
        ] {
            assert_eq!(served(words), systems, "{words}");
        }
    }

    #[test]
    fn a_machine_on_which_no_node_can_do_it_is_told_what_to_start() {
        for (words, start) in [
            ("yield node3", "sudo ringd IFACE"),
            ("wait leader", "sudo ringd jitterbug IFACE"),
        ] {
            let given = ["ringctl"].into_iter().chain(words.split(' '));
            let command = Options::try_parse_from(given).expect("it is right").command;
            assert_eq!(start_serving(|it| command.is_served_by(it)), start);
        }
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

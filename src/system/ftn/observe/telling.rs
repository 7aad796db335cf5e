//! What an event is called, how much it matters, and the sentence for it.

use std::net::SocketAddr;
use std::time::Duration;

use ring_codec::ftn::ServerState;
use ring_proto::ftn::server::{Difference, Event, Holding, RoleKind, Setting};
use ring_proto::time::nanos;
use ring_text::format_duration;
use serde::Serialize;
use tracing::Level;

use super::names::{Names, TokenName, state_name};

/// How often an event happens: that limits its lines, and says who gets it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Rate {
    /// Rarely.
    #[default]
    Rare,
    /// With each grant.
    Grant,
    /// For each session of a client that gives its name.
    Introduction,
    /// With each session that begins or ends in order.
    Session,
    /// With each session that ends by silence.
    Expiry,
    /// With each message of a sender with another list.
    Stranger,
    /// As often as strangers please.
    Drop,
}

/// What an event is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Keys {
    /// How often it happens.
    #[serde(skip)]
    pub rate: Rate,
    /// The configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<u64>,
    /// The server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<usize>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<i32>,
    /// Where that is from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<SocketAddr>,
    /// A token's name, escaped and cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The name that the holder's program gave itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The fencing number of its grant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fencing_number: Option<String>,
    /// For how long it was held, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_ns: Option<u64>,
}

type Line = ring_host::observe::Line<Keys>;

/// Says what a line is about.
trait About {
    fn at(self, rate: Rate) -> Self;
    fn of_configuration(self, configuration: u64) -> Self;
    fn of_server(self, server: Option<usize>) -> Self;
    fn of_address(self, address: SocketAddr) -> Self;
    fn of_session(self, session: i32, address: SocketAddr) -> Self;
}

impl About for Line {
    fn at(mut self, rate: Rate) -> Self {
        self.keys.rate = rate;
        self
    }

    fn of_configuration(mut self, configuration: u64) -> Self {
        self.keys.configuration = Some(configuration);
        self
    }

    fn of_server(mut self, server: Option<usize>) -> Self {
        self.keys.server = server;
        self
    }

    fn of_address(mut self, address: SocketAddr) -> Self {
        self.keys.address = Some(address);
        self
    }

    fn of_session(mut self, session: i32, address: SocketAddr) -> Self {
        self.keys.session = Some(session);
        self.of_address(address)
    }
}

/// Describes events. It remembers which server was in which state, to say what has changed.
#[derive(Debug)]
pub(crate) struct News {
    names: Names,
    states: Vec<ServerState>,
    /// The survey that is under way asks clients.
    asks: bool,
}

impl News {
    /// Nothing happened yet.
    pub(crate) fn new(names: Names) -> Self {
        let states = names.iter().map(|_| ServerState::Down).collect();
        Self {
            names,
            states,
            asks: false,
        }
    }

    /// Describes an event. `held`: for how long a token was held that no longer is.
    pub(crate) fn describe(&mut self, event: &Event, held: Option<Duration>) -> Line {
        match event {
            Event::SessionIntroduced {
                id,
                address,
                program,
            } => introduced((*id, *address), program),
            Event::TokenGranted(it) => token("token_granted", it, "holds", None),
            Event::TokenReturned(it) => token("token_returned", it, "has returned", held),
            Event::TokenLost(it) => token("token_lost", it, "has ended, so it no longer holds", held),
            Event::RoleChanged { role, leader } => self.role_changed(*role, *leader),
            Event::TookOver {
                configuration,
                warm,
            } => took_over(*configuration, *warm),
            Event::ConfigurationChanged {
                configuration,
                states,
            } => self.configuration_changed(*configuration, states),
            Event::StateChanged { state } => state_changed(*state),
            Event::AuthorityChanged { has } => authority_changed(*has),
            Event::GraceEnded => Line::new(
                "grace_ended",
                Level::INFO,
                "the grace is over: sessions of an earlier run no longer come back".to_owned(),
            ),
            Event::SessionBegun { id, address } => {
                session("session_begun", Level::DEBUG, (*id, *address), "has begun")
            }
            Event::SessionAdopted { id, address } => {
                let what = "has come back from an earlier run";
                session("session_adopted", Level::DEBUG, (*id, *address), what)
            }
            Event::SessionExpired { id, address } => {
                let what = "has ended: its client was silent for too long, and what it held is free";
                session("session_expired", Level::INFO, (*id, *address), what).at(Rate::Expiry)
            }
            Event::SessionLoggedOut { id, address } => {
                session("session_logged_out", Level::DEBUG, (*id, *address), "has logged out")
            }
            Event::SurveyBegun {
                configuration,
                sessions,
            } => {
                self.asks = *sessions > 0;
                let what = format!("asking {sessions} clients what they hold");
                self.survey("survey_begun", *configuration, &what)
            }
            Event::SurveyEnded { configuration } => {
                self.survey("survey_ended", *configuration, "all tokens are known")
            }
            Event::SurveyAborted { configuration } => {
                self.survey("survey_aborted", *configuration, "given up for a later one")
            }
            Event::TookOverTokens { server, held } => self.took_over_tokens(*server, *held),
            Event::Reset { tokens_forgotten } => reset(*tokens_forgotten),
            Event::Transferred { server, tokens } => {
                let to = self.names.server(*server);
                let text = format!("{} handed to {to}, which serves them now", some(*tokens));
                let level = if *tokens > 0 { Level::INFO } else { Level::DEBUG };
                Line::new("transferred", level, text).of_server(Some(*server))
            }
            Event::Conflict { name } => conflict(name),
            Event::ConflictingData { name } => conflicting_data(name),
            Event::OptionsCompared {
                server,
                differences,
            } => self.options_compared(*server, differences),
            Event::OtherList { from, signature } => other_list(*from, *signature),
            Event::Dropped { from, kind, reason } => {
                let kind = kind.map_or_else(|| "a datagram".to_owned(), |kind| kind.to_string());
                dropped(*from, &kind, reason.text())
            }
            Event::StorageChanged { failed } => storage_changed(*failed),
            Event::NumberAhead {
                server,
                configuration,
            } => {
                let text = format!(
                    "{} names the configuration {configuration}, too far ahead: a clock or a state file is wrong; see \
                     \"When numbers have run into a limit\" in docs/ftn.md",
                    self.names.server(*server)
                );
                Line::new("number_ahead", Level::WARN, text).of_server(Some(*server))
            }
            Event::NumbersExhausted => Line::new(
                "numbers_exhausted",
                Level::ERROR,
                "no larger configuration number is left: this server cannot lead. Stop all servers, remove their \
                 state files, and start them again"
                    .to_owned(),
            ),
            Event::Misplaced {
                server,
                from,
                listed,
            } => self.misplaced(*server, *from, *listed),
            Event::ShutDown { left_behind } => left(*left_behind),
        }
    }

    fn misplaced(&self, server: usize, from: SocketAddr, listed: Option<SocketAddr>) -> Line {
        let is = listed.map_or_else(
            || "has no address here".to_owned(),
            |it| format!("is {it} here"),
        );
        let text = format!(
            "{from} says that it is {}, which {is}: its messages are dropped; if that server has moved, see that its name is \
             resolved to its present address on all machines",
            self.names.server(server)
        );
        Line::new("misplaced", Level::WARN, text)
            .of_server(Some(server))
            .of_address(from)
            .at(Rate::Stranger)
    }

    fn options_compared(&self, server: usize, differences: &[Difference]) -> Line {
        let (level, text) = if differences.is_empty() {
            let name = self.names.server(server);
            (Level::INFO, format!("{name} has the same options now"))
        } else {
            (Level::WARN, other_options(&self.names, server, differences))
        };
        let event = if differences.is_empty() {
            "options_agree"
        } else {
            "options_differ"
        };
        Line::new(event, level, text).of_server(Some(server))
    }

    fn role_changed(&self, role: RoleKind, leader: Option<usize>) -> Line {
        let text = match (role, leader) {
            (RoleKind::Leader, _) => "this server leads".to_owned(),
            (RoleKind::Follower, Some(leader)) => format!("{} leads", self.names.server(leader)),
            (RoleKind::Follower, None) => "some other server leads".to_owned(),
            (RoleKind::Electing, _) => "no leader is heard: looking for one".to_owned(),
        };
        Line::new("role_changed", Level::INFO, text).of_server(leader)
    }

    fn configuration_changed(&mut self, configuration: u64, states: &[ServerState]) -> Line {
        let mut changed = Vec::new();
        let mut is_down = false;
        for (server, (before, state)) in self.states.iter().zip(states).enumerate() {
            if before != state {
                is_down |= *state == ServerState::Down;
                changed.push(format!(
                    "{} is {}",
                    self.names.server(server),
                    state_name(*state)
                ));
            }
        }
        self.states = states.to_vec();
        let changed = if changed.is_empty() {
            "all servers are as before".to_owned()
        } else {
            changed.join(", ")
        };
        let level = if is_down { Level::WARN } else { Level::INFO };
        Line::new(
            "configuration_changed",
            level,
            format!("configuration {configuration}: {changed}"),
        )
        .of_configuration(configuration)
    }

    /// A survey that asks nobody is over at once.
    fn survey(&self, event: &'static str, configuration: u64, what: &str) -> Line {
        let level = if self.asks { Level::INFO } else { Level::DEBUG };
        let text = format!("survey of configuration {configuration}: {what}");
        Line::new(event, level, text).of_configuration(configuration)
    }

    fn took_over_tokens(&self, server: Option<usize>, held: usize) -> Line {
        let held = some(held);
        let text = match server {
            Some(server) => format!(
                "serving what {} served: clients hold {held} of it; what nobody held is lost",
                self.names.server(server)
            ),
            None => format!("clients hold {held} that were granted before this survey"),
        };
        let level = if server.is_some() {
            Level::WARN
        } else {
            Level::INFO
        };
        Line::new("took_over_tokens", level, text).of_server(server)
    }
}

fn took_over(configuration: u64, warm: bool) -> Line {
    let how = if warm {
        "with the sessions and states that it knew from its predecessor"
    } else {
        "knowing nothing: sessions of an earlier run may come back before anything is granted"
    };
    let text = format!("took over the lead by configuration {configuration}, {how}");
    let level = if warm { Level::INFO } else { Level::WARN };
    Line::new("took_over", level, text).of_configuration(configuration)
}

fn state_changed(state: ServerState) -> Line {
    let means = match state {
        ServerState::Down => "nothing is served here",
        ServerState::Booting => "finding out who holds what before anything is served",
        ServerState::Ready => "serving its tokens",
    };
    let text = format!("this server is {}: {means}", state_name(state));
    Line::new("state_changed", Level::INFO, text)
}

fn authority_changed(has: bool) -> Line {
    if has {
        let text =
            "a quorum of servers acknowledges this leader: it may serve and change".to_owned();
        return Line::new("authority_gained", Level::INFO, text);
    }
    let text = "no quorum of servers acknowledges this leader: it serves nothing and changes nothing until \
                one does"
        .to_owned();
    Line::new("authority_lost", Level::WARN, text)
}

fn introduced((id, address): (i32, SocketAddr), program: &str) -> Line {
    let text = format!("session {id} of {address} is {program}");
    let mut line = Line::new("session_introduced", Level::INFO, text)
        .of_session(id, address)
        .at(Rate::Introduction);
    line.keys.program = Some(program.to_owned());
    line
}

fn token(event: &'static str, holding: &Holding, does: &str, held: Option<Duration>) -> Line {
    let Holding {
        name,
        session,
        address,
        program,
        number,
        ..
    } = holding;
    let token = TokenName(name);
    let program = program.as_deref().map(str::to_owned);
    let who = match &program {
        Some(program) => format!("session {session} of {address} ({program})"),
        None => format!("session {session} of {address}"),
    };
    let after = held.map_or_else(String::new, |held| {
        format!(" after {}", format_duration(held))
    });
    let text = format!("{who} {does} the token {token} with number {number}{after}");
    let mut line = Line::new(event, Level::INFO, text)
        .of_session(*session, *address)
        .at(Rate::Grant);
    line.keys.token = Some(token.to_string());
    line.keys.program = program;
    line.keys.fencing_number = Some(number.to_string());
    line.keys.held_ns = held.map(nanos);
    line
}

fn session(
    event: &'static str,
    level: Level,
    (id, address): (i32, SocketAddr),
    what: &str,
) -> Line {
    let text = format!("session {id} of {address} {what}");
    Line::new(event, level, text)
        .of_session(id, address)
        .at(Rate::Session)
}

fn dropped(from: SocketAddr, what: &str, why: &str) -> Line {
    let text = format!("dropped {what} of {from}: {why}");
    Line::new("dropped", Level::DEBUG, text)
        .of_address(from)
        .at(Rate::Drop)
}

fn reset(tokens_forgotten: usize) -> Line {
    let text = format!(
        "the other servers took this one for DOWN, and serve its tokens: {} forgotten here",
        some(tokens_forgotten)
    );
    Line::new("reset", Level::WARN, text)
}

fn conflict(name: &[u8]) -> Line {
    let text = format!(
        "clients claim the token {} in ways that exclude each other: all of them share it now. Two servers have \
         led at a time; --quorum majority prevents that",
        TokenName(name)
    );
    Line::new("conflict", Level::ERROR, text)
}

fn conflicting_data(name: &[u8]) -> Line {
    let text = format!(
        "clients have different data of the token {}: an update was lost with its server",
        TokenName(name)
    );
    Line::new("conflicting_data", Level::WARN, text)
}

fn left(left_behind: usize) -> Line {
    let (level, lost) = match left_behind {
        0 => (Level::INFO, String::new()),
        some => (
            Level::WARN,
            format!(
                "; the data of {some} tokens that nobody holds are lost: no other server has taken them over in time"
            ),
        ),
    };
    let text = format!("left the servers: nothing is served here from now on{lost}");
    Line::new("left", level, text)
}

/// Says how the options of another server differ from those of this one, and what follows.
pub(crate) fn other_options(names: &Names, server: usize, differences: &[Difference]) -> String {
    let value = |setting| match setting {
        Setting::Time(time) => format_duration(time),
        Setting::Count(count) => count.to_string(),
    };
    let differences = differences.iter().map(|it| {
        let Difference {
            option,
            own,
            theirs,
        } = *it;
        format!("{option} {} there, {} here", value(theirs), value(own))
    });
    let differences: Vec<_> = differences.collect();
    format!(
        "{} has other options: {}; give all servers the same. Until then clients use the shortest client timeout, and \
         leaders the largest quorum up to a majority",
        names.server(server),
        differences.join(", ")
    )
}

fn other_list(from: SocketAddr, signature: i32) -> Line {
    let text = format!(
        "{from} has another list of servers (signature {signature}): give all servers and clients the same \
         file, line by line; nothing of it is answered"
    );
    Line::new("other_list", Level::WARN, text)
        .of_address(from)
        .at(Rate::Stranger)
}

fn storage_changed(failed: bool) -> Line {
    if failed {
        let text = "cannot write the state file: this server says nothing until it can".to_owned();
        return Line::new("storage_failed", Level::ERROR, text);
    }
    let text = "the state file can be written again".to_owned();
    Line::new("storage_restored", Level::INFO, text)
}

/// `1 token`, `3 tokens`.
fn some(tokens: usize) -> String {
    if tokens == 1 {
        "1 token".to_owned()
    } else {
        format!("{tokens} tokens")
    }
}

//! Describes each event by a name, a level and a sentence.

use std::net::SocketAddr;
use std::time::Duration;

use ring_codec::ftn::ServerState;
use ring_proto::ftn::server::{Event, OptionDifference, OptionValue, RoleKind, TokenHold};
use ring_proto::time::nanos;
use ring_text::format_duration;
use serde::Serialize;
use tracing::Level;

use super::names::{Names, TokenName, state_name};
use crate::system::ftn::events;

/// The frequency class of an event. The class of an event determines the receivers of the event, and the rate limit of
/// its log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum EventRate {
    /// The event happens rarely.
    #[default]
    Rare,
    /// The event happens with each grant.
    Grant,
    /// The event happens for each session whose client gives its name.
    Introduction,
    /// The event happens for each session that begins, or that ends in an orderly way.
    Session,
    /// The event happens for each session that ends because its client is silent.
    Expiry,
    /// The event happens for each message of a sender with a different list.
    Stranger,
    /// The event happens as often as other machines cause it.
    Drop,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Keys {
    #[serde(skip)]
    pub rate: EventRate,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<i32>,
    /// The address of the session or sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<SocketAddr>,
    /// A token's name, escaped and truncated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The name that the holder's program gave itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fencing_number: Option<String>,
    /// The duration of the hold, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_ns: Option<u64>,
}

type Line = ring_host::observe::Line<Keys>;

trait WithKeys {
    fn with_rate(self, rate: EventRate) -> Self;
    fn with_configuration(self, configuration: u64) -> Self;
    fn with_server(self, server: Option<usize>) -> Self;
    fn with_address(self, address: SocketAddr) -> Self;
    fn with_session(self, session: i32, address: SocketAddr) -> Self;
}

impl WithKeys for Line {
    fn with_rate(mut self, rate: EventRate) -> Self {
        self.keys.rate = rate;
        self
    }

    fn with_configuration(mut self, configuration: u64) -> Self {
        self.keys.configuration = Some(configuration);
        self
    }

    fn with_server(mut self, server: Option<usize>) -> Self {
        self.keys.server = server;
        self
    }

    fn with_address(mut self, address: SocketAddr) -> Self {
        self.keys.address = Some(address);
        self
    }

    fn with_session(mut self, session: i32, address: SocketAddr) -> Self {
        self.keys.session = Some(session);
        self.with_address(address)
    }
}

/// Describes events. A describer remembers the state of each server. So it can find the servers whose state changed.
#[derive(Debug)]
pub(crate) struct Describer {
    names: Names,
    states: Vec<ServerState>,
    /// Whether the current survey asks clients about their tokens.
    asks_clients: bool,
}

impl Describer {
    pub(crate) fn new(names: Names) -> Self {
        let states = names.iter().map(|_| ServerState::Down).collect();
        Self {
            names,
            states,
            asks_clients: false,
        }
    }

    /// Describes an event. If the event ends a hold, `held` is the duration of this hold.
    pub(crate) fn describe(&mut self, event: &Event, held: Option<Duration>) -> Line {
        match event {
            Event::SessionIntroduced {
                id,
                address,
                program,
            } => describe_introduction((*id, *address), program),
            Event::TokenGranted(it) => describe_token(events::TOKEN_GRANTED, it, "holds", None),
            Event::TokenReturned(it) => describe_token(events::TOKEN_RETURNED, it, "has returned", held),
            Event::TokenLost(it) => describe_token(events::TOKEN_LOST, it, "has ended, so it no longer holds", held),
            Event::RoleChanged { role, leader } => self.describe_role(*role, *leader),
            Event::TookOver {
                configuration,
                warm,
            } => describe_takeover(*configuration, *warm),
            Event::ConfigurationChanged {
                configuration,
                states,
            } => self.describe_configuration(*configuration, states),
            Event::StateChanged { state } => describe_state(*state),
            Event::AuthorityChanged { is_held: has } => describe_authority(*has),
            Event::GraceEnded => Line::new(
                events::GRACE_ENDED,
                Level::INFO,
                "the grace period is over: sessions of an earlier run can no longer come back".to_owned(),
            ),
            Event::SessionBegun { id, address } => {
                describe_session(events::SESSION_BEGUN, Level::DEBUG, (*id, *address), "has begun")
            }
            Event::SessionAdopted { id, address } => {
                let what = "has come back from an earlier run";
                describe_session(events::SESSION_ADOPTED, Level::DEBUG, (*id, *address), what)
            }
            Event::SessionExpired { id, address } => {
                let what = "has expired: its client was silent for too long, and its tokens are free";
                describe_session(events::SESSION_EXPIRED, Level::INFO, (*id, *address), what)
                    .with_rate(EventRate::Expiry)
            }
            Event::SessionLoggedOut { id, address } => {
                describe_session(events::SESSION_LOGGED_OUT, Level::DEBUG, (*id, *address), "has logged out")
            }
            Event::SurveyBegun {
                configuration,
                sessions,
            } => {
                self.asks_clients = *sessions > 0;
                let what = format!("asking {sessions} clients for their tokens");
                self.describe_survey(events::SURVEY_BEGUN, *configuration, &what)
            }
            Event::SurveyEnded { configuration } => {
                self.describe_survey(events::SURVEY_ENDED, *configuration, "all tokens are known")
            }
            Event::SurveyAborted { configuration } => {
                self.describe_survey(events::SURVEY_ABORTED, *configuration, "replaced by a later survey")
            }
            Event::TookOverTokens { server, held } => self.describe_token_takeover(*server, *held),
            Event::Reset { tokens_forgotten } => describe_reset(*tokens_forgotten),
            Event::Transferred { server, tokens } => {
                let to = self.names.server(*server);
                let text = format!("{} handed over to {to}, which serves them", count_tokens(*tokens));
                let level = if *tokens > 0 { Level::INFO } else { Level::DEBUG };
                Line::new(events::TRANSFERRED, level, text).with_server(Some(*server))
            }
            Event::Conflict { name } => describe_conflict(name),
            Event::ConflictingData { name } => describe_conflicting_data(name),
            Event::OptionsCompared {
                server,
                differences,
            } => self.describe_options(*server, differences),
            Event::OtherList { from, signature } => describe_other_list(*from, *signature),
            Event::Dropped { from, kind, reason } => {
                let kind = kind.map_or_else(|| "a datagram".to_owned(), |kind| kind.to_string());
                describe_drop(*from, &kind, reason.text())
            }
            Event::StorageChanged { failed } => describe_storage(*failed),
            Event::NumberAhead {
                server,
                configuration,
            } => {
                let text = format!(
                    "{} uses configuration {configuration}, which is too far ahead: a clock or a state file is \
                     wrong; see \"When numbers have run into a limit\" in docs/token-service/operate.md",
                    self.names.server(*server)
                );
                Line::new(events::NUMBER_AHEAD, Level::WARN, text).with_server(Some(*server))
            }
            Event::NumbersExhausted => Line::new(
                events::NUMBERS_EXHAUSTED,
                Level::ERROR,
                "this server cannot lead: no larger configuration number is left; stop all servers, remove their \
                 state files, and start them again"
                    .to_owned(),
            ),
            Event::SenderMisplaced {
                server,
                from,
                listed,
            } => self.describe_misplaced(*server, *from, *listed),
            Event::ShutDown { left_behind } => describe_departure(*left_behind),
        }
    }

    fn describe_misplaced(
        &self,
        server: usize,
        from: SocketAddr,
        listed: Option<SocketAddr>,
    ) -> Line {
        let is = listed.map_or_else(
            || "has no address here".to_owned(),
            |it| format!("is {it} here"),
        );
        let text = format!(
            "{from} claims to be {}, which {is}: its messages are dropped; if that server has moved, make sure that \
             its name is resolved to its new address on all machines",
            self.names.server(server)
        );
        Line::new(events::MISPLACED, Level::WARN, text)
            .with_server(Some(server))
            .with_address(from)
            .with_rate(EventRate::Stranger)
    }

    fn describe_options(&self, server: usize, differences: &[OptionDifference]) -> Line {
        let (level, text) = if differences.is_empty() {
            let name = self.names.server(server);
            (Level::INFO, format!("{name} has the same options again"))
        } else {
            (
                Level::WARN,
                describe_other_options(&self.names, server, differences),
            )
        };
        let event = if differences.is_empty() {
            events::OPTIONS_AGREE
        } else {
            events::OPTIONS_DIFFER
        };
        Line::new(event, level, text).with_server(Some(server))
    }

    fn describe_role(&self, role: RoleKind, leader: Option<usize>) -> Line {
        let text = match (role, leader) {
            (RoleKind::Leader, _) => "this server leads".to_owned(),
            (RoleKind::Follower, Some(leader)) => format!("{} leads", self.names.server(leader)),
            (RoleKind::Follower, None) => "another server leads".to_owned(),
            (RoleKind::Electing, _) => "this server hears no leader, and looks for one".to_owned(),
        };
        Line::new(events::ROLE_CHANGED, Level::INFO, text).with_server(leader)
    }

    fn describe_configuration(&mut self, configuration: u64, states: &[ServerState]) -> Line {
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
            "all servers are in the same state as before".to_owned()
        } else {
            changed.join(", ")
        };
        let level = if is_down { Level::WARN } else { Level::INFO };
        Line::new(
            events::CONFIGURATION_CHANGED,
            level,
            format!("configuration {configuration}: {changed}"),
        )
        .with_configuration(configuration)
    }

    /// Describes a survey. A survey without clients ends at once, so the log has no INFO line about it.
    fn describe_survey(&self, event: &'static str, configuration: u64, what: &str) -> Line {
        let level = if self.asks_clients {
            Level::INFO
        } else {
            Level::DEBUG
        };
        let text = format!("survey of configuration {configuration}: {what}");
        Line::new(event, level, text).with_configuration(configuration)
    }

    fn describe_token_takeover(&self, server: Option<usize>, held: usize) -> Line {
        let held = count_tokens(held);
        let text = match server {
            Some(server) => format!(
                "serving the tokens of {}: clients hold {held}; tokens that no client held are lost",
                self.names.server(server)
            ),
            None => format!("clients hold {held} that were granted before this survey"),
        };
        let level = if server.is_some() {
            Level::WARN
        } else {
            Level::INFO
        };
        Line::new(events::TOOK_OVER_TOKENS, level, text).with_server(server)
    }
}

fn describe_takeover(configuration: u64, warm: bool) -> Line {
    let how = if warm {
        "with the sessions and states of its predecessor"
    } else {
        "without the sessions of its predecessor: it grants tokens only after these sessions had time to come back"
    };
    let text = format!("took over the lead by configuration {configuration}, {how}");
    let level = if warm { Level::INFO } else { Level::WARN };
    Line::new(events::TOOK_OVER, level, text).with_configuration(configuration)
}

fn describe_state(state: ServerState) -> Line {
    let means = match state {
        ServerState::Down => "it serves nothing",
        ServerState::Booting => "it finds out which clients hold tokens before it serves any token",
        ServerState::Ready => "it serves its tokens",
    };
    let text = format!("this server is {}: {means}", state_name(state));
    Line::new(events::STATE_CHANGED, Level::INFO, text)
}

fn describe_authority(has: bool) -> Line {
    if has {
        let text =
            "a quorum of servers acknowledges this leader: it may serve and change servers' states"
                .to_owned();
        return Line::new(events::AUTHORITY_GAINED, Level::INFO, text);
    }
    let text = "no quorum of servers acknowledges this leader: without one it serves nothing and changes no states"
        .to_owned();
    Line::new(events::AUTHORITY_LOST, Level::WARN, text)
}

fn describe_introduction((id, address): (i32, SocketAddr), program: &str) -> Line {
    let text = format!("session {id} of {address} is {program}");
    let mut line = Line::new(events::SESSION_INTRODUCED, Level::INFO, text)
        .with_session(id, address)
        .with_rate(EventRate::Introduction);
    line.keys.program = Some(program.to_owned());
    line
}

fn describe_token(
    event: &'static str,
    holding: &TokenHold,
    does: &str,
    held: Option<Duration>,
) -> Line {
    let TokenHold {
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
        .with_session(*session, *address)
        .with_rate(EventRate::Grant);
    line.keys.token = Some(token.to_string());
    line.keys.program = program;
    line.keys.fencing_number = Some(number.to_string());
    line.keys.held_ns = held.map(nanos);
    line
}

fn describe_session(
    event: &'static str,
    level: Level,
    (id, address): (i32, SocketAddr),
    what: &str,
) -> Line {
    let text = format!("session {id} of {address} {what}");
    Line::new(event, level, text)
        .with_session(id, address)
        .with_rate(EventRate::Session)
}

fn describe_drop(from: SocketAddr, what: &str, why: &str) -> Line {
    let text = format!("dropped {what} of {from}: {why}");
    Line::new(events::DROPPED, Level::DEBUG, text)
        .with_address(from)
        .with_rate(EventRate::Drop)
}

fn describe_reset(tokens_forgotten: usize) -> Line {
    let text = format!(
        "the other servers considered this server DOWN, and serve its tokens: this server has forgotten {}",
        count_tokens(tokens_forgotten)
    );
    Line::new(events::RESET, Level::WARN, text)
}

fn describe_conflict(name: &[u8]) -> Line {
    let text = format!(
        "clients have conflicting claims to the token {}, and now share it: two servers have \
         led at the same time; prevent this with --quorum majority",
        TokenName(name)
    );
    Line::new(events::CONFLICT, Level::ERROR, text)
}

fn describe_conflicting_data(name: &[u8]) -> Line {
    let text = format!(
        "clients have different data of the token {}: an update was lost together with its server",
        TokenName(name)
    );
    Line::new(events::CONFLICTING_DATA, Level::WARN, text)
}

fn describe_departure(left_behind: usize) -> Line {
    let (level, lost) = match left_behind {
        0 => (Level::INFO, String::new()),
        some => (
            Level::WARN,
            format!(
                "; the data of {some} tokens without holders are lost: no other server took them over in time"
            ),
        ),
    };
    let text = format!("left the servers: this server serves nothing from now on{lost}");
    Line::new(events::LEFT, level, text)
}

/// Describes the options in which another server differs from this server, and the effect of the difference.
pub(crate) fn describe_other_options(
    names: &Names,
    server: usize,
    differences: &[OptionDifference],
) -> String {
    let value = |setting| match setting {
        OptionValue::Time(time) => format_duration(time),
        OptionValue::Count(count) => count.to_string(),
    };
    let differences = differences.iter().map(|it| {
        let OptionDifference {
            option,
            own,
            theirs,
        } = *it;
        format!("{option} {} there, {} here", value(theirs), value(own))
    });
    let differences: Vec<_> = differences.collect();
    format!(
        "{} has different options: {}; give all servers the same options; until then clients use the shortest client \
         timeout, and leaders use the largest quorum up to a majority",
        names.server(server),
        differences.join(", ")
    )
}

fn describe_other_list(from: SocketAddr, signature: i32) -> Line {
    let text = format!(
        "{from} has a different list of servers (signature {signature}): give all servers and clients the same \
         file, line by line; until then its messages are ignored"
    );
    Line::new(events::OTHER_LIST, Level::WARN, text)
        .with_address(from)
        .with_rate(EventRate::Stranger)
}

fn describe_storage(failed: bool) -> Line {
    if failed {
        let text = "cannot write the state file: this server sends nothing until it can write it"
            .to_owned();
        return Line::new(events::STORAGE_FAILED, Level::ERROR, text);
    }
    let text = "the state file can be written again".to_owned();
    Line::new(events::STORAGE_RESTORED, Level::INFO, text)
}

/// Returns `1 token`, `3 tokens` and so on.
fn count_tokens(tokens: usize) -> String {
    if tokens == 1 {
        "1 token".to_owned()
    } else {
        format!("{tokens} tokens")
    }
}

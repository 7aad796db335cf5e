//! `ringctl token list`: prints all tokens of all servers.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;

use ring_client::token::{self, Command, Event, Session, WaitLimits, Wake};
use ring_control::ftn::split_warning;
use ring_runtime::clock;
use ring_text::{Names, format_duration};
use serde_json::{Map, Value};

use super::super::Error;
use super::client::{Interrupted, Outcome, ServiceClient, session_error};
use super::name::TokenName;
use super::page::{HoldMode, ListedToken, Page};

/// Maximum time between two pages, from any server.
const PAGE_TIMEOUT: Duration = Duration::from_secs(2);
/// The exit code if the tokens of a silent server are missing in the list.
const INCOMPLETE_CODE: u8 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListState {
    Pending,
    Complete,
    /// The server is down. Other servers serve the tokens of this server.
    Down,
}

pub(super) struct AllTokens {
    states: Vec<ListState>,
    /// For each token, the index of its server, the JSON object from the server, and the part of this object that
    /// `ringctl` knows.
    tokens: Vec<(usize, Map<String, Value>, Option<ListedToken>)>,
    /// The smallest quorum that a server announced. `None` if all servers require a majority.
    quorum: Option<usize>,
}

/// Prints all tokens, and reports the servers whose lists are incomplete.
pub(super) fn list(
    client: &ServiceClient,
    json: bool,
    output: &mut impl Write,
) -> anyhow::Result<u8> {
    let login_timeout = WaitLimits::endless().session();
    let all = match client.with_session("", |session| {
        fetch_all(session, login_timeout, PAGE_TIMEOUT)
    })? {
        Outcome::Done(all) => all,
        Outcome::Stopped(code) => return Ok(code),
    };
    if json {
        serde_json::to_writer(&mut *output, &all.json())?;
        writeln!(output)?;
    } else {
        write!(output, "{}", all.table(&Names::read()))?;
    }
    output.flush()?;
    let servers = &client.servers.resolved;
    for (index, state) in all.states.iter().enumerate() {
        let address = servers.address(index).map(|at| at.to_string());
        let address = address.unwrap_or_default();
        let text = match state {
            ListState::Complete => continue,
            ListState::Down => {
                format!("server {index} ({address}) is down; other servers serve its tokens")
            }
            ListState::Pending => format!(
                "server {index} ({address}) does not answer within {}: the list lacks some of its tokens; check that \
                 it runs",
                format_duration(PAGE_TIMEOUT)
            ),
        };
        // If this fails, the exit code still shows that tokens are missing.
        let _ = writeln!(io::stderr(), "ringctl: {text}");
    }
    let warning = all
        .quorum
        .and_then(|quorum| split_warning(quorum, all.states.len()));
    if let Some(warning) = warning {
        let _ = writeln!(io::stderr(), "ringctl: {warning}");
    }
    let is_complete = !all.states.contains(&ListState::Pending);
    Ok(if is_complete { 0 } else { INCOMPLETE_CODE })
}

/// Fetches the lists of all servers at the same time, page by page. `page_timeout` limits the time between two pages
/// from any server.
pub(super) fn fetch_all(
    session: &mut Session,
    login_timeout: Duration,
    page_timeout: Duration,
) -> anyhow::Result<AllTokens> {
    session.log_in(login_timeout).map_err(|error| match error {
        token::Error::Interrupted => anyhow::Error::from(Interrupted),
        error => session_error(error).into(),
    })?;
    let (id, servers) = (session.id(), session.servers().len());
    let mut all = AllTokens {
        states: vec![ListState::Pending; servers],
        tokens: Vec::new(),
        quorum: None,
    };
    for server in 0..servers {
        request_page(session, server, &[])?;
    }
    let mut by = clock::now().monotonic + page_timeout;
    while all.states.contains(&ListState::Pending) {
        match session.next(Some(by)).map_err(session_error)? {
            Wake::Event(Event::Listed { server, page }) => {
                by = clock::now().monotonic + page_timeout;
                match all.add_page(server, &page) {
                    Some(next) => request_page(session, server, next.bytes())?,
                    None => all.set_state(server, ListState::Complete),
                }
            }
            Wake::Event(Event::ListingFailed { server }) => all.set_state(server, ListState::Down),
            Wake::Event(Event::Lost {
                session: lost,
                loss,
            }) if id.is_none_or(|id| id == lost) => {
                return Err(Error::Gone(token::Error::Lost(loss).to_string()).into());
            }
            Wake::Ready => return Err(Interrupted.into()),
            Wake::TimedOut => break,
            Wake::Event(_) | Wake::Renewed => {}
        }
    }
    all.tokens.sort_by(|(_, _, one), (_, _, other)| {
        let name = |listed: &Option<ListedToken>| listed.as_ref().map(|listed| listed.name.clone());
        name(one).cmp(&name(other))
    });
    Ok(all)
}

fn request_page(session: &mut Session, server: usize, after: &[u8]) -> Result<(), Error> {
    let after = after.into();
    session
        .command(Command::List { server, after })
        .map_err(session_error)
}

impl AllTokens {
    pub(super) fn names(&self) -> impl Iterator<Item = &[u8]> {
        let listed = self
            .tokens
            .iter()
            .filter_map(|(_, _, listed)| listed.as_ref());
        listed.map(|listed| listed.name.bytes())
    }

    fn set_state(&mut self, server: usize, state: ListState) {
        if let Some(known) = self.states.get_mut(server) {
            *known = state;
        }
    }

    /// Adds a page, and returns the name after which the next page begins.
    fn add_page(&mut self, server: usize, page: &[u8]) -> Option<TokenName> {
        let page = Page::parse(page)?;
        self.quorum = self.quorum.into_iter().chain(page.quorum).min();
        let mut last = None;
        for token in page.tokens {
            let listed = ListedToken::parse(&token);
            last = listed.as_ref().map(|listed| listed.name.clone()).or(last);
            self.tokens.push((server, token, listed));
        }
        // The names must ascend from page to page. Without this check, `ringctl` would ask a server that repeats a page
        // again and again.
        let next = TokenName::from_hex(&page.next?)?;
        last.is_none_or(|last| last <= next).then_some(next)
    }

    fn json(&self) -> Value {
        let tokens = self.tokens.iter().map(|(server, token, _)| {
            let mut token = token.clone();
            token.insert("server".to_owned(), Value::from(*server));
            Value::Object(token)
        });
        tokens.collect()
    }

    /// Returns a readable table with one token per line.
    fn table(&self, names: &Names) -> String {
        let known = self
            .tokens
            .iter()
            .filter_map(|(server, _, listed)| Some((server, listed.as_ref()?)));
        let rows = known.map(|(server, listed)| {
            let held = match listed.access {
                HoldMode::Free => "free",
                HoldMode::Shared => "shared",
                HoldMode::Exclusive => "exclusive",
            };
            [
                listed.name.to_string(),
                held.to_owned(),
                holders(listed, names),
                session_ids(&listed.waiting),
                listed.bytes.to_string(),
                server.to_string(),
            ]
        });
        let head = ["NAME", "HELD", "HOLDERS", "WAITING", "BYTES", "SERVER"].map(str::to_owned);
        let rows: Vec<[String; 6]> = std::iter::once(head).chain(rows).collect();
        if rows.len() == 1 {
            return String::new();
        }
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> = (0..6).filter_map(width).collect();
        let mut page = String::new();
        for row in &rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                // Writing to a string cannot fail.
                let _ = write!(line, "{cell:width$}  ");
            }
            page.push_str(line.trim_end());
            page.push('\n');
        }
        page
    }
}

fn holders(listed: &ListedToken, names: &Names) -> String {
    match &listed.holders[..] {
        [] => "-".to_owned(),
        ids => {
            let holders: Vec<String> = ids
                .iter()
                .map(|&id| listed.holder_text(id, names))
                .collect();
            holders.join(", ")
        }
    }
}

fn session_ids(ids: &[i64]) -> String {
    match ids {
        [] => "-".to_owned(),
        ids => {
            let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
            ids.join(",")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{AllTokens, ListState, Names};

    fn all() -> AllTokens {
        AllTokens {
            states: vec![ListState::Pending; 2],
            tokens: Vec::new(),
            quorum: None,
        }
    }

    const PAGE: &[u8] = br#"{"next":"75","tokens":[
        {"name":"740a","access":-1,"holders":[1048577],"waiting":[1048578,1048579],"bytes":3,
            "programs":[{"session":1048577,"address":"10.99.0.200:4100","program":"backup (process 7)"}]},
        {"name":"75","access":0,"holders":[],"waiting":[],"bytes":0}]}"#;

    #[test]
    fn a_token_is_one_line_without_control_characters() {
        let mut all = all();
        let next = all.add_page(1, PAGE).expect("there is another page");
        assert_eq!(next.bytes(), b"u");
        let page = "NAME  HELD       HOLDERS                            WAITING          BYTES  SERVER\n\
                    t\\n   exclusive  backup (process 7) on 10.99.0.200  1048578,1048579  3      1\n\
                    u     free       -                                  -                0      1\n";
        assert_eq!(all.table(&Names::default()), page);
    }

    #[test]
    fn json_is_the_servers_object_and_its_index() {
        let mut all = all();
        all.add_page(1, PAGE);
        let json = all.json();
        let first = json!({"name": "740a", "access": -1, "holders": [1_048_577],
            "waiting": [1_048_578, 1_048_579], "bytes": 3, "server": 1,
            "programs": [{"session": 1_048_577, "address": "10.99.0.200:4100", "program": "backup (process 7)"}]});
        assert_eq!(json[0], first);
        assert_eq!(json[1]["server"], 1);
    }

    #[test]
    fn the_smallest_quorum_without_a_majority_is_kept() {
        let mut all = all();
        for (quorum, smallest) in [(2, 2), (1, 1), (2, 1)] {
            let page = format!(r#"{{"next":null,"tokens":[],"quorum":{quorum}}}"#);
            all.add_page(0, page.as_bytes());
            assert_eq!(all.quorum, Some(smallest));
        }
    }

    #[test]
    fn a_server_whose_names_descend_is_not_asked_again() {
        let mut all = all();
        let back = PAGE.to_vec();
        let back = String::from_utf8(back)
            .expect("text")
            .replace("\"next\":\"75\"", "\"next\":\"74\"");
        assert_eq!(all.add_page(0, back.as_bytes()), None);
        assert_eq!(all.add_page(0, b"what?"), None);
        assert_eq!(
            AllTokens::table(
                &AllTokens {
                    states: vec![],
                    tokens: vec![],
                    quorum: None,
                },
                &Names::default()
            ),
            ""
        );
    }
}

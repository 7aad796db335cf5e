//! `ringctl token list`: all tokens of all servers.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;

use ring_client::token::{self, Command, Event, Session, WaitLimits, Wake};
use ring_control::ftn::cut_doubt;
use ring_runtime::clock;
use ring_text::{Names, format_duration};
use serde_json::{Map, Value};

use super::super::Error;
use super::client::{Client, Interrupted, Outcome, failed};
use super::listing::{Held, Listed, Page};
use super::name::Name;

/// Maximum time between two pages, of whichever server.
const SILENCE: Duration = Duration::from_secs(2);
/// The exit code for a list that lacks what a silent server has.
const INCOMPLETE: u8 = 1;

/// How far a server has told of its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Going,
    Done,
    /// Others serve its tokens.
    Down,
}

/// What the servers have told.
pub(super) struct All {
    asked: Vec<Asked>,
    /// The server, the token as it has told of it, and what of that is known here.
    tokens: Vec<(usize, Map<String, Value>, Option<Listed>)>,
    /// The smallest quorum of those that are less than a majority.
    quorum: Option<usize>,
}

/// Prints all tokens, and says which servers have not told of theirs.
///
/// # Errors
/// An [`Error`], or that `output` takes nothing.
pub(super) fn list(client: &Client, json: bool, output: &mut impl Write) -> anyhow::Result<u8> {
    let patience = WaitLimits::endless().session();
    let all = match client.with_session("", |session| ask(session, patience, SILENCE))? {
        Outcome::Done(all) => all,
        Outcome::Stopped(code) => return Ok(code),
    };
    if json {
        serde_json::to_writer(&mut *output, &all.json())?;
        writeln!(output)?;
    } else {
        write!(output, "{}", all.page(&Names::read()))?;
    }
    output.flush()?;
    let servers = &client.servers.resolved;
    for (index, asked) in all.asked.iter().enumerate() {
        let address = servers.address(index).map(|at| at.to_string());
        let address = address.unwrap_or_default();
        let text = match asked {
            Asked::Done => continue,
            Asked::Down => format!("server {index} ({address}) is down: others serve its tokens"),
            Asked::Going => format!(
                "server {index} ({address}) does not answer within {}: not all of its tokens are shown",
                format_duration(SILENCE)
            ),
        };
        // Where nobody can be told, the exit code still says it.
        let _ = writeln!(io::stderr(), "ringctl: {text}");
    }
    let doubt = all
        .quorum
        .and_then(|quorum| cut_doubt(quorum, all.asked.len()));
    if let Some(doubt) = doubt {
        let _ = writeln!(io::stderr(), "ringctl: {doubt}");
    }
    let is_complete = !all.asked.contains(&Asked::Going);
    Ok(if is_complete { 0 } else { INCOMPLETE })
}

/// Asks all servers at the same time, page by page. `patience`: how long the session may take; `silence`: maximum
/// time between two pages, of whichever server.
pub(super) fn ask(
    session: &mut Session,
    patience: Duration,
    silence: Duration,
) -> anyhow::Result<All> {
    session.log_in(patience).map_err(|error| match error {
        token::Error::Interrupted => anyhow::Error::from(Interrupted),
        error => failed(error).into(),
    })?;
    let (id, servers) = (session.id(), session.servers().len());
    let mut all = All {
        asked: vec![Asked::Going; servers],
        tokens: Vec::new(),
        quorum: None,
    };
    for server in 0..servers {
        next_page(session, server, &[])?;
    }
    let mut by = clock::now().monotonic + silence;
    while all.asked.contains(&Asked::Going) {
        match session.next(Some(by)).map_err(failed)? {
            Wake::Event(Event::Listed { server, page }) => {
                by = clock::now().monotonic + silence;
                match all.take(server, &page) {
                    Some(next) => next_page(session, server, next.bytes())?,
                    None => all.is_now(server, Asked::Done),
                }
            }
            Wake::Event(Event::ListingFailed { server }) => all.is_now(server, Asked::Down),
            Wake::Event(Event::Lost {
                session: lost,
                loss,
            }) if id.is_none_or(|id| id == lost) => {
                return Err(Error::Gone(token::Error::Lost(loss).to_string()).into());
            }
            Wake::Ready => return Err(Interrupted.into()),
            Wake::Late => break,
            Wake::Event(_) | Wake::Renewed => {}
        }
    }
    all.tokens.sort_by(|(_, _, one), (_, _, other)| {
        let name = |listed: &Option<Listed>| listed.as_ref().map(|listed| listed.name.clone());
        name(one).cmp(&name(other))
    });
    Ok(all)
}

fn next_page(session: &mut Session, server: usize, after: &[u8]) -> Result<(), Error> {
    let after = after.into();
    session
        .command(Command::List { server, after })
        .map_err(failed)
}

impl All {
    /// The names of the tokens, in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &[u8]> {
        let listed = self
            .tokens
            .iter()
            .filter_map(|(_, _, listed)| listed.as_ref());
        listed.map(|listed| listed.name.bytes())
    }

    fn is_now(&mut self, server: usize, asked: Asked) {
        if let Some(known) = self.asked.get_mut(server) {
            *known = asked;
        }
    }

    /// Takes a page, and returns where the next one begins.
    fn take(&mut self, server: usize, page: &[u8]) -> Option<Name> {
        let page = Page::read(page)?;
        self.quorum = self.quorum.into_iter().chain(page.quorum).min();
        let mut last = None;
        for token in page.tokens {
            let listed = Listed::of(&token);
            last = listed.as_ref().map(|listed| listed.name.clone()).or(last);
            self.tokens.push((server, token, listed));
        }
        // A page may have no token, and names go up: a server that sends a page twice is not asked for ever.
        let next = Name::of_digits(&page.next?)?;
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

    /// The tokens for people, a line each.
    fn page(&self, names: &Names) -> String {
        let known = self
            .tokens
            .iter()
            .filter_map(|(server, _, listed)| Some((server, listed.as_ref()?)));
        let rows = known.map(|(server, listed)| {
            let held = match listed.access {
                Held::Free => "free",
                Held::Shared => "shared",
                Held::Exclusive => "exclusive",
            };
            [
                listed.name.to_string(),
                held.to_owned(),
                holders(listed, names),
                sessions(&listed.waiting),
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
                // A string takes all that is written to it.
                let _ = write!(line, "{cell:width$}  ");
            }
            page.push_str(line.trim_end());
            page.push('\n');
        }
        page
    }
}

/// Who holds a token.
fn holders(listed: &Listed, names: &Names) -> String {
    match &listed.holders[..] {
        [] => "-".to_owned(),
        ids => {
            let holders: Vec<String> = ids.iter().map(|&id| listed.holder(id, names)).collect();
            holders.join(", ")
        }
    }
}

/// Sessions by their ids; of many the first.
fn sessions(ids: &[i64]) -> String {
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

    use super::{All, Asked, Names};

    fn all() -> All {
        All {
            asked: vec![Asked::Going; 2],
            tokens: Vec::new(),
            quorum: None,
        }
    }

    const PAGE: &[u8] = br#"{"next":"75","tokens":[
        {"name":"740a","access":-1,"holders":[1048577],"waiting":[1048578,1048579],"bytes":3,
            "programs":[{"session":1048577,"address":"10.99.0.200:4100","program":"backup (process 7)"}]},
        {"name":"75","access":0,"holders":[],"waiting":[],"bytes":0}]}"#;

    #[test]
    fn a_token_is_a_line_and_its_name_cannot_move_the_cursor() {
        let mut all = all();
        let next = all.take(1, PAGE).expect("there is another page");
        assert_eq!(next.bytes(), b"u");
        let page = "NAME  HELD       HOLDERS                            WAITING          BYTES  SERVER\n\
                    t\\n   exclusive  backup (process 7) on 10.99.0.200  1048578,1048579  3      1\n\
                    u     free       -                                  -                0      1\n";
        assert_eq!(all.page(&Names::default()), page);
    }

    #[test]
    fn json_is_what_the_server_says_and_the_server() {
        let mut all = all();
        all.take(1, PAGE);
        let json = all.json();
        let first = json!({"name": "740a", "access": -1, "holders": [1_048_577],
            "waiting": [1_048_578, 1_048_579], "bytes": 3, "server": 1,
            "programs": [{"session": 1_048_577, "address": "10.99.0.200:4100", "program": "backup (process 7)"}]});
        assert_eq!(json[0], first);
        assert_eq!(json[1]["server"], 1);
    }

    #[test]
    fn the_smallest_quorum_that_is_no_majority_is_remembered() {
        let mut all = all();
        for (quorum, smallest) in [(2, 2), (1, 1), (2, 1)] {
            let page = format!(r#"{{"next":null,"tokens":[],"quorum":{quorum}}}"#);
            all.take(0, page.as_bytes());
            assert_eq!(all.quorum, Some(smallest));
        }
    }

    #[test]
    fn a_server_that_goes_back_is_not_asked_for_ever() {
        let mut all = all();
        let back = PAGE.to_vec();
        let back = String::from_utf8(back)
            .expect("text")
            .replace("\"next\":\"75\"", "\"next\":\"74\"");
        assert_eq!(all.take(0, back.as_bytes()), None);
        assert_eq!(all.take(0, b"what?"), None);
        assert_eq!(
            All::page(
                &All {
                    asked: vec![],
                    tokens: vec![],
                    quorum: None,
                },
                &Names::default()
            ),
            ""
        );
    }
}

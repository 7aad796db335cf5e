//! Pages with a password: the login of browsers and programs.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring_segment::{Pty, Test, WAIT_LIMIT, tests};
use serde_json::json;
use tempfile::TempDir;

use super::browser::Browser;
use super::http::{HttpAnswer, PAGE, ask, connect, connect_from, exchange, request};
use super::test_ring::{DatabaseKind, TestRing, binaries};

pub(crate) const PASSWORD: &str = "correct horse battery staple";
const USE_PAGE: &str = include_str!("../../../docs/board/use.md");
const WRONG: &str = "correct horse battery stable";
const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";
const JSON: &str = "Content-Type: application/json\r\n";
const ORIGIN: &str = "Origin: http://localhost\r\n";

pub(crate) fn tests() -> Vec<Test> {
    let with_browser = tests![
        a_browser_on_another_machine_logs_in_and_out,
        a_page_without_a_session_goes_to_the_login_and_keeps_the_draft,
    ];
    let with_browser = with_browser.into_iter().map(Test::without_stalls);
    let with_programs = tests![
        only_the_login_is_open_to_a_stranger,
        a_session_begins_at_the_login_and_ends_with_its_views_at_the_logout,
        another_site_cannot_use_a_session,
        a_program_sends_the_password_with_each_request,
        the_commands_of_the_page_read_and_post,
        a_client_with_many_wrong_passwords_must_wait,
        the_command_makes_the_line_of_a_password,
        the_command_asks_twice_on_a_terminal_and_shows_no_password,
    ];
    with_browser.chain(with_programs).collect()
}

/// A password file for the pages of a test.
pub(crate) struct PasswordFile {
    folder: TempDir,
    name: String,
}

impl PasswordFile {
    /// Makes a file with the command of the program.
    pub(crate) fn new() -> Result<Self> {
        Self::with(PASSWORD)
    }

    fn with(password: &str) -> Result<Self> {
        let folder = tempfile::tempdir_in("/run")?;
        let path = folder.path().join("board.password");
        fs::write(&path, make_line(&format!("{password}\n"))?.0)?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&path, mode)?;
        let name = path.display().to_string();
        Ok(Self { folder, name })
    }

    /// Returns the options of nodes whose pages all machines can reach.
    pub(crate) fn options(&self) -> [(&str, &str); 2] {
        [
            ("--http", "0.0.0.0:8080"),
            ("--http-password-file", &self.name),
        ]
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }
}

/// Runs `ring-board password`. Returns its output, and its exit code with its errors.
fn make_line(input: &str) -> Result<(String, Option<i32>, String)> {
    let mut command = Command::new(binaries().ringd);
    command.arg("password");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().context("it is piped")?;
    stdin.write_all(input.as_bytes())?;
    drop(stdin);
    let output = child.wait_with_output()?;
    let text = |bytes: Vec<u8>| String::from_utf8(bytes);
    let code = output.status.code();
    Ok((text(output.stdout)?, code, text(output.stderr)?))
}

/// Returns the header of a request with this password.
pub(crate) fn basic(password: &str) -> String {
    let pair = STANDARD.encode(format!("anybody:{password}"));
    format!("Authorization: Basic {pair}\r\n")
}

fn ring() -> Result<(PasswordFile, TestRing)> {
    let file = PasswordFile::new()?;
    let ring = TestRing::new(1, DatabaseKind::Sqlite, &file.options())?;
    ring.wait_for_ring(&[1])?;
    Ok((file, ring))
}

fn log_in(ring: &TestRing, headers: &str, password: &str) -> Result<HttpAnswer> {
    let password = password.replace(' ', "+");
    let body = format!("password={password}");
    ask(
        ring,
        1,
        "POST /login",
        &format!("{FORM}{ORIGIN}{headers}"),
        &body,
    )
}

/// Returns the header Cookie for the cookie that an answer sets. The head of an answer is in lower case.
fn cookie(answer: &HttpAnswer) -> Result<String> {
    let line = answer.head.split_once("\r\nset-cookie: ");
    let cookie = line.and_then(|(_, line)| line.split(';').next());
    Ok(format!("Cookie: {}\r\n", cookie.context("no cookie")?))
}

fn only_the_login_is_open_to_a_stranger() -> Result<()> {
    let (_file, ring) = ring()?;
    for (line, status) in [
        ("GET /posts", 401),
        ("POST /posts", 401),
        ("GET /ring", 401),
        ("GET /events", 401),
        ("GET /", 303),
        ("GET /login", 200),
        ("GET /board.css", 200),
        ("GET /logout", 405),
    ] {
        for headers in ["", "Cookie: board-1=00; board-1=\r\n"] {
            let answer = ask(&ring, 1, line, &format!("{JSON}{ORIGIN}{headers}"), "{}")?;
            ensure!(answer.status == status, "{line}, {headers}: {answer:?}");
            let is_challenged = answer.head.contains("\r\nwww-authenticate: cookie ");
            ensure!(is_challenged == (status == 401), "{answer:?}");
            ensure!(
                status != 303 || answer.head.contains("\r\nlocation: login"),
                "{answer:?}"
            );
        }
    }
    // A page without a password has no login.
    let open = TestRing::new(1, DatabaseKind::Sqlite, &[])?;
    open.wait_for_ring(&[1])?;
    for (line, status) in [("GET /login", 404), ("POST /logout", 404), ("GET /", 200)] {
        let answer = ask(&open, 1, line, ORIGIN, "")?;
        ensure!(answer.status == status, "{line}: {answer:?}");
        ensure!(!answer.body.contains("logout"), "{answer:?}");
    }
    Ok(())
}

fn a_session_begins_at_the_login_and_ends_with_its_views_at_the_logout() -> Result<()> {
    let (_file, ring) = ring()?;
    let wrong = log_in(&ring, "", WRONG)?;
    ensure!(
        wrong.status == 401
            && wrong.body.contains("the password is wrong")
            && !wrong.head.contains("set-cookie"),
        "{wrong:?}"
    );
    // An id that another person has chosen is no session, and the login replaces it.
    let chosen = format!("Cookie: board-1={}\r\n", "0".repeat(64));
    let first = log_in(&ring, &chosen, PASSWORD)?;
    ensure!(
        first.status == 303 && first.head.contains("\r\nlocation: ./\r\n"),
        "{first:?}"
    );
    let attributes = "; path=/; httponly; samesite=strict\r\n";
    ensure!(first.head.contains(attributes), "{first:?}");
    let first = cookie(&first)?;
    ensure!(first != chosen && first.len() == chosen.len(), "{first}");
    let status =
        |headers: &str| Ok::<_, anyhow::Error>(ask(&ring, 1, "GET /ring", headers, "")?.status);
    ensure!(status(&chosen)? == 401 && status(&first)? == 200);
    let second = cookie(&log_in(&ring, &first, PASSWORD)?)?;
    ensure!(
        status(&first)? == 401 && status(&second)? == 200,
        "the login has not replaced the session"
    );

    let mut view = connect(&ring, 1, WAIT_LIMIT)?;
    view.write_all(request("GET /events", &second, "").as_bytes())?;
    let mut view = BufReader::new(view).lines();
    let is_status = |line: &String| line.starts_with("event: ring");
    view.by_ref()
        .map_while(Result::ok)
        .find(is_status)
        .context("no status")?;
    let page = ask(&ring, 1, "GET /", &second, "")?;
    ensure!(page.body.contains("action=\"logout\""), "{page:?}");
    let out = ask(&ring, 1, "POST /logout", &format!("{second}{ORIGIN}"), "")?;
    ensure!(
        out.status == 303 && out.head.contains("set-cookie: board-1=; max-age=0;"),
        "{out:?}"
    );
    ensure!(status(&second)? == 401);
    for line in view {
        line.context("the view has not ended with its session")?;
    }
    Ok(())
}

fn another_site_cannot_use_a_session() -> Result<()> {
    let (_file, ring) = ring()?;
    let cookie = cookie(&log_in(&ring, "", PASSWORD)?)?;
    let post = json!({"author": "a", "text": "forged", "key": "k"}).to_string();
    for (from, status) in [
        ("", 403),
        ("Origin: http://evil.example\r\n", 403),
        ("Origin: null\r\n", 403),
        ("Sec-Fetch-Site: cross-site\r\n", 403),
        ("Sec-Fetch-Site: same-site\r\n", 403),
        (
            "Origin: http://evil.example\r\nSec-Fetch-Site: same-origin\r\n",
            403,
        ),
        (ORIGIN, 201),
    ] {
        let headers = format!("{JSON}{cookie}{from}");
        for line in ["POST /posts", "POST /logout", "POST /login"] {
            // The last row would end the session.
            if status == 201 && line != "POST /posts" {
                continue;
            }
            let answer = ask(&ring, 1, line, &headers, &post)?;
            let is_right = answer.status == status || status == 201 && answer.status == 503;
            ensure!(is_right, "{line}, {from}: {answer:?}");
        }
    }
    let answer = ask(&ring, 1, "GET /ring", &cookie, "")?;
    ensure!(answer.status == 200, "a forged logout: {answer:?}");
    Ok(())
}

fn a_program_sends_the_password_with_each_request() -> Result<()> {
    let (_file, ring) = ring()?;
    for headers in [
        basic(WRONG),
        "Authorization: Basic !\r\n".to_owned(),
        format!("Authorization: Basic {}\r\n", STANDARD.encode(PASSWORD)),
    ] {
        let answer = ask(&ring, 1, "GET /ring", &headers, "")?;
        ensure!(answer.status == 401, "{headers}: {answer:?}");
        ensure!(answer.json()?["error"] == "login", "{answer:?}");
    }
    // The first check is slow, the others are not.
    for _ in 0..50 {
        let answer = ask(&ring, 1, "GET /ring", &basic(PASSWORD), "")?;
        ensure!(answer.status == 200, "{answer:?}");
        ensure!(!answer.head.contains("set-cookie"), "{answer:?}");
    }
    let post = json!({"author": "a", "text": "b"}).to_string();
    let headers = format!("{JSON}{}", basic(PASSWORD));
    let answer = ask(&ring, 1, "POST /posts", &headers, &post)?;
    ensure!(matches!(answer.status, 201 | 503), "{answer:?}");
    let other = format!("{headers}Origin: http://evil.example\r\n");
    let answer = ask(&ring, 1, "POST /posts", &other, &post)?;
    ensure!(answer.status == 403, "{answer:?}");
    Ok(())
}

/// Runs the commands of the page `use.md`.
fn the_commands_of_the_page_read_and_post() -> Result<()> {
    let file = PasswordFile::with("correct-horse-battery")?;
    let ring = TestRing::new(1, DatabaseKind::Sqlite, &file.options())?;
    ring.wait_for_ring(&[1])?;
    let recipe = USE_PAGE.split("```sh\n").nth(1);
    let recipe = recipe.and_then(|it| it.split("```").next());
    let mut shell = Command::new("sh");
    // Curl tries again if the token is late. The environment could name a proxy.
    let recipe = recipe
        .context("the page has it")?
        .replace("curl ", "curl -sf --retry 9 ");
    shell.args(["-euc", &recipe]).current_dir(file.folder());
    shell.env_clear().env("PATH", std::env::var("PATH")?);
    shell.stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = ring.segment().node(0).ns().spawn(&mut shell)?;
    let output = output.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "{output:?}");
    ensure!(
        text.starts_with("{\"posts\":[],\"last\":0}{\"id\":1,"),
        "{text}"
    );
    Ok(())
}

fn a_client_with_many_wrong_passwords_must_wait() -> Result<()> {
    let (_file, mut ring) = ring()?;
    let from = |from: u8, line: &str, headers: &str, body: &str| {
        let node = ring.segment().node(0);
        let address = Ipv4Addr::new(127, 0, 0, from);
        let stream = node
            .ns()
            .run(|| connect_from(PAGE, address, WAIT_LIMIT))??;
        stream.set_read_timeout(Some(WAIT_LIMIT))?;
        exchange(stream, request(line, headers, body).as_bytes())
    };
    let guess = |at: u8, password: &str| from(at, "GET /ring", &basic(password), "");
    let known = from(4, "GET /ring", &basic(PASSWORD), "")?;
    ensure!(known.status == 200, "{known:?}");
    for at in 2..=3 {
        for count in 0..10 {
            let answer = guess(at, WRONG)?;
            ensure!(answer.status == 401, "{count}: {answer:?}");
        }
        // The node does not check further passwords, even the right one.
        for password in [WRONG, PASSWORD] {
            let answer = guess(at, password)?;
            ensure!(
                answer.status == 429 && answer.head.contains("\r\nretry-after: "),
                "{answer:?}"
            );
        }
    }
    let form = format!("{FORM}{ORIGIN}");
    let answer = from(2, "POST /login", &form, "password=x")?;
    ensure!(
        answer.status == 429 && answer.body.contains("too many wrong passwords"),
        "{answer:?}"
    );
    ensure!(guess(4, PASSWORD)?.status == 200);
    let warned = "a wrong password from 127.0.0.3";
    ring.node(1)
        .wait_for_line(WAIT_LIMIT, |line| line.contains(warned))?;
    Ok(())
}

fn the_command_makes_the_line_of_a_password() -> Result<()> {
    let (line, code, _) = make_line(PASSWORD)?;
    ensure!(code == Some(0) && line.ends_with('\n'), "{line}");
    ensure!(line.starts_with("$argon2id$") && line.lines().count() == 1);
    let (line, code, error) = make_line("too short\n")?;
    ensure!(code == Some(2) && line.is_empty(), "{line}{error}");
    ensure!(error.contains("give at least 15 characters"), "{error}");
    Ok(())
}

/// Opens the page of node 1 on the machine of node 2.
fn open(ring: &TestRing) -> Result<Browser> {
    let ip = ring.segment().node(0).ip().context("it has an address")?;
    let url = format!("http://{}/", SocketAddr::from((ip, 8080)));
    let browser = Browser::open_url(ring.segment().node(1), (1280, 900), &url, &[])?;
    browser.wait("return location.pathname === '/login'")?;
    Ok(browser)
}

fn the_command_asks_twice_on_a_terminal_and_shows_no_password() -> Result<()> {
    for (second, is_made) in [(WRONG, false), (PASSWORD, true)] {
        let mut pty = Pty::new(160, 10);
        let mut command = pty.command(binaries().ringd);
        // As in the manual, the output goes to a file.
        let child = command.arg("password").stdout(Stdio::piped()).spawn()?;
        for (prompt, password) in [("Password:", PASSWORD), ("Again:", second)] {
            pty.wait_for(prompt);
            pty.wait_until_hidden();
            pty.type_keys(&format!("{password}\n"));
        }
        let output = child.wait_with_output()?;
        ensure!(output.status.success() == is_made, "{output:?}");
        if is_made {
            ensure!(output.stdout.starts_with(b"$argon2id$"), "{output:?}");
        } else {
            pty.wait_for("the two passwords differ");
        }
        pty.wait_until_restored();
        let screen = String::from_utf8_lossy(&pty.bytes()).into_owned();
        ensure!(!screen.contains("horse"), "{screen}");
    }
    Ok(())
}

/// Types a password into the login. The focus is in its field.
pub(crate) fn type_password(browser: &Browser, password: &str) -> Result<()> {
    browser.wait("return document.activeElement.id === 'password'")?;
    browser.type_keys(&format!("{password}\u{e007}"))
}

fn a_browser_on_another_machine_logs_in_and_out() -> Result<()> {
    let file = PasswordFile::new()?;
    let ring = TestRing::new(2, DatabaseKind::Sqlite, &file.options())?;
    ring.wait_for_ring(&[1, 2])?;
    let browser = open(&ring)?;
    type_password(&browser, WRONG)?;
    browser
        .wait("return document.getElementById('result').textContent === 'the password is wrong'")?;
    type_password(&browser, PASSWORD)?;
    browser.wait("return document.querySelectorAll('#members li').length === 2")?;
    ensure!(browser.run("return location.pathname")? == "/");
    let cookies = browser.cookies()?;
    ensure!(
        cookies[0]["name"] == "board-1"
            && cookies[0]["httpOnly"] == true
            && cookies[0]["sameSite"] == "Strict",
        "{cookies:#}"
    );
    ensure!(browser.run("return document.cookie")? == "");
    browser.type_keys("\u{e004}Ann\u{e004}from afar\u{e004}\u{e007}")?;
    browser.wait("return document.querySelectorAll('.text').length === 1")?;

    let first = browser.current_tab()?;
    let second = browser.open_tab()?;
    browser.wait("return document.querySelectorAll('.text').length === 1")?;
    browser.run("document.querySelector('#logout button').click()")?;
    browser.wait("return location.pathname === '/login'")?;
    // The other tabs end too, and the browser has no copy of the page.
    browser.select_tab(&first)?;
    browser.wait("return location.pathname === '/login'")?;
    browser.select_tab(&second)?;
    browser.go_back()?;
    browser.wait("return location.pathname === '/login'")?;
    ensure!(browser.cookies()? == json!([]), "{:#}", browser.cookies()?);
    Ok(())
}

/// A restart of the node ends the session.
fn a_page_without_a_session_goes_to_the_login_and_keeps_the_draft() -> Result<()> {
    let file = PasswordFile::new()?;
    let mut ring = TestRing::new(2, DatabaseKind::Sqlite, &file.options())?;
    ring.wait_for_ring(&[1, 2])?;
    let browser = open(&ring)?;
    type_password(&browser, PASSWORD)?;
    browser.wait("return document.querySelectorAll('#members li').length === 2")?;
    browser.type_keys("\u{e004}Ann\u{e004}not lost")?;
    ring.node(1).kill()?;
    browser
        .wait("return document.getElementById('ring').textContent.includes('does not answer')")?;
    ring.node(1).start()?;
    browser.wait("return location.pathname === '/login'")?;
    type_password(&browser, PASSWORD)?;
    browser.wait("return document.getElementById('text')?.value === 'not lost'")
}

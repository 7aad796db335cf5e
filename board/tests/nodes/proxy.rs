//! The recipe of `docs/board/proxy.md`: a page behind a reverse proxy with TLS.

use std::fs;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use ring_segment::{Test, WAIT_LIMIT, tests};
use serde_json::json;

use super::browser::Browser;
use super::http::{ask, connect_from, exchange, request};
use super::logins::{PASSWORD, PasswordFile, basic, type_password};
use super::test_ring::{DatabaseKind, TestRing};

const RECIPE: &str = include_str!("../../../docs/board/proxy.md");
const NAME: &str = "board.example";
/// The folder of the certificate in the recipe.
const CERTIFICATES: &str = "/etc/ssl/private/";

pub(crate) fn tests() -> Vec<Test> {
    let tests = tests![browsers_reach_the_page_by_tls_and_each_is_a_client];
    tests.into_iter().map(Test::without_stalls).collect()
}

/// A reverse proxy. Dropping this value ends the proxy.
struct Proxy(Child);

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the text of the recipe's block in this language.
fn block(language: &str) -> Result<&'static str> {
    let mut blocks = RECIPE.split("```").skip(1).step_by(2);
    let block = blocks.find_map(|it| it.strip_prefix(language)?.strip_prefix('\n'));
    block.context("the page has no such block")
}

/// Starts the proxy of the recipe on the machine of node 1. `folder` gets its files.
fn start_proxy(ring: &TestRing, folder: &std::path::Path) -> Result<Proxy> {
    let path = folder.display();
    let mut made = Command::new("openssl");
    made.args(["req", "-x509", "-newkey", "ec", "-pkeyopt"])
        .args(["ec_paramgen_curve:prime256v1", "-nodes", "-subj"])
        .arg(format!("/CN={NAME}"))
        .arg("-keyout")
        .arg(folder.join(format!("{NAME}.key")))
        .arg("-out")
        .arg(folder.join(format!("{NAME}.pem")));
    let made = made.output()?;
    ensure!(made.status.success(), "{made:?}");
    let site = block("nginx")?.replace(CERTIFICATES, &format!("{path}/"));
    ensure!(site.contains(&format!("{path}/{NAME}.key")), "{site}");
    fs::write(folder.join("site"), site)?;
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary = temporary.map(|it| format!("{it}_temp_path {path}/{it};\n"));
    let config = format!(
        "daemon off;\nuser root;\npid {path}/pid;\nerror_log stderr;\nevents {{}}\n\
         http {{\naccess_log off;\n{}include {path}/site;\n}}\n",
        temporary.concat()
    );
    let file = folder.join("nginx.conf");
    fs::write(&file, config)?;
    let mut command = Command::new("nginx");
    command.args(["-e", "stderr", "-c"]).arg(&file);
    command.stdin(Stdio::null());
    let proxy = ring.segment().node(0).ns().spawn(&mut command);
    Ok(Proxy(proxy.context(
        "there is no nginx: apt-get install nginx-light",
    )?))
}

fn browsers_reach_the_page_by_tls_and_each_is_a_client() -> Result<()> {
    let file = PasswordFile::new()?;
    let [_, password] = file.options();
    // The options of the recipe, in the section [board] of ringd.toml.
    let options = block("toml")?;
    for line in [
        "http = \"127.0.0.1:8080\"",
        "http-proxy = true",
        "http-name = [\"board.example\"]",
    ] {
        ensure!(options.contains(line), "{options}");
    }
    let config = file.folder().join("ringd.toml");
    let options = options.replace("/etc/ringd/board.password", password.1);
    fs::write(&config, options)?;
    let config = config.display().to_string();
    let mut ring = TestRing::new(2, DatabaseKind::Sqlite, &[("--config", &config)])?;
    ring.wait_for_ring(&[1, 2])?;
    let _proxy = start_proxy(&ring, &file.folder())?;
    let [page, elsewhere] = [0, 1].map(|at| ring.segment().node(at));
    let ip = page.ip().context("it has an address")?;
    let browser = Browser::open_url(
        elsewhere,
        (1280, 900),
        &format!("https://{NAME}/"),
        &[
            "--ignore-certificate-errors".to_owned(),
            format!("--host-resolver-rules=MAP {NAME} {ip}"),
        ],
    )?;
    browser.wait("return location.pathname === '/login'")?;
    type_password(&browser, PASSWORD)?;
    browser.wait("return document.querySelectorAll('#members li').length === 2")?;
    let cookies = browser.cookies()?;
    ensure!(
        cookies[0]["name"] == "__Host-board-1"
            && cookies[0]["secure"] == true
            && cookies[0]["httpOnly"] == true
            && cookies[0]["sameSite"] == "Strict",
        "{cookies:#}"
    );
    // The live view also arrives, although it never ends.
    browser.type_keys("\u{e004}Ann\u{e004}by TLS\u{e004}\u{e007}")?;
    browser.wait("return document.querySelectorAll('.text').length === 1")?;
    let post = json!({"author": "a", "text": "direct", "key": "k"}).to_string();
    let headers = format!("Content-Type: application/json\r\n{}", basic(PASSWORD));
    let direct = ask(&ring, 1, "POST /posts", &headers, &post)?;
    ensure!(matches!(direct.status, 201 | 503), "{direct:?}");
    browser.wait("return document.querySelectorAll('.text').length === 2")?;

    // Wrong passwords count for the address that the proxy names, and not for the proxy.
    let forwarded = |address: &str| {
        let headers = format!("X-Forwarded-For: {address}\r\n{}", basic("wrong"));
        ask(&ring, 1, "GET /ring", &headers, "").map(|answer| answer.status)
    };
    for _ in 0..10 {
        ensure!(forwarded("203.0.113.9, 198.51.100.7")? == 401);
    }
    ensure!(forwarded("198.51.100.7")? == 429);
    ensure!(forwarded("198.51.100.8")? == 401);
    // Other machines cannot reach the page itself.
    let direct = elsewhere
        .ns()
        .run(|| connect_from((ip, 8080).into(), elsewhere.ip().unwrap_or(ip), WAIT_LIMIT))?;
    let answer = direct.map(|it| exchange(it, request("GET /login", "", "").as_bytes()));
    ensure!(answer.is_err(), "{answer:?}");
    let line = format!(
        "a browser at {} has logged in",
        elsewhere.ip().context("ip")?
    );
    ring.node(1)
        .wait_for_line(WAIT_LIMIT, |it| it.contains(&line))?;
    Ok(())
}

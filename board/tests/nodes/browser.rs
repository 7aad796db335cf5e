//! A headless Chromium on a node's machine, driven by ChromeDriver through requests in JSON (WebDriver).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ring_segment::{Node, WAIT_LIMIT};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::http::PAGE;

/// The port of ChromeDriver, in the machine's own network.
const PORT: u16 = 9515;
/// A screen narrower than this width counts as a phone's screen.
const PHONE_WIDTH_MAX: u32 = 500;
/// The interval between two checks of the page.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A browser. Dropping this value ends the browser.
pub(crate) struct Browser {
    node: Node,
    driver: Child,
    session: String,
    profile: TempDir,
}

impl Browser {
    /// Opens the page of the machine's node on a screen of this width and height.
    pub(crate) fn open(node: &Node, size: (u32, u32)) -> Result<Self> {
        Self::open_url(node, size, &format!("http://{PAGE}/"), &[])
    }

    /// Opens a URL. The browser also gets these arguments.
    pub(crate) fn open_url(
        node: &Node,
        size: (u32, u32),
        url: &str,
        more: &[String],
    ) -> Result<Self> {
        let profile = tempfile::tempdir_in("/run")?;
        // Without this limit, Chromium would raise its priority and slow down the databases of other tests.
        let mut command = Command::new("setpriv");
        command
            .args(["--bounding-set=-sys_nice", "chromedriver"])
            .arg(format!("--port={PORT}"))
            .env("HOME", profile.path());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let driver = node.ns().spawn(&mut command);
        let driver = driver.context("there is no setpriv, which util-linux has")?;
        let mut browser = Self {
            node: node.clone(),
            driver,
            session: String::new(),
            profile,
        };
        let give_up = Instant::now() + WAIT_LIMIT;
        while browser.send("GET", "/status", &Value::Null).is_err() {
            ensure!(
                Instant::now() < give_up,
                "ChromeDriver does not answer: is Chromium installed, as by apt-get install chromium-driver?"
            );
            thread::sleep(POLL_INTERVAL);
        }
        let arguments = [
            "--headless".to_owned(),
            // The sandbox would need namespaces within those of the tests.
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--no-first-run".to_owned(),
            "--disable-background-networking".to_owned(),
            "--disable-component-update".to_owned(),
            "--disable-sync".to_owned(),
            format!("--user-data-dir={}", browser.profile.path().display()),
        ];
        let arguments = [&arguments, more].concat();
        let options = json!({"args": arguments});
        let request = json!({"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}});
        let made = browser.send("POST", "/session", &request)?;
        let session = made["sessionId"].as_str().context("no session")?;
        browser.session = format!("/session/{session}");
        browser.set_screen(size, "light")?;
        browser.send_to_session("url", &json!({"url": url}))?;
        Ok(browser)
    }

    /// Sets the screen's width and height, and the preferred color scheme: `light` or `dark`.
    pub(crate) fn set_screen(&self, size: (u32, u32), scheme: &str) -> Result<()> {
        let screen = json!({
            "width": size.0, "height": size.1, "deviceScaleFactor": 1, "mobile": size.0 < PHONE_WIDTH_MAX
        });
        self.run_devtools("Emulation.setDeviceMetricsOverride", &screen)?;
        let wish = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.run_devtools("Emulation.setEmulatedMedia", &wish)
    }

    /// Returns the cookies of the current page, also those that scripts cannot read.
    pub(crate) fn cookies(&self) -> Result<Value> {
        self.send("GET", &format!("{}/cookie", self.session), &Value::Null)
    }

    /// Goes back to the last page, as the button of a browser does.
    pub(crate) fn go_back(&self) -> Result<()> {
        self.send_to_session("back", &json!({})).map(drop)
    }

    pub(crate) fn current_tab(&self) -> Result<Value> {
        self.send("GET", &format!("{}/window", self.session), &Value::Null)
    }

    /// Opens the page in a new tab. The new tab becomes the current tab.
    pub(crate) fn open_tab(&self) -> Result<Value> {
        let page = self.run("return location.href")?;
        let made = self.send_to_session("window/new", &json!({"type": "tab"}))?;
        self.select_tab(&made["handle"])?;
        self.send_to_session("url", &json!({"url": page}))?;
        Ok(made["handle"].clone())
    }

    pub(crate) fn select_tab(&self, tab: &Value) -> Result<()> {
        self.send_to_session("window", &json!({"handle": tab}))
            .map(drop)
    }

    pub(crate) fn reload(&self) -> Result<()> {
        self.send_to_session("refresh", &json!({})).map(drop)
    }

    /// Runs a command of the Chrome DevTools Protocol.
    fn run_devtools(&self, command: &str, parameters: &Value) -> Result<()> {
        let body = json!({"cmd": command, "params": parameters});
        self.send_to_session("goog/cdp/execute", &body).map(drop)
    }

    pub(crate) fn run(&self, script: &str) -> Result<Value> {
        self.send_to_session("execute/sync", &json!({"script": script, "args": []}))
    }

    /// Waits until a script returns `true`.
    pub(crate) fn wait(&self, script: &str) -> Result<()> {
        let give_up = Instant::now() + WAIT_LIMIT;
        while self.run(script)? != true {
            ensure!(
                Instant::now() < give_up,
                "not so: {script}; it shows {}",
                self.run("return document.body.innerText")?
            );
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// Types into the focused field, as a keyboard does.
    pub(crate) fn type_keys(&self, text: &str) -> Result<()> {
        let key = |it: char| {
            let key = |kind: &str| json!({"type": kind, "value": it.to_string()});
            [key("keyDown"), key("keyUp")]
        };
        let actions: Vec<Value> = text.chars().flat_map(key).collect();
        let all = json!({"actions": [{"type": "key", "id": "keyboard", "actions": actions}]});
        self.send_to_session("actions", &all).map(drop)
    }

    fn send_to_session(&self, what: &str, body: &Value) -> Result<Value> {
        self.send("POST", &format!("{}/{what}", self.session), body)
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let address = (Ipv4Addr::LOCALHOST, PORT);
        let mut stream = self.node.ns().run(|| TcpStream::connect(address))??;
        stream.set_read_timeout(Some(WAIT_LIMIT))?;
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost:{PORT}\r\nConnection: close\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )?;
        // ChromeDriver keeps the connection open, although the request has "Connection: close".
        let mut stream = BufReader::new(stream);
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let start = head.len();
            ensure!(stream.read_line(&mut head)? > 0, "no head: {head}");
            let line = head[start..].to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        let answer: Value = serde_json::from_slice(&body).context("the answer is no JSON")?;
        if head.split(' ').nth(1) != Some("200") {
            bail!("{method} {path}: {answer}");
        }
        Ok(answer["value"].clone())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser ends with its session. All other processes end with the namespaces.
        let _ = self.send("DELETE", &self.session, &Value::Null);
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

//! Chromium without a window, on a node's machine, driven by ChromeDriver: requests in JSON (the W3C's WebDriver).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ring_segment::{Node, PATIENCE};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Where ChromeDriver listens, in the machine's own network.
const PORT: u16 = 9515;
/// What is narrower is a phone.
const NARROWEST: u32 = 500;
/// Between two looks at what a page shows.
const POLL: Duration = Duration::from_millis(20);

/// A browser. It is ended when this is dropped.
pub(crate) struct Browser {
    node: Node,
    driver: Child,
    session: String,
    profile: TempDir,
}

impl Browser {
    /// Opens a page on a screen of a width and a height.
    pub(crate) fn open(node: &Node, size: (u32, u32)) -> Result<Self> {
        let profile = tempfile::tempdir_in("/run")?;
        // Chromium would give itself more of the processors than databases of other tests have.
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
        let give_up = Instant::now() + PATIENCE;
        while browser.say("GET", "/status", &Value::Null).is_err() {
            ensure!(
                Instant::now() < give_up,
                "ChromeDriver does not answer: is Chromium installed, as by apt-get install chromium-driver?"
            );
            thread::sleep(POLL);
        }
        let arguments = [
            "--headless".to_owned(),
            // It would need namespaces within those of the tests.
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--no-first-run".to_owned(),
            "--disable-background-networking".to_owned(),
            "--disable-component-update".to_owned(),
            "--disable-sync".to_owned(),
            format!("--user-data-dir={}", browser.profile.path().display()),
        ];
        let options = json!({"args": arguments});
        let wanted = json!({"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}});
        let made = browser.say("POST", "/session", &wanted)?;
        let session = made["sessionId"].as_str().context("no session")?;
        browser.session = format!("/session/{session}");
        let ip = node.ip().context("it has an address")?;
        browser.appear(size, "light")?;
        browser.ask("url", &json!({"url": format!("http://{ip}:8080/")}))?;
        Ok(browser)
    }

    /// Another screen, of a width and a height, of a user who prefers `scheme`: `light` or `dark`.
    pub(crate) fn appear(&self, size: (u32, u32), scheme: &str) -> Result<()> {
        let screen = json!({
            "width": size.0, "height": size.1, "deviceScaleFactor": 1, "mobile": size.0 < NARROWEST
        });
        self.develop("Emulation.setDeviceMetricsOverride", &screen)?;
        let wish = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.develop("Emulation.setEmulatedMedia", &wish)
    }

    /// The tab that commands are for.
    pub(crate) fn tab(&self) -> Result<Value> {
        self.say("GET", &format!("{}/window", self.session), &Value::Null)
    }

    /// Opens the page in a new tab, which commands are for from now on.
    pub(crate) fn open_tab(&self) -> Result<Value> {
        let page = self.run("return location.href")?;
        let made = self.ask("window/new", &json!({"type": "tab"}))?;
        self.show(&made["handle"])?;
        self.ask("url", &json!({"url": page}))?;
        Ok(made["handle"].clone())
    }

    /// Directs commands to a tab.
    pub(crate) fn show(&self, tab: &Value) -> Result<()> {
        self.ask("window", &json!({"handle": tab})).map(drop)
    }

    /// Opens the page anew.
    pub(crate) fn reload(&self) -> Result<()> {
        self.ask("refresh", &json!({})).map(drop)
    }

    /// A command of Chromium's own.
    fn develop(&self, command: &str, parameters: &Value) -> Result<()> {
        let body = json!({"cmd": command, "params": parameters});
        self.ask("goog/cdp/execute", &body).map(drop)
    }

    /// What a script returns.
    pub(crate) fn run(&self, script: &str) -> Result<Value> {
        self.ask("execute/sync", &json!({"script": script, "args": []}))
    }

    /// Waits until a script returns `true`.
    pub(crate) fn wait(&self, script: &str) -> Result<()> {
        let give_up = Instant::now() + PATIENCE;
        while self.run(script)? != true {
            ensure!(
                Instant::now() < give_up,
                "not so: {script}; it shows {}",
                self.run("return document.body.innerText")?
            );
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// Types into the field that has the focus, as a keyboard does.
    pub(crate) fn type_keys(&self, text: &str) -> Result<()> {
        let key = |it: char| {
            let key = |kind: &str| json!({"type": kind, "value": it.to_string()});
            [key("keyDown"), key("keyUp")]
        };
        let actions: Vec<Value> = text.chars().flat_map(key).collect();
        let all = json!({"actions": [{"type": "key", "id": "keyboard", "actions": actions}]});
        self.ask("actions", &all).map(drop)
    }

    fn ask(&self, what: &str, body: &Value) -> Result<Value> {
        self.say("POST", &format!("{}/{what}", self.session), body)
    }

    fn say(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let address = (Ipv4Addr::LOCALHOST, PORT);
        let mut stream = self.node.ns().run(|| TcpStream::connect(address))??;
        stream.set_read_timeout(Some(PATIENCE))?;
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost:{PORT}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )?;
        // It keeps the connection open whatever is asked of it.
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
        let said: Value = serde_json::from_slice(&body).context("the answer is no JSON")?;
        if head.split(' ').nth(1) != Some("200") {
            bail!("{method} {path}: {said}");
        }
        Ok(said["value"].clone())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser ends with its session; what is left ends with the world.
        let _ = self.say("DELETE", &self.session, &Value::Null);
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

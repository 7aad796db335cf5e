//! Redis' lock according to its documentation: SET NX PX, and a script that deletes only the client's own key.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ring_segment::Node;

use super::{Server, address, connect, wait_for};
use crate::contest::Lock;
use crate::names::{ByName, lock_name};

const PORT: u16 = 6379;
/// Time between two requests of a waiting client. The client must poll, because Redis does not announce a release.
const RETRY_INTERVAL: Duration = Duration::from_millis(1);
const RELEASE: &str =
    "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";

/// Starts a server on a node, and waits until it answers.
pub(crate) fn start(node: &Node) -> Result<Server> {
    let options = [
        "--port",
        &PORT.to_string(),
        "--protected-mode",
        "no",
        "--dir",
    ];
    let options = options.map(str::to_owned);
    let server = Server::start(("redis-server", "redis-server"), node, &options)?;
    wait_for(|| Client::connect(node, node, 0).map(drop)).context("Redis does not answer")?;
    Ok(server)
}

pub(crate) fn clients(nodes: &[Node], server: &Node) -> Result<Vec<Client>> {
    let nodes = nodes.iter().enumerate();
    nodes
        .map(|(number, node)| Client::connect(node, server, number))
        .collect()
}

pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    /// Value of the key while this client holds the lock. Each client has a different value.
    value: String,
    /// Key of the lock.
    key: String,
    line: String,
}

impl Client {
    fn connect(node: &Node, server: &Node, number: usize) -> Result<Self> {
        let stream = connect(node, SocketAddrV4::new(address(server)?, PORT))?;
        Ok(Self {
            stream: BufReader::new(stream),
            value: number.to_string(),
            key: lock_name(0),
            line: String::new(),
        })
    }

    /// Sends a command, and returns the answer. The answer is one line.
    fn ask(&mut self, words: &[&str]) -> Result<&str> {
        let words = words.iter().map(|it| format!("${}\r\n{it}\r\n", it.len()));
        let command = format!("*{}\r\n{}", words.len(), words.collect::<String>());
        self.stream.get_mut().write_all(command.as_bytes())?;
        self.line.clear();
        self.stream.read_line(&mut self.line)?;
        Ok(self.line.trim_end())
    }
}

impl Lock for Client {
    fn lock(&mut self) -> Result<()> {
        let (key, value) = (self.key.clone(), self.value.clone());
        loop {
            match self.ask(&["SET", &key, &value, "NX", "PX", "30000"])? {
                "+OK" => return Ok(()),
                "$-1" => thread::sleep(RETRY_INTERVAL),
                other => bail!("Redis answers {other:?}"),
            }
        }
    }

    fn unlock(&mut self) -> Result<()> {
        let (key, value) = (self.key.clone(), self.value.clone());
        match self.ask(&["EVAL", RELEASE, "1", &key, &value])? {
            ":1" => Ok(()),
            other => bail!("Redis answers {other:?}"),
        }
    }
}

impl ByName for Client {
    fn choose(&mut self, number: u64) {
        self.key = lock_name(number);
    }
}

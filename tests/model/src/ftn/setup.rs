//! The values with which all processes of a scenario start.

use std::net::SocketAddr;

use ring_codec::ftn::ServerState;
use ring_proto::ftn::client::{self, Client};
use ring_proto::ftn::endpoint::Endpoint;
use ring_proto::ftn::server::{self, Durable, Server};
use ring_proto::ftn::{Configuration, Servers};

use super::notation::{self, list, token_name};
use super::scenario::{CLIENT_TIMEOUT, HEARTBEAT, SERVER_TIMEOUT, Scenario};

/// A scenario, and the values that do not change in it.
pub struct Setup {
    pub scenario: Scenario,
    pub token: Box<[u8]>,
    list: Servers,
}

impl Setup {
    /// Returns the setup of a scenario.
    ///
    /// # Panics
    /// Panics if there are no servers, or if no token name belongs to the scenario's server.
    pub fn of(scenario: Scenario) -> Self {
        let list = list(scenario.servers).expect("a few servers");
        let all = Configuration::new(1, vec![ServerState::Ready; scenario.servers]);
        let mut names = (0..100).map(token_name);
        let token = names.find(|name| list.responsible(name, &all) == Some(scenario.at));
        let token = token.expect("each server has a token name");
        Self {
            scenario,
            token,
            list,
        }
    }

    /// Starts the process of a node. `life` is the number of this start.
    ///
    /// # Panics
    /// Panics if the options are invalid.
    pub fn start(&self, node: usize, life: u16, durable: Durable) -> Endpoint {
        let (scenario, servers) = (&self.scenario, self.list.clone());
        if scenario.is_server(node) {
            // The seeds differ, so that no two processes create the same ids.
            let seed = 1_000 * u64::from(life) + node as u64;
            let options = server::Options {
                heartbeat: HEARTBEAT,
                server_timeout: SERVER_TIMEOUT,
                client_timeout: CLIENT_TIMEOUT,
                grace: CLIENT_TIMEOUT,
                quorum: scenario.quorum,
                ..server::Options::default()
            };
            let server = Server::new(options, servers, node, durable, seed);
            Endpoint::Server(Box::new(server.expect("options that work")))
        } else {
            let options = client::Options {
                servers,
                client_timeout: CLIENT_TIMEOUT,
                introduction: String::new(),
            };
            Endpoint::Client(Box::new(Client::new(options)))
        }
    }

    /// Returns the address of a node after its start with the number `life`.
    pub fn address(&self, node: usize, life: u16) -> SocketAddr {
        notation::address(node, self.scenario.is_server(node), life)
    }
}

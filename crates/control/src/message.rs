//! Requests and replies of the control socket (`docs/reference/control.md`). This file has the types of all requests
//! and replies, and the messages that all systems share.

use std::borrow::Cow;
use std::fmt::Debug;
use std::path::PathBuf;

use serde::de::{DeserializeOwned, Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use strum::{EnumIter, IntoEnumIterator};

use super::{
    EventMessage, Grant, LockRequest, Loss, NodeStatus, RawJson, Refusal, Renewal, Right, Snapshot,
};

/// The version of this protocol.
pub const PROTOCOL_VERSION: u32 = 1;

/// An enum of the requests that exist in only one system. No variant of the enum may have the same name as a variant of
/// [`Request`].
pub trait SystemRequest: Debug + Serialize + DeserializeOwned {
    /// The type of the grade that a request for a lock can require ([`LockRequest::require`]).
    type Require: Debug + Clone + PartialEq + Serialize + DeserializeOwned;

    /// Whether the daemon must drop the request if its client no longer waits for the answer
    /// ([`Request::needs_its_client`]).
    fn needs_its_client(&self) -> bool;

    /// Returns the right that a client needs for the request ([`Request::right`]).
    fn right(&self) -> Right;
}

/// A request that does not exist in the system of this node, but may exist in a different system. The node refuses it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoRequest {
    request: String,
}

impl SystemRequest for NoRequest {
    type Require = Self;

    fn needs_its_client(&self) -> bool {
        false
    }

    fn right(&self) -> Right {
        Right::Act
    }
}

/// A request: `{"request":"status"}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, EnumIter)]
#[serde(
    remote = "Self",
    tag = "request",
    rename_all = "snake_case",
    bound = "O: SystemRequest"
)]
pub enum Request<O: SystemRequest> {
    /// Asks for the protocol's version.
    Version,
    /// Asks for the status of the node.
    Status,
    /// Requests the token for this connection. The connection keeps the token until [`Request::Unlock`], or until the
    /// connection ends.
    Lock(LockRequest<O::Require>),
    /// Passes descriptors to the daemon on the connection that holds the token. If this connection ends without
    /// [`Request::Unlock`], the daemon uses the descriptors to end the work under the token.
    Bind,
    /// Releases the lock. If the lock is not granted yet, withdraws the request for it.
    Unlock {
        /// The exit code of the lock's command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<u8>,
    },
    /// Asks for the token's data. The node returns the latest data that it knows.
    DataGet,
    /// Sets the token's data.
    DataSet {
        /// The data in hexadecimal digits.
        hex: String,
        /// The fencing token of the lock under which the client changes the data. A connection that holds the lock
        /// itself need not send the fencing token.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
    },
    /// Asks for all later events, which the daemon sends as they happen.
    Watch {
        /// The number of the first event that the client wants. If the node no longer stores this event, it first sends
        /// a snapshot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<u64>,
        /// Whether to include routine events, such as the handovers of the token.
        #[serde(default = "yes", skip_serializing_if = "is_yes")]
        turns: bool,
    },
    /// A request that is specific to this system.
    #[serde(skip)]
    #[strum(disabled)]
    System(O),
}

/// The names of the requests that all systems share.
const COMMON: [&str; 8] = [
    "version", "status", "lock", "bind", "unlock", "data_get", "data_set", "watch",
];

impl<O: SystemRequest> Request<O> {
    /// Whether the daemon must drop the request if its client no longer waits for the answer. A client that stops
    /// waiting reports that its request had no effect. So the daemon must not execute such a request later.
    pub fn needs_its_client(&self) -> bool {
        match self {
            Self::Lock(_) | Self::DataSet { .. } => true,
            Self::Version
            | Self::Status
            | Self::Bind
            | Self::Unlock { .. }
            | Self::DataGet
            | Self::Watch { .. } => false,
            Self::System(own) => own.needs_its_client(),
        }
    }

    /// Returns the right that a client needs for the request.
    pub fn right(&self) -> Right {
        match self {
            // The data are no secret: they travel in frames that each machine of the segment can read.
            Self::Version | Self::Status | Self::DataGet | Self::Watch { .. } => Right::Read,
            Self::Lock(_) | Self::Bind | Self::Unlock { .. } | Self::DataSet { .. } => Right::Act,
            Self::System(own) => own.right(),
        }
    }
}

impl<O: SystemRequest + IntoEnumIterator> Request<O> {
    /// Returns one example of each request.
    pub fn examples() -> impl Iterator<Item = Self> {
        Self::iter().chain(O::iter().map(Self::System))
    }
}

impl<O: SystemRequest> Serialize for Request<O> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::System(own) => own.serialize(to),
            common => Self::serialize(common, to),
        }
    }
}

impl<'de, O: SystemRequest> Deserialize<'de> for Request<O> {
    /// Reads the name of the request first, and then parses only the type with this name. So an error message describes
    /// the right type. The input must be JSON text in memory.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(from)?.get();
        let named: Option<Named<'_>> = serde_json::from_str(text).ok();
        let read = if named.is_some_and(|it| !COMMON.contains(&&*it.request)) {
            serde_json::from_str(text).map(Self::System)
        } else {
            Self::deserialize(&mut serde_json::Deserializer::from_str(text))
        };
        read.map_err(D::Error::custom)
    }
}

/// A request of which only the name is parsed.
#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    request: Cow<'a, str>,
}

const fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_yes(value: &bool) -> bool {
    *value
}

/// A reply: `{"status":{…}}` or `{"error":"…"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The answer to [`Request::Version`].
    Version(Version),
    /// The answer to [`Request::Status`].
    Status(NodeStatus),
    /// The answer to [`Request::Lock`] if the lock is granted.
    Granted(Grant),
    /// The answer to [`Request::Lock`] if the lock is refused.
    Refused(Refusal),
    /// The daemon renewed the lease. The daemon sends this message without a request.
    Renewed(Renewal),
    /// The lock is lost. The daemon sends this message without a request.
    Lost(Loss),
    /// The answer to [`Request::Unlock`].
    Unlocked {},
    /// The daemon executed the request.
    Done {},
    /// The daemon began to execute the request, but did not finish within the client's maximum wait.
    Pending(Pending),
    /// The answer to [`Request::DataGet`].
    Data(TokenData),
    /// The recording of the node's last frames and events is written.
    Dumped {
        /// The file of the recording on the daemon's machine.
        path: PathBuf,
    },
    /// The named locks of a ring. The form of the JSON depends on the system.
    Locks(Vec<RawJson>),
    /// The answer to a survey of a ring. The JSON is a [`SurveyReport`](crate::lab2::SurveyReport).
    Survey(RawJson),
    /// The first answer to [`Request::Watch`].
    Snapshot(Box<Snapshot>),
    /// An event. After [`Request::Watch`], the daemon sends event messages without further requests.
    Event(EventMessage),
    /// The request failed: the reason, as a sentence.
    Error(String),
}

/// The versions of the protocol and the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// The protocol's version, [`PROTOCOL_VERSION`].
    pub protocol: u32,
    /// The program's version.
    pub ringd: String,
    /// The node's interface. The interface is absent if the node does not have exactly one interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
}

/// The reason why the execution of a request is not complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The reason as a word for programs. The system defines the words.
    pub why: String,
    /// The reason for people, as a sentence.
    pub text: String,
}

/// The token's data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenData {
    /// The data in hexadecimal digits.
    pub hex: String,
    /// The token to which the data belong. The form of the JSON depends on the system.
    pub token: Option<RawJson>,
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::{COMMON, NoRequest, Request, SystemRequest};
    use crate::jitterbug::JitterbugRequest;
    use crate::lab2::RingRequest;
    use crate::{LockRequest, Right};
    use strum::IntoEnumIterator;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "request", rename_all = "snake_case")]
    enum ExampleRequest {
        Dance { steps: u32 },
    }

    impl SystemRequest for ExampleRequest {
        type Require = u8;

        fn needs_its_client(&self) -> bool {
            true
        }

        fn right(&self) -> Right {
            Right::Act
        }
    }

    fn read<O: SystemRequest>(line: &str) -> Result<Request<O>, String> {
        serde_json::from_str(line).map_err(|error| error.to_string())
    }

    #[test]
    fn every_common_request_is_known_by_its_name_and_comes_back() {
        let requests: [Request<ExampleRequest>; 8] = [
            Request::Version,
            Request::Status,
            Request::Lock(LockRequest {
                require: Some(7),
                ..LockRequest::default()
            }),
            Request::Bind,
            Request::Unlock { exit: Some(3) },
            Request::DataGet,
            Request::DataSet {
                hex: "00".to_owned(),
                token: None,
            },
            Request::Watch {
                from: Some(3),
                turns: false,
            },
        ];
        for (request, name) in requests.into_iter().zip(COMMON) {
            let line = serde_json::to_string(&request).expect("it is JSON");
            let start = format!("{{\"request\":\"{name}\"");
            assert!(line.starts_with(&start), "{line}");
            assert_eq!(read(&line), Ok(request));
        }
    }

    #[test]
    fn only_its_system_knows_a_specific_request() {
        let own = Request::System(ExampleRequest::Dance { steps: 2 });
        let line = r#"{"request":"dance","steps":2}"#;
        assert_eq!(serde_json::to_string(&own).expect("it is JSON"), line);
        assert!(own.needs_its_client());
        assert_eq!(read(line), Ok(own));
        let refused = read::<NoRequest>(line).expect("it is a request");
        assert!(matches!(refused, Request::System(_)), "{refused:?}");
    }

    fn reading<O: SystemRequest + IntoEnumIterator>() -> Vec<String> {
        let all = Request::<O>::examples().filter(|it| it.right() == Right::Read);
        let lines = all.map(|it| serde_json::to_value(it).expect("it is JSON"));
        let names = lines.map(|it| it["request"].as_str().expect("a name").to_owned());
        names.collect()
    }

    #[test]
    fn only_requests_that_change_nothing_need_no_right_to_act() {
        let expected = ["version", "status", "data_get", "watch", "locks", "survey"];
        assert_eq!(reading::<RingRequest>(), expected);
        assert_eq!(reading::<JitterbugRequest>(), expected);
        let unknown = read::<NoRequest>(r#"{"request":"dance"}"#).expect("it is a request");
        assert_eq!(unknown.right(), Right::Act);
    }

    #[test]
    fn an_error_describes_the_right_type() {
        for (line, wrong) in [
            (r#"{"request":"watch","from":"x"}"#, "expected u64"),
            (r#"{"request":"dance"}"#, "missing field `steps`"),
            ("{}", "missing field `request`"),
            (r#"{"request":7}"#, "invalid type"),
            ("[]", "missing field `request`"),
        ] {
            let error = read::<ExampleRequest>(line).expect_err(line);
            assert!(error.contains(wrong), "{line}: {error}");
        }
    }
}

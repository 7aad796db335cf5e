//! What is asked over the control socket, and what is answered (`docs/control.md`): the envelope, and what all
//! systems have in common.

use std::fmt::Debug;

use serde::de::{DeserializeOwned, Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::{
    EventMessage, Grant, LockRequest, Loss, NodeStatus, OwnJson, Refusal, Renewal, Snapshot,
};

/// The version of the protocol that this module describes.
pub const PROTOCOL: u32 = 1;

/// What only one system's nodes are asked: an enum of requests whose names are none of [`Request`]'s.
pub trait OwnRequest: Debug + Serialize + DeserializeOwned {
    /// What a lock may be required to be ([`LockRequest::require`]).
    type Require: Debug + Clone + PartialEq + Serialize + DeserializeOwned;

    /// Whether it is carried out only for a client that is there for the answer
    /// ([`Request::needs_its_client`]).
    fn needs_its_client(&self) -> bool;
}

/// What a node is asked whose system knows no requests of its own: one of another system, which it refuses in its own
/// words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoRequest {
    /// Its name.
    request: String,
}

impl OwnRequest for NoRequest {
    type Require = Self;

    fn needs_its_client(&self) -> bool {
        false
    }
}

/// A request: `{"request":"status"}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    remote = "Self",
    tag = "request",
    rename_all = "snake_case",
    bound = "O: OwnRequest"
)]
pub enum Request<O: OwnRequest> {
    /// Which protocol is spoken here.
    Version,
    /// How the daemon sees its system.
    Status,
    /// The token, for this connection, until it says [`Request::Unlock`] or ends.
    Lock(LockRequest<O::Require>),
    /// How the work of this connection, which has the token, is ended if it ends without
    /// [`Request::Unlock`]: by the descriptors that come with this.
    Bind,
    /// The work is done, or no longer wanted.
    Unlock {
        /// The exit code of the command that the lock was for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<u8>,
    },
    /// The token's data, as far as it is known here.
    DataGet,
    /// Changes the token's data.
    DataSet {
        /// In hexadecimal digits.
        hex: String,
        /// The fencing token of the lock under which this is done; not needed by the connection
        /// that has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
    },
    /// All that happens from now on.
    Watch {
        /// From the event of this number on, if it is still known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<u64>,
        /// With the routine, as the turns of a token that goes its way round the ring.
        #[serde(default = "yes", skip_serializing_if = "is_yes")]
        turns: bool,
    },
    /// What only this system's nodes are asked.
    #[serde(skip)]
    Own(O),
}

/// The names of those that every system may know.
const COMMON: [&str; 8] = [
    "version", "status", "lock", "bind", "unlock", "data_get", "data_set", "watch",
];

impl<O: OwnRequest> Request<O> {
    /// Whether it is carried out only for a client that is there for the answer. One that has given up
    /// has been told that nothing came of it.
    pub fn needs_its_client(&self) -> bool {
        match self {
            Self::Lock(_) | Self::DataSet { .. } => true,
            Self::Version
            | Self::Status
            | Self::Bind
            | Self::Unlock { .. }
            | Self::DataGet
            | Self::Watch { .. } => false,
            Self::Own(own) => own.needs_its_client(),
        }
    }
}

impl<O: OwnRequest> Serialize for Request<O> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Own(own) => own.serialize(to),
            common => Self::serialize(common, to),
        }
    }
}

impl<'de, O: OwnRequest> Deserialize<'de> for Request<O> {
    /// Told apart by its name first, either kind can say what is wrong with it.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let request = Value::deserialize(from)?;
        let name = request.get("request").and_then(Value::as_str);
        let read = match name {
            Some(name) if !COMMON.contains(&name) => O::deserialize(request).map(Self::Own),
            _ => Self::deserialize(request),
        };
        read.map_err(D::Error::custom)
    }
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
    /// To [`Request::Version`].
    Version(Version),
    /// To [`Request::Status`].
    Status(NodeStatus),
    /// To [`Request::Lock`]: here it is.
    Granted(Grant),
    /// To [`Request::Lock`]: not to be had.
    Refused(Refusal),
    /// Unasked: the lock is safe for longer.
    Renewed(Renewal),
    /// Unasked: the lock is over.
    Lost(Loss),
    /// To [`Request::Unlock`].
    Unlocked {},
    /// It is carried out.
    Done {},
    /// It is begun, but not complete after the time that its client would wait.
    Pending(Pending),
    /// To [`Request::DataGet`].
    Data(TokenData),
    /// The first answer to [`Request::Watch`].
    Snapshot(Box<Snapshot>),
    /// Unasked, after [`Request::Watch`].
    Event(EventMessage),
    /// The request was not understood, or not carried out: why, as a sentence.
    Error(String),
}

/// What is spoken, and by whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// The program's version.
    pub ringd: String,
    /// Its interface; absent: it has none, or more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
}

/// Why something that was begun is not complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// For programs: the system's own word.
    pub why: String,
    /// For people, as a sentence.
    pub text: String,
}

/// The token's data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenData {
    /// In hexadecimal digits.
    pub hex: String,
    /// The token that it belongs to, as the system shows it.
    pub token: Option<OwnJson>,
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::{COMMON, NoRequest, OwnRequest, Request};
    use crate::LockRequest;

    /// What a system may have of its own.
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "request", rename_all = "snake_case")]
    enum Own {
        Dance { steps: u32 },
    }

    impl OwnRequest for Own {
        type Require = u8;

        fn needs_its_client(&self) -> bool {
            true
        }
    }

    fn read<O: OwnRequest>(line: &str) -> Result<Request<O>, String> {
        serde_json::from_str(line).map_err(|error| error.to_string())
    }

    #[test]
    fn every_common_request_is_known_by_its_name_and_comes_back() {
        let requests: [Request<Own>; 8] = [
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
    fn what_is_a_systems_own_is_known_to_that_system_alone() {
        let own = Request::Own(Own::Dance { steps: 2 });
        let line = r#"{"request":"dance","steps":2}"#;
        assert_eq!(serde_json::to_string(&own).expect("it is JSON"), line);
        assert!(own.needs_its_client());
        assert_eq!(read(line), Ok(own));
        let refused = read::<NoRequest>(line).expect("it is a request");
        assert!(matches!(refused, Request::Own(_)), "{refused:?}");
    }

    #[test]
    fn what_is_wrong_with_a_request_is_said_by_its_kind() {
        for (line, wrong) in [
            (r#"{"request":"watch","from":"x"}"#, "expected u64"),
            (r#"{"request":"dance"}"#, "missing field `steps`"),
            ("{}", "missing field `request`"),
            (r#"{"request":7}"#, "invalid type"),
            ("[]", "missing field `request`"),
        ] {
            let error = read::<Own>(line).expect_err(line);
            assert!(error.contains(wrong), "{line}: {error}");
        }
    }
}

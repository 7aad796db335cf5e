//! The requests that a node of a Jitterbug ring accepts in addition to the common requests. Some requests make sense
//! only in a Lab2 ring. The node parses such a request only to refuse it with a clear text.

use serde::{Deserialize, Serialize};
use strum::EnumIter;

use crate::{Right, SystemRequest};

/// A request to a node: `{"request":"yield"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, EnumIter)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum JitterbugRequest {
    /// Orders the node to pass the token on to the next node at once.
    Yield {
        /// The node that should get the token. A request that names a node is refused, because the list defines the
        /// order of the nodes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
    },
    /// The request for a named lock. The node refuses this request, because a Jitterbug ring has only one lock.
    NamedLock {},
    /// The request for all named locks. The node refuses this request, because a Jitterbug ring has no named locks.
    Locks,
    /// The request for a report of all members. The node refuses this request, because a Jitterbug ring has no surveys.
    Survey,
    /// The request for a measurement. The node refuses this request, because a Jitterbug ring has no surveys.
    Measure {},
    /// The request for a job that runs once in a period. The node refuses this request, because such jobs do not exist
    /// in Jitterbug.
    Once {},
    /// The request for a pause. The node refuses this request, because each node of a Jitterbug ring becomes leader
    /// from time to time.
    Pause {},
    /// The request to end a pause. The node refuses this request, because Jitterbug has no pauses.
    Resume,
    /// The request to remove a node. The node refuses this request, because a node never leaves the list.
    Forget {},
}

impl SystemRequest for JitterbugRequest {
    type Require = String;

    fn needs_its_client(&self) -> bool {
        true
    }

    fn right(&self) -> Right {
        match self {
            Self::Locks | Self::Survey => Right::Read,
            Self::Yield { .. }
            | Self::NamedLock {}
            | Self::Once {}
            | Self::Measure {}
            | Self::Pause {}
            | Self::Resume
            | Self::Forget {} => Right::Act,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::JitterbugRequest;
    use crate::Request;
    use crate::lab2::{MeasureRequest, NamedLockRequest, OnceRequest, PauseRequest, RingRequest};

    #[test]
    fn requests_of_a_lab2_ring_are_parsed() {
        let yields = |to| JitterbugRequest::Yield { to };
        let to = Some("10.0.0.1".to_owned());
        let cases = [
            (RingRequest::Yield { to: None }, yields(None)),
            (RingRequest::Yield { to: to.clone() }, yields(to)),
            (
                RingRequest::Once(OnceRequest::default()),
                JitterbugRequest::Once {},
            ),
            (
                RingRequest::Pause(PauseRequest::default()),
                JitterbugRequest::Pause {},
            ),
            (
                RingRequest::NamedLock(NamedLockRequest::default()),
                JitterbugRequest::NamedLock {},
            ),
            (RingRequest::Locks, JitterbugRequest::Locks),
            (RingRequest::Survey, JitterbugRequest::Survey),
            (
                RingRequest::Measure(MeasureRequest::default()),
                JitterbugRequest::Measure {},
            ),
            (RingRequest::Resume, JitterbugRequest::Resume),
            (
                RingRequest::Forget {
                    member: "b".to_owned(),
                },
                JitterbugRequest::Forget {},
            ),
        ];
        for (sent, parsed) in cases {
            let line = serde_json::to_string(&Request::System(sent)).expect("it is JSON");
            let read: Request<JitterbugRequest> = serde_json::from_str(&line).expect(&line);
            assert_eq!(read, Request::System(parsed));
        }
    }
}

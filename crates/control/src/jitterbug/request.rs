//! The requests that are specific to a node of a Jitterbug ring. Some are a Lab2 ring's: the node parses them so that
//! it can refuse them with a clear text.

use serde::{Deserialize, Serialize};

use crate::SystemRequest;

/// A request to a node: `{"request":"yield"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum JitterbugRequest {
    /// Passes the token on to the next node at once.
    Yield {
        /// The target node. A request with one is refused, because the list defines the order.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
    },
    /// A job that runs once in a period. It is refused: Jitterbug has no such jobs.
    Once {},
    /// A pause. It is refused: a node cannot take part without leading.
    Pause {},
    /// The end of a pause, which is refused.
    Resume,
    /// The removal of a node. It is refused: a node never leaves the list.
    Forget {},
}

impl SystemRequest for JitterbugRequest {
    type Require = String;

    fn needs_its_client(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::JitterbugRequest;
    use crate::Request;
    use crate::lab2::{OnceRequest, PauseRequest, RingRequest};

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

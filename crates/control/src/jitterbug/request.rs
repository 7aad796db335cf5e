//! What only a node of a Jitterbug ring is asked; and what it is asked by mistake, to be refused in words.

use serde::{Deserialize, Serialize};

use crate::OwnRequest;

/// A request to a node: `{"request":"yield"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum JitterbugRequest {
    /// The token is to go to the next node now.
    Yield {
        /// To which. The order of the list says that, so nobody can.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
    },
    /// A job that is to run once in a period. There are none.
    Once {},
    /// Take part, but never lead. That cannot be.
    Pause {},
    /// The end of that.
    Resume,
    /// A node is to leave all lists. Nothing leaves a list.
    Forget {},
}

impl OwnRequest for JitterbugRequest {
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
    fn what_is_meant_for_another_ring_is_understood_well_enough_to_be_refused() {
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
        for (asked, heard) in cases {
            let line = serde_json::to_string(&Request::Own(asked)).expect("it is JSON");
            let read: Request<JitterbugRequest> = serde_json::from_str(&line).expect(&line);
            assert_eq!(read, Request::Own(heard));
        }
    }
}

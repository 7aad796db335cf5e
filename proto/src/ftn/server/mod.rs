//! A server of the token service, as a pure state machine.

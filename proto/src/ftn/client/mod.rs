//! A client of the token service, as a pure state machine.

//! The rules of the protocol, one test each, on the machine that ships.

mod world;

mod forming;

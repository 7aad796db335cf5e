//! The rules of `docs/board.md`, a test each.

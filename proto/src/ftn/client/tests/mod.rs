//! The rules of `docs/ftn.md` that concern clients, a test each.

//! The rules of `docs/ftn.md`, each by its name.

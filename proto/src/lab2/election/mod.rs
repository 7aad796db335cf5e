pub(crate) mod known;
pub(crate) mod looser;
pub(crate) mod rivals;
pub(crate) mod tokens;

pub(crate) mod cards;
pub(crate) mod clock;
pub(crate) mod missing;
pub(crate) mod reach;
pub(crate) mod shared;
pub(crate) mod silent_members;
pub(crate) mod trouble;
pub(crate) mod unheard;

pub(crate) mod owner;
pub(crate) mod passing;
pub(crate) mod role;
pub(crate) mod unsure;
pub(crate) mod waiter;

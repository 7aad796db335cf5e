pub(crate) mod backing;
pub(crate) mod grade;
pub(crate) mod promise;
pub(crate) mod support;

//! What is wrong with the database, for the log and for who asks the node.

use std::sync::{Mutex, PoisonError};

/// The fault that goes on.
#[derive(Debug, Default)]
pub struct Complaint(Mutex<Option<Fault>>);

#[derive(Debug)]
struct Fault {
    text: String,
    /// A job that only reads says nothing of it.
    is_of_write: bool,
}

impl Complaint {
    /// The fault in words, if there is one.
    pub fn text(&self) -> Option<String> {
        let fault = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        fault.as_ref().map(|fault| fault.text.clone())
    }

    /// Something has failed. Returns whether it is news.
    pub(super) fn raise(&self, text: &str, is_of_write: bool) -> bool {
        let mut fault = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = fault.replace(Fault {
            text: text.to_owned(),
            is_of_write,
        });
        before.is_none_or(|before| before.text != text)
    }

    /// Something was done. Returns whether that ends the fault.
    pub(super) fn settle(&self, is_of_write: bool) -> bool {
        let mut fault = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        fault.take_if(|it| is_of_write || !it.is_of_write).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::Complaint;

    #[test]
    fn what_a_write_has_met_ends_with_a_write() {
        let complaint = Complaint::default();
        assert!(complaint.raise("full", true));
        assert!(!complaint.raise("full", true));
        assert!(!complaint.settle(false));
        assert_eq!(complaint.text().as_deref(), Some("full"));
        assert!(complaint.settle(true));
        assert!(complaint.raise("away", false) && complaint.settle(false));
        assert_eq!(complaint.text(), None);
    }
}

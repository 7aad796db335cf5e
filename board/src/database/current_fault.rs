//! The current fault of the database, for the log and for the node's status.

use std::sync::{Mutex, PoisonError};

/// The current fault of the database; `None` if there is no fault. The worker sets the fault, and the status reads it
/// from another thread.
#[derive(Debug, Default)]
pub struct CurrentFault(Mutex<Option<OpenFault>>);

#[derive(Debug)]
struct OpenFault {
    text: String,
    /// Whether a write failed with this fault. After a failed write, only a successful write ends the fault, because a
    /// job that only reads can succeed on a full disk.
    is_of_write: bool,
}

impl CurrentFault {
    /// Returns the text of the database's current fault; `None` if there is no fault.
    pub fn text(&self) -> Option<String> {
        let fault = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        fault.as_ref().map(|fault| fault.text.clone())
    }

    /// Records that a job failed. Returns whether the fault is new.
    pub(super) fn note_failure(&self, text: &str, is_of_write: bool) -> bool {
        let mut fault = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = fault.replace(OpenFault {
            text: text.to_owned(),
            is_of_write,
        });
        before.is_none_or(|before| before.text != text)
    }

    /// Records that a job succeeded. Returns whether this success ends the fault.
    pub(super) fn note_success(&self, is_of_write: bool) -> bool {
        let mut fault = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        fault.take_if(|it| is_of_write || !it.is_of_write).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::CurrentFault;

    #[test]
    fn a_fault_of_a_write_ends_with_a_write() {
        let current_fault = CurrentFault::default();
        assert!(current_fault.note_failure("full", true));
        assert!(!current_fault.note_failure("full", true));
        assert!(!current_fault.note_success(false));
        assert_eq!(current_fault.text().as_deref(), Some("full"));
        assert!(current_fault.note_success(true));
        assert!(current_fault.note_failure("away", false) && current_fault.note_success(false));
        assert_eq!(current_fault.text(), None);
    }
}

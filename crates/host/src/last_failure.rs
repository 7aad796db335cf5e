//! Suppresses repeated log lines: a failure that lasts is logged only once.

/// The last logged failure.
#[derive(Debug, Default)]
pub struct LastFailure(Option<String>);

impl LastFailure {
    /// Records a failure. Returns `true` if the caller must log the failure, because this failure differs from the last
    /// failure.
    pub fn record(&mut self, text: &str) -> bool {
        let is_new = self.0.as_deref() != Some(text);
        if is_new {
            self.0 = Some(text.to_owned());
        }
        is_new
    }

    /// Forgets the failure, because it has ended or other code logs it.
    pub fn clear(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::LastFailure;

    #[test]
    fn a_lasting_failure_is_new_once_and_again_after_a_change() {
        let mut last_failure = LastFailure::default();
        let reported = ["no buffers", "no buffers", "no permission", "no buffers"]
            .map(|text| last_failure.record(text));
        assert_eq!(reported, [true, false, true, true]);
        last_failure.clear();
        assert!(last_failure.record("no buffers"));
    }
}

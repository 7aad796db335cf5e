//! What has been complained of, so that it is logged once for as long as it goes on.

/// The failure logged last: one that goes on is logged once.
#[derive(Debug, Default)]
pub struct Complaints(Option<String>);

impl Complaints {
    /// Whether to log this failure: it was not the last one logged.
    pub fn is_new(&mut self, text: &str) -> bool {
        let is_new = self.0.as_deref() != Some(text);
        if is_new {
            self.0 = Some(text.to_owned());
        }
        is_new
    }

    /// There is no failure now, or one that is logged elsewhere.
    pub fn forget(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::Complaints;

    #[test]
    fn what_goes_on_failing_is_said_once_and_again_when_it_has_changed() {
        let mut complaints = Complaints::default();
        let said = ["no buffers", "no buffers", "no permission", "no buffers"]
            .map(|text| complaints.is_new(text));
        assert_eq!(said, [true, false, true, true]);
        complaints.forget();
        assert!(complaints.is_new("no buffers"));
    }
}

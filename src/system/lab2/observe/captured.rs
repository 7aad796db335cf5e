use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use ring_host::observe::{Style, Verbosity, subscriber};

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the lines that `act` logs.
pub(crate) fn captured(style: Style, verbose: bool, act: impl FnOnce()) -> Vec<String> {
    let captured = Captured::default();
    let writer = captured.clone();
    let lines = subscriber(style, Verbosity::new(verbose), move || writer.clone());
    tracing::subscriber::with_default(lines, act);
    let bytes = captured.0.lock().unwrap().clone();
    let text = String::from_utf8(bytes).unwrap();
    text.lines().map(str::to_owned).collect()
}

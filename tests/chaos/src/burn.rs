//! Processes that only burn CPU.

use std::hint::black_box;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

/// The hidden command that makes this program a burner.
pub const COMMAND: &str = "burn";

/// Burners. They are killed when this is dropped.
#[derive(Debug, Default)]
pub struct Burners {
    children: Vec<Child>,
}

impl Burners {
    /// Starts some, at normal priority.
    ///
    /// # Errors
    /// If the program cannot be started.
    pub fn start(program: &std::path::Path, count: u32) -> Result<Self> {
        let mut burners = Self::default();
        for _ in 0..count {
            let child = Command::new(program)
                .arg(COMMAND)
                .stdin(Stdio::null())
                .spawn()
                .context("cannot start a process that burns CPU")?;
            burners.children.push(child);
        }
        Ok(burners)
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        for child in &mut self.children {
            let ended = child.kill().and_then(|()| child.wait());
            if let Err(error) = ended {
                eprintln!("a process that burns CPU was left behind: {error}");
            }
        }
    }
}

/// Burns CPU for ever.
pub fn burn() -> ! {
    let mut count = 0_u64;
    loop {
        count = black_box(count.wrapping_add(1));
    }
}

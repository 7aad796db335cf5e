//! Processes that only burn CPU.

use std::env;
use std::hint::black_box;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

/// In the environment of a burner.
const BURNS: &str = "RING_CHAOS_BURNS";

/// Burners. They are killed when this is dropped.
#[derive(Debug, Default)]
pub struct Burners {
    children: Vec<Child>,
}

impl Burners {
    /// Starts some, at normal priority: `program` again, which calls [`burn_if_asked`].
    pub fn start(program: &std::path::Path, count: u32) -> Result<Self> {
        let mut burners = Self::default();
        for _ in 0..count {
            let child = Command::new(program)
                .env(BURNS, "1")
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

/// Burns CPU for ever, if that is what this process was started for.
pub fn burn_if_asked() {
    if env::var_os(BURNS).is_none() {
        return;
    }
    let mut count = 0_u64;
    loop {
        count = black_box(count.wrapping_add(1));
    }
}

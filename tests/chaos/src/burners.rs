//! Processes that use CPU time and do no work.

use std::env;
use std::hint::black_box;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

/// Environment variable that makes this program a burner.
const BURNS: &str = "RING_CHAOS_BURNS";

/// Burner processes, which are killed on drop.
#[derive(Debug, Default)]
pub struct Burners {
    children: Vec<Child>,
}

impl Burners {
    /// Starts `count` burners at normal priority. Each burner runs `program`, which must call [`burn_if_asked`].
    pub fn start(program: &std::path::Path, count: u32) -> Result<Self> {
        let mut burners = Self::default();
        for _ in 0..count {
            let child = Command::new(program)
                .env(BURNS, "1")
                .stdin(Stdio::null())
                .spawn()
                .context("cannot start a CPU burner")?;
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
                eprintln!("cannot kill a CPU burner: {error}");
            }
        }
    }
}

/// If this process was started as a burner, uses CPU time until it is killed.
pub fn burn_if_asked() {
    if env::var_os(BURNS).is_none() {
        return;
    }
    let mut count = 0_u64;
    loop {
        count = black_box(count.wrapping_add(1));
    }
}

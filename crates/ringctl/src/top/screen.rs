//! Shows the model on the terminal. Restores the terminal when the process ends, whatever the reason of the end is.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::panic;
use std::process;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use nix::sys::signal::Signal;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::style::force_color_output;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ring_process::{IgnoredSignals, stop_group};
use signal_hook::low_level::emulate_default_handler;

use super::super::Error;
use super::draw::{Layout, draw};
use super::feed::{self, Feed};
use super::input::{self, Action, Message};
use super::model::Model;
use super::style::Style;

/// Minimum time between two drawings. A minimum is necessary, because a busy ring has thousands of events per second.
const DRAW_INTERVAL: Duration = Duration::from_millis(50);
/// The exit code of a process that panics.
const PANIC_CODE: i32 = 101;

/// The terminal. Dropping it restores the terminal.
struct Screen(Terminal<CrosstermBackend<BufWriter<File>>>);

/// The reason for the end.
enum End {
    Quit,
    Signal(Signal),
}

/// Shows the model until the user quits.
///
/// # Errors
/// Fails if the terminal cannot be used.
pub(super) fn show(feed: Feed, mut model: Model, style: Style) -> anyhow::Result<()> {
    let (sender, messages) = feed::channel();
    input::catch_signals(sender.clone())?;
    // Without this call, a terminal without colors would still get the sequences that reset them.
    force_color_output(style.has_color());
    let mut screen = Screen::open().map_err(Error::Terminal)?;
    input::read_keys(sender.clone());
    feed.start(sender, Message::Update);
    let end = run(&mut screen, &mut model, style, &messages);
    drop(screen);
    match end.map_err(Error::Terminal)? {
        End::Quit => Ok(()),
        // End by the signal itself, so that the parent knows which signal ended this process.
        End::Signal(signal) => Ok(emulate_default_handler(signal as i32)?),
    }
}

fn run(
    screen: &mut Screen,
    model: &mut Model,
    style: Style,
    messages: &Receiver<Message>,
) -> io::Result<End> {
    let mut layout = Layout::default();
    let mut next_draw = Instant::now();
    let mut is_stale = true;
    loop {
        let now = Instant::now();
        if is_stale && now >= next_draw {
            let draw = |frame: &mut ratatui::Frame<'_>| {
                draw(model, &mut layout, style, frame.buffer_mut());
            };
            screen.0.draw(draw)?;
            is_stale = false;
            next_draw = now + DRAW_INTERVAL;
        }
        let wait = if is_stale {
            next_draw.saturating_duration_since(now)
        } else {
            Duration::MAX
        };
        let message = match messages.recv_timeout(wait) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return Ok(End::Quit),
        };
        is_stale = true;
        match message {
            Message::Update(update) => {
                model.apply(update, now, SystemTime::now());
            }
            Message::Resized => {}
            Message::InputFailed(error) => return Err(error),
            Message::Signal(Signal::SIGTSTP) => screen.stop()?,
            Message::Signal(Signal::SIGCONT) => screen.enter()?,
            Message::Signal(signal) => return Ok(End::Signal(signal)),
            Message::Action(action) => {
                if apply(action, &mut layout, screen)?.is_break() {
                    return Ok(End::Quit);
                }
            }
        }
    }
}

fn apply(action: Action, layout: &mut Layout, screen: &mut Screen) -> io::Result<ControlFlow<()>> {
    match action {
        Action::Quit => return Ok(ControlFlow::Break(())),
        Action::Stop => screen.stop()?,
        Action::Redraw => screen.enter()?,
        Action::ToggleHelp => layout.shows_help = !layout.shows_help,
        Action::NextPane => layout.panes.choose_next(),
        Action::PreviousPane => layout.panes.choose_previous(),
        Action::Scroll(by) => layout.panes.scroll(by),
    }
    Ok(ControlFlow::Continue(()))
}

impl Screen {
    fn open() -> io::Result<Self> {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            restore();
            hook(panic);
            // End the process: after the panic of one thread, the other threads would continue to draw on the restored
            // terminal.
            process::exit(PANIC_CODE);
        }));
        let backend = CrosstermBackend::new(BufWriter::new(output()?));
        let mut screen = Self(Terminal::new(backend)?);
        screen.enter()?;
        Ok(screen)
    }

    /// Takes the terminal. The next drawing draws the whole screen.
    fn enter(&mut self) -> io::Result<()> {
        // A shell may have changed the mode of the terminal while this process was stopped.
        disable_raw_mode()?;
        enable_raw_mode()?;
        execute!(output()?, EnterAlternateScreen, Hide)?;
        let size = self.0.size()?;
        self.0.resize(size.into())
    }

    /// Gives the terminal back to the shell, and stops this process until the shell continues it. If there is no shell
    /// that could continue it, this process does not stop.
    fn stop(&mut self) -> io::Result<()> {
        if IgnoredSignals::read()?.contains(Signal::SIGTSTP) {
            return Ok(());
        }
        restore();
        stop_group()?;
        self.enter()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Returns the output as a separate file. It does not use the lock of [`io::stdout`], because after a panic, any thread
/// must be able to restore the terminal.
fn output() -> io::Result<File> {
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

/// Restores the terminal. Ignores errors: the terminal may no longer exist.
fn restore() {
    let _ = disable_raw_mode();
    if let Ok(mut output) = output() {
        let _ = execute!(output, LeaveAlternateScreen, Show);
        let _ = output.flush();
    }
}

//! Receives keys and signals, each in a separate thread.

use std::io;
use std::sync::mpsc::SyncSender;
use std::thread;

use nix::sys::signal::Signal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ring_process::IgnoredSignals;
use signal_hook::iterator::Signals;

use super::feed::Update;
use super::panes::Scroll;

/// Signals after which the terminal is restored. A signal that the parent made this process ignore, for example with
/// `nohup`, stays ignored.
const CAUGHT: [Signal; 6] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGTSTP,
    Signal::SIGCONT,
];

/// Something that changes the display.
pub(super) enum Message {
    Update(Update),
    Action(Action),
    Resized,
    Signal(Signal),
    /// The terminal gives no more keys.
    InputFailed(io::Error),
}

/// An action that the user requests with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Quit,
    Stop,
    Redraw,
    ToggleHelp,
    NextPane,
    PreviousPane,
    Scroll(Scroll),
}

/// Catches signals, and passes them to a channel.
///
/// # Errors
/// Fails only if a basic system call fails.
pub(super) fn catch_signals(sender: SyncSender<Message>) -> io::Result<()> {
    let ignored = IgnoredSignals::read()?;
    let caught = CAUGHT.into_iter().filter(|it| !ignored.contains(*it));
    let mut signals = Signals::new(caught.map(|signal| signal as i32))?;
    thread::spawn(move || {
        for signal in signals.forever().filter_map(|it| Signal::try_from(it).ok()) {
            if sender.send(Message::Signal(signal)).is_err() {
                return;
            }
        }
    });
    Ok(())
}

/// Reads keys and changes of the size, and passes them to a channel.
pub(super) fn read_keys(sender: SyncSender<Message>) {
    thread::spawn(move || {
        loop {
            let message = match event::read() {
                Ok(Event::Key(key)) => match action(key) {
                    Some(action) => Message::Action(action),
                    None => continue,
                },
                Ok(Event::Resize(..)) => Message::Resized,
                Ok(_) => continue,
                Err(error) => Message::InputFailed(error),
            };
            let is_last = matches!(message, Message::InputFailed(_));
            if sender.send(message).is_err() || is_last {
                return;
            }
        }
    });
}

fn action(key: KeyEvent) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            KeyCode::Char('c') => Some(Action::Quit),
            KeyCode::Char('z') => Some(Action::Stop),
            KeyCode::Char('l') => Some(Action::Redraw),
            _ => None,
        };
    }
    Some(match key.code {
        KeyCode::Char('q') => Action::Quit,
        KeyCode::Char('?' | 'h') => Action::ToggleHelp,
        KeyCode::Tab => Action::NextPane,
        KeyCode::BackTab => Action::PreviousPane,
        KeyCode::Up | KeyCode::Char('k') => Action::Scroll(Scroll::Up),
        KeyCode::Down | KeyCode::Char('j') => Action::Scroll(Scroll::Down),
        KeyCode::PageUp => Action::Scroll(Scroll::PageUp),
        KeyCode::PageDown | KeyCode::Char(' ') => Action::Scroll(Scroll::PageDown),
        KeyCode::Home => Action::Scroll(Scroll::Start),
        KeyCode::End => Action::Scroll(Scroll::End),
        _ => return None,
    })
}

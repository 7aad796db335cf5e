//! The colors and the characters that the terminal can show.

use std::env;

use ratatui::style::{Color, Modifier, Style as TextStyle};
use ratatui::symbols::bar;
use ring_control::Health;

use super::page::Emphasis;

/// Bars of ASCII characters, from the lowest to the highest.
const ASCII_BARS: bar::Set<'static> = bar::Set {
    full: "#",
    seven_eighths: "*",
    three_quarters: "+",
    five_eighths: "=",
    half: "-",
    three_eighths: ":",
    one_quarter: ".",
    one_eighth: "_",
    empty: " ",
};

/// The abilities of the output. Without colors, bold and reversed texts are still visible.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    has_color: bool,
    has_unicode: bool,
}

impl Style {
    /// Returns the style of the terminal, according to the environment.
    pub(super) fn of_terminal() -> Self {
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            has_color: !is_set("NO_COLOR") && !is_dumb,
            has_unicode: is_utf8_locale(),
        }
    }

    /// Returns the style of a text that is no terminal.
    pub(super) fn plain() -> Self {
        Self {
            has_color: false,
            has_unicode: is_utf8_locale(),
        }
    }

    #[cfg(test)]
    pub(super) const fn of(has_color: bool, has_unicode: bool) -> Self {
        Self {
            has_color,
            has_unicode,
        }
    }

    pub(super) const fn has_color(self) -> bool {
        self.has_color
    }

    pub(super) const fn bars(self) -> bar::Set<'static> {
        if self.has_unicode {
            bar::NINE_LEVELS
        } else {
            ASCII_BARS
        }
    }

    pub(super) const fn dot(self) -> &'static str {
        if self.has_unicode { "·" } else { "-" }
    }

    /// Returns the text. A question mark replaces each character that the terminal cannot show.
    pub(super) fn shown(self, text: &str) -> String {
        let shown = |char: char| match char {
            _ if self.has_unicode || char.is_ascii() => char,
            _ => '?',
        };
        text.chars().map(shown).collect()
    }

    fn color(self, style: TextStyle, color: Color) -> TextStyle {
        if self.has_color {
            style.fg(color)
        } else {
            style
        }
    }

    pub(super) fn of_health(self, health: Health) -> TextStyle {
        let bold = TextStyle::new().add_modifier(Modifier::BOLD);
        match health {
            Health::Healthy => self.color(bold, Color::Green),
            Health::Degraded => self.color(bold, Color::Yellow),
            Health::Critical => self.color(bold, Color::Red),
        }
    }

    pub(super) fn of_row(self, emphasis: Emphasis) -> TextStyle {
        match emphasis {
            Emphasis::None => TextStyle::new(),
            Emphasis::Owner => {
                self.color(TextStyle::new().add_modifier(Modifier::BOLD), Color::Cyan)
            }
            Emphasis::Problem => self.color(TextStyle::new(), Color::Red),
        }
    }

    pub(super) fn label(self) -> TextStyle {
        self.color(TextStyle::new(), Color::Blue)
    }

    pub(super) const fn heading() -> TextStyle {
        TextStyle::new().add_modifier(Modifier::BOLD)
    }

    pub(super) const fn title() -> TextStyle {
        TextStyle::new().add_modifier(Modifier::REVERSED)
    }
}

/// Whether the locale of the environment uses UTF-8.
fn is_utf8_locale() -> bool {
    // These variables have the same order of priority in setlocale(3).
    let names = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter();
    let values = names.filter_map(env::var_os);
    let value = { values }.find(|value| !value.is_empty());
    let value = value.unwrap_or_default().to_string_lossy().to_lowercase();
    value.contains("utf-8") || value.contains("utf8")
}

//! The sections of the file.

use clap::{Arg, ArgAction, Command};

use crate::CONFIG;

/// The sections of all programs. A program ignores the sections of other programs.
pub(crate) const SECTION_NAMES: [&str; 4] = ["ring", "ftn", "jitterbug", "board"];

/// The part of the file that contains the options of one system.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// The name of the section.
    pub name: &'static str,
    /// The clap id of the argument that selects a subsection. For example, the argument `interface` selects
    /// `[ring.eth0]`. A value in a subsection has priority over a value in the section. `None` if the section has no
    /// subsections.
    pub selector: Option<&'static str>,
    /// Options that the file cannot contain, because they request an action instead of setting a value.
    pub actions: &'static [&'static str],
    /// Function that declares the options.
    pub command: fn() -> Command,
}

impl Section {
    /// Returns the options that the file may contain.
    pub(crate) fn options(&self) -> Vec<Arg> {
        let command = (self.command)();
        let options = command.get_arguments().filter(|it| self.may_contain(it));
        options.cloned().collect()
    }

    fn may_contain(&self, option: &Arg) -> bool {
        let acts = matches!(
            option.get_action(),
            ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
        );
        let name = option.get_long();
        name.is_some_and(|name| name != CONFIG && !acts && !self.actions.contains(&name))
    }
}

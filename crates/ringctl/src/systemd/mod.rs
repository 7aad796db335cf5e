//! Targets of systemd whose units run only while this machine holds a lock.
//!
//! A unit runs in this way if it has the lines `BindsTo=TARGET`, `After=TARGET` and `Slice=SLICE`. Because of the first
//! two lines, systemd stops the unit before the target. Because of the third line, all processes of these units are in
//! one control group. So the keeper can kill all of them in one step at the end of a lease.

mod bound_units;
mod holder;
mod systemctl;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use ring_process::killable_group;

use super::Error;
use super::keeper::THIS_PROGRAM;
pub(super) use holder::hold_target;

/// The hidden command of `ringctl` that starts and stops a target.
const HOLD_COMMAND: &str = "hold-target";
const SUFFIX: &str = ".target";

/// The name of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target(String);

impl Target {
    /// Parses a name such as `ringd-leader@eth0.target`.
    ///
    /// # Errors
    /// Fails if this is not the full name of a target.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || br":_.\@-".contains(&byte);
        let stem = text.strip_suffix(SUFFIX).unwrap_or_default();
        let has_edge = |edge| stem.starts_with(edge) || stem.ends_with(edge);
        if stem.is_empty() || has_edge('@') || has_edge('-') || !stem.bytes().all(is_valid) {
            return Err(
                "not the name of a target: give a name such as ringd-leader@eth0.target".to_owned(),
            );
        }
        // In the name of a slice, each '-' means that the slice is inside another slice.
        if stem
            .split_once('@')
            .is_some_and(|(_, instance)| instance.contains('-'))
        {
            return Err(
                "the part after @ contains '-', which stands for '/': use a lock or interface without '/' in its name, \
                 and write '-' as \\x2d"
                    .to_owned(),
            );
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the slice of the target's units: `ringd-leader-eth0.slice` for `ringd-leader@eth0.target`. The name
    /// contains no `@`, because slices cannot be templates.
    fn slice(&self) -> String {
        let stem = self.0.strip_suffix(SUFFIX).unwrap_or(&self.0);
        format!("{}.slice", stem.replace('@', "-"))
    }

    /// Checks the units that are bound to the target, and starts their slice. Returns the directory of the slice's
    /// control group.
    ///
    /// # Errors
    /// Fails if a bound unit lacks a necessary line, or if systemd does not answer.
    pub(crate) fn prepare(&self) -> Result<PathBuf, Error> {
        bound_units::check(self)?;
        let slice = self.slice();
        systemctl::run(&["start", &slice])?;
        let group = systemctl::run(&["show", "--property=ControlGroup", "--value", &slice])?;
        killable_group(Path::new(group.trim())).ok_or_else(|| {
            Error::Usage(format!(
                "cannot kill the processes of {slice}: run this command as root, on a machine with cgroup v2 and \
                 Linux 5.14 or later"
            ))
        })
    }

    /// Returns the command line of the process that starts the target, and stops it on SIGTERM.
    pub(crate) fn holder_command(&self) -> Vec<OsString> {
        vec![
            THIS_PROGRAM.into(),
            HOLD_COMMAND.into(),
            self.0.clone().into(),
        ]
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn a_target_has_a_slice() {
        for (target, slice) in [
            ("ringd-leader@eth0.target", "ringd-leader-eth0.slice"),
            (r"ringd-lock@a\x2db.target", r"ringd-lock-a\x2db.slice"),
            ("web.target", "web.slice"),
        ] {
            let target = Target::parse(target).expect(target);
            assert_eq!(target.slice(), slice);
        }
    }

    #[test]
    fn a_slice_inside_another_slice_is_refused() {
        let error = Target::parse("ringd-lock@a-b.target").expect_err("a slice of a");
        assert!(error.contains(r"write '-' as \x2d"), "{error}");
    }

    #[test]
    fn other_names_are_refused() {
        for wrong in [
            "",
            ".target",
            "web",
            "web.service",
            "a@.target",
            "-x.target",
            "a b.target",
            "a/b.target",
        ] {
            let error = Target::parse(wrong).expect_err(wrong);
            assert!(
                error.contains("such as ringd-leader@eth0.target"),
                "{error}"
            );
        }
    }
}

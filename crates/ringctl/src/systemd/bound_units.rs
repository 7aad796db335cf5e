//! The check of the units that are bound to a target.

use super::{Error, Target, systemctl};

/// Checks that each bound unit stops before the target, and that its processes are in the target's slice.
///
/// # Errors
/// Fails at the first unit without these properties. The error names the lines that the unit needs.
pub(super) fn check(target: &Target) -> Result<(), Error> {
    let name = target.to_string();
    let shown = systemctl::run(&["show", "--property=LoadState,BoundBy", &name])?;
    if property(&shown, "LoadState") != Some("loaded") {
        return Err(Error::Usage(format!(
            "systemd has no unit {target}: install it in /etc/systemd/system, and run systemctl daemon-reload"
        )));
    }
    let bound = names(property(&shown, "BoundBy").unwrap_or_default());
    if bound.is_empty() {
        return Ok(());
    }
    let properties = ["show", "--property=Id,After,Slice", "--"];
    let arguments = properties
        .into_iter()
        .chain(bound.iter().map(String::as_str));
    let shown = systemctl::run(&arguments.collect::<Vec<_>>())?;
    // systemctl separates units with an empty line.
    shown
        .split("\n\n")
        .try_for_each(|unit| check_unit(unit, target))
}

fn check_unit(shown: &str, target: &Target) -> Result<(), Error> {
    let after = property(shown, "After").unwrap_or_default();
    let missing = if !names(after).contains(&target.to_string()) {
        format!("After={target} in [Unit]")
    } else if property(shown, "Slice").is_some_and(|slice| !is_within(slice, &target.slice())) {
        format!("Slice={} in [Service]", target.slice())
    } else {
        return Ok(());
    };
    let unit = property(shown, "Id").unwrap_or_default();
    Err(Error::Usage(format!(
        "cannot stop {unit} in time: it is bound to {target}, but lacks the line {missing}; add it with: \
         systemctl edit {unit}"
    )))
}

/// Whether the slice `inner` is `outer`, or is in `outer`.
fn is_within(inner: &str, outer: &str) -> bool {
    let stem = outer.strip_suffix(".slice").unwrap_or(outer);
    inner == outer
        || inner
            .strip_prefix(stem)
            .is_some_and(|rest| rest.starts_with('-'))
}

/// Returns the names of units in a property. systemctl quotes a name with a backslash, and doubles the backslash.
fn names(list: &str) -> Vec<String> {
    let names = list.split_whitespace();
    names
        .map(|name| name.trim_matches('"').replace(r"\\", r"\"))
        .collect()
}

/// Returns the value of a property in the output of `systemctl show`. A unit without processes has no `Slice`.
fn property<'a>(shown: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = shown.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::{Target, check_unit, names};

    fn check(shown: &str) -> Result<(), String> {
        let target = Target::parse("ringd-leader@eth0.target").expect("a target");
        check_unit(shown, &target).map_err(|error| error.to_string())
    }

    #[test]
    fn a_unit_in_the_slice_is_accepted() {
        for slice in [
            "Slice=ringd-leader-eth0.slice",
            "Slice=ringd-leader-eth0-web.slice",
            "Description=a mount",
        ] {
            let shown =
                format!("{slice}\nId=web.service\nAfter=basic.target ringd-leader@eth0.target\n");
            assert_eq!(check(&shown), Ok(()), "{slice}");
        }
    }

    #[test]
    fn a_quoted_name_is_unquoted() {
        let shown = r#"basic.target "ringd-lock@a\\x2db.target""#;
        assert_eq!(names(shown), ["basic.target", r"ringd-lock@a\x2db.target"]);
    }

    #[test]
    fn a_missing_line_is_named() {
        for (shown, line) in [
            (
                "Id=web.service\nAfter=basic.target\nSlice=ringd-leader-eth0.slice",
                "After=ringd-leader@eth0.target in [Unit]",
            ),
            (
                "Id=web.service\nAfter=ringd-leader@eth0.target\nSlice=system.slice",
                "Slice=ringd-leader-eth0.slice in [Service]",
            ),
            (
                "Id=web.service\nAfter=ringd-leader@eth0.target\nSlice=ringd-leader-eth01.slice",
                "Slice=ringd-leader-eth0.slice",
            ),
        ] {
            let error = check(shown).expect_err(shown);
            assert!(
                error.contains(line) && error.contains("systemctl edit web.service"),
                "{error}"
            );
        }
    }
}

//! The check of the units that are bound to a target.

use super::{Error, Target, systemctl};

/// Checks the units of a target: the units that it starts, and the units that are bound to it. Each unit must be a
/// service that stops before the target. Its processes must be in the slice of the target.
///
/// # Errors
/// Fails at the first unit without these properties. The error names the remedy.
pub(super) fn check(target: &Target) -> Result<(), Error> {
    let name = target.to_string();
    let properties = "--property=LoadState,BoundBy,Wants,Requires";
    let shown = systemctl::run(&["show", properties, &name])?;
    if property(&shown, "LoadState") != Some("loaded") {
        return Err(Error::Usage(format!(
            "systemd has no unit {target}: install it in /etc/systemd/system, and run systemctl daemon-reload"
        )));
    }
    let list = |name| names(property(&shown, name).unwrap_or_default());
    let bound = list("BoundBy");
    let started = list("Wants").into_iter().chain(list("Requires"));
    if let Some(unit) = started.into_iter().find(|unit| !bound.contains(unit)) {
        return Err(lacks(&unit, target, &format!("BindsTo={target} in [Unit]")));
    }
    if bound.is_empty() {
        return Ok(());
    }
    let properties = ["show", "--property=Id,After,Slice,ControlGroup", "--"];
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
    let unit = property(shown, "Id").unwrap_or_default();
    if !unit.ends_with(".service") {
        return Err(Error::Usage(format!(
            "cannot stop all processes of {unit} in time, because it is not a service: bind only services to {target}"
        )));
    }
    let slice = target.slice();
    let after = property(shown, "After").unwrap_or_default();
    if !names(after).contains(&target.to_string()) {
        return Err(lacks(unit, target, &format!("After={target} in [Unit]")));
    }
    if !property(shown, "Slice").is_some_and(|it| is_within(it, &slice)) {
        return Err(lacks(unit, target, &format!("Slice={slice} in [Service]")));
    }
    let group = property(shown, "ControlGroup").unwrap_or_default();
    if !group.is_empty() && !group.split('/').any(|part| part == slice) {
        return Err(Error::Usage(format!(
            "the processes of {unit} are not in {slice}, because the unit has run since before the change: run \
             systemctl stop {unit}"
        )));
    }
    Ok(())
}

fn lacks(unit: &str, target: &Target, line: &str) -> Error {
    Error::Usage(format!(
        "cannot stop {unit} in time: it belongs to {target}, but lacks the line {line}; add it with: systemctl edit \
         {unit}"
    ))
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

/// Returns the value of a property in the output of `systemctl show`.
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
    fn a_service_in_the_slice_is_accepted() {
        for (slice, group) in [
            ("ringd-leader-eth0.slice", ""),
            (
                "ringd-leader-eth0-web.slice",
                "/ringd.slice/ringd-leader.slice/ringd-leader-eth0.slice/ringd-leader-eth0-web.slice/web.service",
            ),
        ] {
            let shown = format!(
                "Slice={slice}\nControlGroup={group}\nId=web.service\nAfter=basic.target ringd-leader@eth0.target\n"
            );
            assert_eq!(check(&shown), Ok(()), "{slice}");
        }
    }

    #[test]
    fn other_units_and_other_groups_are_refused() {
        let rest = "After=ringd-leader@eth0.target\nSlice=ringd-leader-eth0.slice";
        for (shown, reason) in [
            (format!("Id=web.timer\n{rest}"), "not a service"),
            (
                format!("Id=web.service\nControlGroup=/system.slice/web.service\n{rest}"),
                "systemctl stop web.service",
            ),
        ] {
            let error = check(&shown).expect_err(&shown);
            assert!(error.contains(reason), "{error}");
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

//! The rules of nftables that drop frames of the ring, from the output of `nft -j -t list ruleset`.
//!
//! Only two families of tables process frames whose EtherType is neither IP nor ARP: `netdev` and, on a bridge,
//! `bridge`. A rule matches all frames of the ring, some of them, or no frames. If this module cannot evaluate a
//! condition, it assumes that the condition matches some of the frames.

use serde_json::Value;

use super::RingFrames;

/// Maximum number of nested jumps. The kernel has the same maximum.
const JUMPS_MAX: u32 = 16;

/// The part of the ring's frames that a condition matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    No,
    Some,
    All,
}

/// A rule or a policy that drops frames of the ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FrameDrop {
    /// Family, table and name of the chain that is attached to a hook.
    pub hooked_chain: String,
    pub hook: String,
    /// Family, table and name of the chain that contains the rule.
    pub chain: String,
    /// Number of the rule; `None` for the policy of the chain.
    pub handle: Option<u64>,
    /// Comment of the rule.
    pub comment: Option<String>,
    /// Number of frames that the rule has dropped, if the rule counts them.
    pub frames: Option<u64>,
    /// Whether all frames of the ring are dropped.
    pub drops_all: bool,
}

/// The next step of the evaluation after a rule or a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Evaluate the next rule for this part of the frames.
    Continue(Part),
    /// Leave the chain.
    Leave,
    /// Stop, because no frames are left.
    Stop,
}

/// The rules, and the frames for which they are evaluated.
pub(super) struct Evaluation<'a> {
    objects: Vec<&'a Value>,
    frames: RingFrames<'a>,
    /// The ports of the interface if it is a bridge.
    ports: &'a [String],
    drops: Vec<FrameDrop>,
}

impl<'a> Evaluation<'a> {
    /// Returns all rules and policies that drop frames. The JSON of an older `nft` does not contain the devices of a
    /// chain. For such a chain, `has_device` returns whether the chain is attached to a device.
    pub(super) fn find_drops(
        ruleset: &'a Value,
        frames: RingFrames<'a>,
        ports: &'a [String],
        has_device: impl Fn(&str, &str) -> bool,
    ) -> Vec<FrameDrop> {
        let objects = ruleset["nftables"]
            .as_array()
            .map_or_else(Vec::new, |list| list.iter().collect());
        let mut this = Self {
            objects,
            frames,
            ports,
            drops: Vec::new(),
        };
        let chains: Vec<&Value> = this.objects.iter().map(|object| &object["chain"]).collect();
        for chain in chains {
            let part = this.hooked_part(chain, &has_device);
            let part = part.and(this.active_part(chain));
            if part != Part::No {
                this.evaluate_hooked(chain, part);
            }
        }
        this.drops
    }

    /// Returns the part of the ring's frames that pass the hook of this chain.
    fn hooked_part(&self, chain: &Value, has_device: impl Fn(&str, &str) -> bool) -> Part {
        let hook = chain["hook"].as_str().unwrap_or_default();
        match chain["family"].as_str() {
            _ if hook.is_empty() => Part::No,
            Some("netdev") => {
                let place = place(chain, "name");
                self.devices_part(|device| match &chain["dev"] {
                    Value::String(name) => name == device,
                    Value::Array(names) => names.iter().any(|name| name == device),
                    _ => has_device(&place, device),
                })
            }
            Some("bridge") if self.ports.is_empty() => Part::No,
            // Only frames between other members pass this hook. Frames from and to this machine do not pass it.
            Some("bridge") if hook == "forward" => Part::Some,
            Some("bridge") => Part::All,
            _ => Part::No,
        }
    }

    /// Returns the part of the ring's frames that pass the devices of a chain. Frames that use other ports of the
    /// bridge do not pass these devices.
    fn devices_part(&self, has: impl Fn(&str) -> bool) -> Part {
        let count = self.ports.iter().filter(|port| has(port)).count();
        if has(self.frames.interface) || (count > 0 && count == self.ports.len()) {
            Part::All
        } else if count > 0 {
            Part::Some
        } else {
            Part::No
        }
    }

    /// Returns the part of the frames that the table of a chain processes. A dormant table processes no frames.
    fn active_part(&self, chain: &Value) -> Part {
        let mut tables = self.objects.iter().map(|object| &object["table"]);
        let own = tables
            .find(|table| table["family"] == chain["family"] && table["name"] == chain["table"]);
        match own.map(|table| &table["flags"]) {
            None | Some(Value::Null) => Part::All,
            Some(Value::Array(flags)) => flags.iter().map(flag_part).fold(Part::All, Part::and),
            Some(flag) => flag_part(flag),
        }
    }

    fn evaluate_hooked(&mut self, chain: &Value, part: Part) {
        let hooked = Hooked {
            place: place(chain, "name"),
            hook: chain["hook"].as_str().unwrap_or_default().to_owned(),
        };
        let next = self.evaluate(&hooked, &hooked.place, part, 0);
        if let (Next::Continue(part), "drop") = (next, chain["policy"].as_str().unwrap_or_default())
        {
            self.drops.push(FrameDrop {
                chain: hooked.place.clone(),
                hooked_chain: hooked.place,
                hook: hooked.hook,
                handle: None,
                comment: None,
                frames: None,
                drops_all: part == Part::All,
            });
        }
    }

    /// Evaluates the rules of a chain for a part of the frames.
    fn evaluate(&mut self, hooked: &Hooked, chain: &str, part: Part, jumps: u32) -> Next {
        let mut left = part;
        let rules: Vec<&Value> = self.objects.iter().map(|object| &object["rule"]).collect();
        for rule in rules
            .into_iter()
            .filter(|rule| place(rule, "chain") == chain)
        {
            match self.apply(hooked, rule, left, jumps) {
                Next::Continue(part) => left = part,
                Next::Leave => break,
                Next::Stop => return Next::Stop,
            }
        }
        Next::Continue(left)
    }

    fn apply(&mut self, hooked: &Hooked, rule: &Value, left: Part, jumps: u32) -> Next {
        let statements = rule["expr"].as_array().map_or(&[][..], Vec::as_slice);
        let mut matched = left;
        let mut frames = None;
        for (name, value) in statements
            .iter()
            .filter_map(|it| it.as_object()?.iter().next())
        {
            match name.as_str() {
                "match" => matched = matched.and(self.part(value)),
                "counter" => frames = value["packets"].as_u64(),
                "limit" | "quota" | "xt" | "fib" | "connlimit" => {
                    matched = matched.and(Part::Some);
                }
                "drop" | "reject" | "fwd" | "queue" => {
                    if matched != Part::No {
                        self.drops.push(FrameDrop {
                            hooked_chain: hooked.place.clone(),
                            hook: hooked.hook.clone(),
                            chain: place(rule, "chain"),
                            handle: rule["handle"].as_u64(),
                            comment: rule["comment"].as_str().map(str::to_owned),
                            frames,
                            drops_all: matched == Part::All,
                        });
                    }
                    return matched.rest(left);
                }
                // This module does not evaluate the verdicts of a map.
                "vmap" => return matched.and(Part::Some).rest(left),
                "return" if matched == Part::All => return Next::Leave,
                "accept" | "return" => return matched.rest(left),
                "jump" | "goto" if matched != Part::No && jumps < JUMPS_MAX => {
                    let target = value["target"].as_str().unwrap_or_default();
                    let table = rule["table"].as_str().unwrap_or_default();
                    let family = rule["family"].as_str().unwrap_or_default();
                    let target = format!("{family} {table} {target}");
                    return match self.evaluate(hooked, &target, matched, jumps + 1) {
                        Next::Stop => matched.rest(left),
                        _ if name == "goto" && matched == Part::All => Next::Leave,
                        _ if name == "goto" => matched.rest(left),
                        Next::Continue(part) if part != matched => Next::Continue(left.and(part)),
                        Next::Continue(_) | Next::Leave => Next::Continue(left),
                    };
                }
                _ => {}
            }
        }
        Next::Continue(left)
    }

    /// Returns the part of the frames that a condition matches.
    fn part(&self, condition: &Value) -> Part {
        let is_equal = |found: Part| match condition["op"].as_str() {
            Some("==" | "in") => found,
            Some("!=") => found.not(),
            _ => Part::Some,
        };
        let right = &condition["right"];
        let left = &condition["left"];
        if let Some(key) = left["meta"]["key"].as_str() {
            return match key {
                "protocol" => is_equal(self.ethertype_part(right)),
                "iif" | "iifname" | "oif" | "oifname" | "ibrname" | "obrname" => {
                    is_equal(self.device_part(right))
                }
                "l4proto" | "nfproto" => Part::No,
                _ => Part::Some,
            };
        }
        let payload = &left["payload"];
        let is_ethertype =
            payload["base"] == "ll" && payload["offset"] == 96 && payload["len"] == 16;
        match payload["protocol"].as_str() {
            Some("ether") if payload["field"] == "type" => is_equal(self.ethertype_part(right)),
            Some("ether" | "vlan") => Part::Some,
            // A condition on the header of another protocol matches only frames with the EtherType of that protocol.
            Some(_) => Part::No,
            None if is_ethertype => is_equal(self.ethertype_part(right)),
            None => Part::Some,
        }
    }

    fn ethertype_part(&self, right: &Value) -> Part {
        let own = u64::from(self.frames.ethertype);
        any_part(right, &|value| match value {
            Value::Number(number) => Part::of(number.as_u64() == Some(own)),
            Value::String(text) if text.starts_with('@') => Part::Some,
            // If the EtherType is given by a name, it is not the EtherType of a ring.
            Value::String(text) => Part::of(text.parse() == Ok(own)),
            _ => Part::Some,
        })
    }

    /// Returns the part of frames that pass a device. Frames of a bridge may pass any of its ports.
    fn device_part(&self, right: &Value) -> Part {
        any_part(right, &|value| {
            let Some(pattern) = value.as_str().filter(|text| !text.starts_with('@')) else {
                return Part::Some;
            };
            let is_match = |name: &str| match pattern.strip_suffix('*') {
                Some(start) => name.starts_with(start),
                None => name == pattern,
            };
            if is_match(self.frames.interface) {
                Part::All
            } else if self.ports.iter().any(|port| is_match(port)) {
                Part::Some
            } else {
                Part::No
            }
        })
    }
}

struct Hooked {
    place: String,
    hook: String,
}

impl Part {
    const fn of(is_match: bool) -> Self {
        if is_match { Self::All } else { Self::No }
    }

    const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::All, Self::All) => Self::All,
            _ => Self::Some,
        }
    }

    const fn not(self) -> Self {
        match self {
            Self::No => Self::All,
            Self::Some => Self::Some,
            Self::All => Self::No,
        }
    }

    /// Returns the next step after a rule that decides about this part of the frames. `left` is the part that reached
    /// the rule.
    const fn rest(self, left: Self) -> Next {
        match self {
            Self::No => Next::Continue(left),
            Self::Some => Next::Continue(Self::Some),
            Self::All => Next::Stop,
        }
    }
}

/// Returns the part of the frames that a table with this flag processes. Version 1.0.6 of `nft` prints a wrong text
/// instead of the flag.
fn flag_part(flag: &Value) -> Part {
    match flag.as_str() {
        Some("dormant") => Part::No,
        Some("owner" | "persist") => Part::All,
        _ => Part::Some,
    }
}

/// Returns the part that any element of a set matches.
fn any_part(right: &Value, part: &dyn Fn(&Value) -> Part) -> Part {
    let Some(elements) = right["set"].as_array() else {
        return part(right);
    };
    let parts: Vec<Part> = elements.iter().map(part).collect();
    if parts.contains(&Part::All) {
        Part::All
    } else if parts.iter().all(|&part| part == Part::No) {
        Part::No
    } else {
        Part::Some
    }
}

/// Returns family, table and chain of an object. `key` contains the name of the chain.
fn place(object: &Value, key: &str) -> String {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    format!("{} {} {}", text("family"), text("table"), text(key))
}

#[cfg(test)]
#[path = "nft_tests.rs"]
mod tests;

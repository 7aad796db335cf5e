//! The alert rules and the dashboard, compared with the output of a real daemon.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use regex::Regex;
use ring_segment::{Test, WAIT_LIMIT, tests};
use serde_json::Value;

use super::metrics;
use crate::locks::shared_ring;

const RULES: &str = include_str!("../../../monitoring/alerts.yml");
const DASHBOARD: &str = include_str!("../../../monitoring/dashboard.json");

pub(super) fn tests() -> Vec<Test> {
    tests![the_rules_and_the_dashboard_use_only_existing_metrics]
}

fn the_rules_and_the_dashboard_use_only_existing_metrics() -> Result<()> {
    let ring = shared_ring(3)?;
    // The duration of a handover exists after the first handover.
    ring.daemons[0].wait_for_status(WAIT_LIMIT, |status| {
        status["counters"]["hand_overs"].as_u64() > Some(0)
    })?;
    let metrics = metrics(&ring.daemons[0])?;
    let existing = metrics.names();
    let dashboard: Value = serde_json::from_str(DASHBOARD)?;
    let mut queries = Vec::new();
    add_queries(&dashboard, &mut queries);
    ensure!(queries.len() > 5, "the dashboard has queries: {queries:?}");
    queries.push(RULES.to_owned());
    let name = Regex::new(r"\bringd_[a-z0-9_]+")?;
    let used: BTreeSet<&str> = queries
        .iter()
        .flat_map(|it| name.find_iter(it))
        .map(|it| it.as_str())
        .collect();
    let missing: Vec<_> = used.difference(&existing).collect();
    ensure!(
        missing.is_empty(),
        "the output of ringctl metrics lacks {missing:?}"
    );
    Ok(())
}

/// Adds all queries of a dashboard: the values of the key `expr`, and of the key `query` of variables.
fn add_queries(value: &Value, queries: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if key == "expr" || key == "query" => {
                        queries.push(text.clone());
                    }
                    other => add_queries(other, queries),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| add_queries(value, queries)),
        _ => {}
    }
}

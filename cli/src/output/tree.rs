//! A lineage, as a tree.

use sandbox_snapshotter::model::answer::{SnapshotNode, Tree, TreeSandbox, TreeSnapshot};
use sandbox_snapshotter::model::named::Tenant;
use sandbox_snapshotter::model::record::SnapshotState;
use sandbox_snapshotter::model::{DerivationKind, Timestamp};

use super::Show;
use super::render::{count, relative_time, size};
use super::sanitize::sanitize_for_terminal;
use super::snapshots::names;
use super::style::{BAD, FAINT, GOOD, LOCATION, STRONG, WARNING, styled};

impl Show for Tree {
    /// The sandboxes, from the root outwards.
    fn ids(&self) -> Vec<String> {
        let mut ids = Vec::new();
        collect(&self.root, &mut ids);
        ids
    }

    fn text(&self, now: Timestamp) -> String {
        let mut lines = vec![sandbox(&self.root)];
        branch(&self.root, "", now, &mut lines);
        let more = if self.truncated { ", and more that were not looked at" } else { "" };
        lines.push(styled(FAINT, &format!("{}{more}", count(self.sandboxes, "sandbox", "sandboxes"))));
        lines.join("\n") + "\n"
    }
}

fn collect(branch: &TreeSandbox, ids: &mut Vec<String>) {
    ids.push(branch.sandbox_id.to_string());
    branch.snapshots.iter().flat_map(|node| &node.derived).for_each(|derived| collect(derived, ids));
}

/// What grows from a sandbox, each line behind `indent`.
fn branch(branch: &TreeSandbox, indent: &str, now: Timestamp, lines: &mut Vec<String>) {
    let problem = branch.problem.as_ref().map(|problem| styled(BAD, &sanitize_for_terminal(problem)));
    let count = branch.snapshots.len() + usize::from(problem.is_some());
    for (index, node) in branch.snapshots.iter().enumerate() {
        let (turn, inner) = connectors(index + 1 == count);
        lines.push(format!("{indent}{turn}{}", snapshot(&node.snapshot, now)));
        derived(node, &format!("{indent}{inner}"), now, lines);
    }
    if let Some(problem) = problem {
        lines.push(format!("{indent}{}{problem}", connectors(true).0));
    }
}

fn derived(node: &TreeSnapshot, indent: &str, now: Timestamp, lines: &mut Vec<String>) {
    for (index, made) in node.derived.iter().enumerate() {
        let (turn, inner) = connectors(index + 1 == node.derived.len());
        lines.push(format!("{indent}{turn}{}", sandbox(made)));
        branch(made, &format!("{indent}{inner}"), now, lines);
    }
}

/// What leads to a line, and what goes on beside those that follow from it.
const fn connectors(is_last: bool) -> (&'static str, &'static str) {
    if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") }
}

fn sandbox(branch: &TreeSandbox) -> String {
    let mut words = vec![styled(STRONG, &sanitize_for_terminal(branch.sandbox_id.as_str()))];
    words.extend(branch.running.map(|running| if running { styled(GOOD, "running") } else { styled(FAINT, "ended") }));
    words.extend(branch.lineage.map(|lineage| match lineage {
        DerivationKind::Restored => "restored".to_owned(),
        DerivationKind::Branch => "branch".to_owned(),
    }));
    words.extend(branch.workspace.as_ref().map(|address| {
        let is_usual = address.tenant.as_str() == Tenant::DEFAULT;
        let name = if is_usual { format!("@{}", address.name) } else { format!("@{address}") };
        styled(LOCATION, &name)
    }));
    words.join("  ")
}

fn snapshot(knot: &SnapshotNode, now: Timestamp) -> String {
    let mut words = vec![knot.snapshot_id.to_string()];
    words.extend(knot.label.as_ref().map(|label| sanitize_for_terminal(label.as_str()).into_owned()));
    words.extend(knot.size_bytes.map(size));
    words.extend(knot.created_at.map(|time| relative_time(time, now)));
    if knot.state != SnapshotState::Ready {
        words.push(styled(FAINT, knot.state.as_str()));
    }
    if knot.pinned {
        words.push(styled(LOCATION, "pinned"));
    }
    if !knot.dependents.is_empty() {
        words.push(styled(GOOD, &format!("needed by {}", sanitize_for_terminal(&names(&knot.dependents)))));
    }
    words.extend(knot.expires_at.map(|end| styled(WARNING, &format!("expires {}", relative_time(end, now)))));
    words.join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandbox_snapshotter::model::json;
    use serde_json::{Value, json};

    const NOW: i64 = 1_795_150_800_000; // 2026-11-20T05:00:00Z

    fn drawn(root: &Value, truncated: bool) -> String {
        let tree: Tree = json::from_value(&json!({ "root": root, "sandboxes": 1, "truncated": truncated })).unwrap();
        anstream::adapter::strip_str(&tree.text(Timestamp::from_millis(NOW))).to_string()
    }

    fn of(sandbox: &str, snapshots: &[Value]) -> Value {
        json!({ "sandboxId": sandbox, "snapshots": snapshots })
    }

    fn with(id: char, fields: &Value, derived: &[Value]) -> Value {
        let mut node = json!({ "snapshotId": format!("snap-{}", id.to_string().repeat(16)), "state": "ready", "derived": derived });
        let (Value::Object(node_fields), Value::Object(fields)) = (&mut node, fields) else { panic!("objects") };
        node_fields.extend(fields.clone());
        node
    }

    #[test]
    fn what_was_made_hangs_below_what_it_was_made_from() {
        let leaf = of("leaf", &[]);
        let middle = of("middle", &[with('c', &json!({}), &[])]);
        let root = of("first", &[with('a', &json!({}), &[middle, leaf]), with('b', &json!({}), &[])]);
        let expected = "\
first
├─ snap-aaaaaaaaaaaaaaaa
│  ├─ middle
│  │  └─ snap-cccccccccccccccc
│  └─ leaf
└─ snap-bbbbbbbbbbbbbbbb
1 sandbox
";
        assert_eq!(drawn(&root, false), expected);
    }

    #[test]
    fn a_snapshot_tells_what_keeps_it_and_when_it_goes() {
        let fields = json!({
            "label": "before", "sizeBytes": 4_100_000, "createdAt": "2026-11-20T04:57:00.000Z", "pinned": true,
            "dependents": ["x", "y"], "expiresAt": "2026-11-22T05:00:00.000Z",
        });
        let line = "└─ snap-aaaaaaaaaaaaaaaa  before  4.1 MB  3 min ago  pinned  needed by x, y  expires in 2 days\n";
        assert!(drawn(&of("first", &[with('a', &fields, &[])]), false).contains(line));
    }

    #[test]
    fn a_sandbox_tells_whether_it_runs_and_whose_it_is() {
        let mut root = of("first", &[]);
        root["running"] = true.into();
        root["lineage"] = "branch".into();
        root["workspace"] = json!({ "tenant": "default", "name": "notebook" });
        assert!(drawn(&root, false).starts_with("first  running  branch  @notebook\n"));
        root["running"] = false.into();
        root["workspace"]["tenant"] = "customer".into();
        assert!(drawn(&root, false).starts_with("first  ended  branch  @customer/notebook\n"));
    }

    #[test]
    fn a_tree_that_is_not_whole_says_so() {
        assert!(drawn(&of("first", &[]), true).ends_with("1 sandbox, and more that were not looked at\n"));
        let mut root = of("first", &[with('a', &json!({}), &[])]);
        root["problem"] = "its workspace could not be asked".into();
        assert!(drawn(&root, false).contains("├─ snap-aaaaaaaaaaaaaaaa\n└─ its workspace could not be asked\n"));
    }

    #[test]
    fn names_from_outside_can_not_steer_the_terminal() {
        let label = with('a', &json!({ "state": "deleted", "dependents": ["a\u{202e}b"] }), &[]);
        assert!(drawn(&of("fir\u{202e}st", &[label]), false).starts_with("fir\\u{202e}st\n"));
    }
}

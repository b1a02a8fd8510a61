//! The text output of a lineage, as a tree.

use std::collections::{HashSet, VecDeque};

use sandbox_snapshotter_client::model::answer::{SnapshotNode, SnapshotState, Tree, TreeSandbox, TreeSnapshot};
use sandbox_snapshotter_client::model::named::Tenant;
use sandbox_snapshotter_client::model::provenance::Provenance;
use sandbox_snapshotter_client::model::{DerivationKind, SandboxId, SnapshotCause, Timestamp};

use serde::Deserialize;

use super::Show;
use super::render::{count, relative_time, size};
use super::sanitize::sanitize_for_terminal;
use super::snapshots::names;
use super::style::{BAD, FAINT, GOOD, LOCATION, STRONG, WARNING, styled};

/// The indent, in columns, from which on the snapshots of a derived sandbox are drawn below the tree.
const MAX_INDENT: usize = 24;

/// A lineage, whose sandboxes have only the workspaces to which they belong or belonged.
#[derive(Debug, Deserialize)]
pub struct Lineage {
    /// The tree.
    #[serde(flatten)]
    pub tree: Tree,
    /// The sandboxes that their workspaces had before.
    #[serde(skip)]
    pub former: HashSet<SandboxId>,
}

impl Show for Lineage {
    /// Returns the sandboxes, each before the sandboxes that were derived from it.
    fn ids(&self) -> Vec<String> {
        let mut ids = Vec::new();
        collect(&self.tree.root, &mut ids);
        ids
    }

    fn text(&self, now: Timestamp) -> String {
        let Tree { root, parent, sandboxes, truncated } = &self.tree;
        let mut drawing = Drawing { lines: Vec::new(), continued: VecDeque::from([(root, None)]) };
        while let Some((sandbox, source)) = drawing.continued.pop_front() {
            drawing.lines.push(self.sandbox(sandbox));
            self.branch(sandbox, source, "", now, &mut drawing);
        }
        let more = match parent {
            Some(parent) => {
                format!(", and earlier ones: snapshotter lineage {}", sanitize_for_terminal(parent.origin_id.as_str()))
            }
            None if *truncated => ", and more that are not shown".to_owned(),
            None => String::new(),
        };
        drawing.lines.push(styled(FAINT, &format!("{}{more}", count(*sandboxes, "sandbox", "sandboxes"))));
        drawing.lines.join("\n") + "\n"
    }
}

/// The lines of a tree, and the sandboxes that are so deep in it that they are drawn below it, each with what the snapshot ran on
/// that it was derived from.
struct Drawing<'a> {
    lines: Vec<String>,
    continued: VecDeque<(&'a TreeSandbox, Option<&'a Provenance>)>,
}

impl Lineage {
    /// Appends the snapshots of a sandbox, newest first, and the sandboxes derived from them. Each line starts with `indent`.
    /// `source` is what the snapshot ran on that the sandbox was derived from.
    fn branch<'a>(
        &self,
        branch: &'a TreeSandbox,
        source: Option<&'a Provenance>,
        indent: &str,
        now: Timestamp,
        drawing: &mut Drawing<'a>,
    ) {
        let problem = branch.problem.as_ref().map(|problem| styled(BAD, &sanitize_for_terminal(problem)));
        let count = branch.snapshots.len() + usize::from(problem.is_some());
        for (index, node) in branch.snapshots.iter().enumerate() {
            let (connector, inner) = connectors(index + 1 == count);
            let mut older = branch.snapshots.iter().skip(index + 1);
            let before = older.find_map(|older| older.snapshot.provenance.as_ref()).or(source);
            drawing.lines.push(format!("{indent}{connector}{}", snapshot(&node.snapshot, before, now)));
            self.derived(node, before, &format!("{indent}{inner}"), now, drawing);
        }
        if let Some(problem) = problem {
            drawing.lines.push(format!("{indent}{}{problem}", connectors(true).0));
        }
    }

    fn derived<'a>(
        &self,
        node: &'a TreeSnapshot,
        before: Option<&'a Provenance>,
        indent: &str,
        now: Timestamp,
        drawing: &mut Drawing<'a>,
    ) {
        let source = node.snapshot.provenance.as_ref().or(before);
        for (index, derived) in node.derived.iter().enumerate() {
            let (connector, inner) = connectors(index + 1 == node.derived.len());
            let line = format!("{indent}{connector}{}", self.sandbox(derived));
            if indent.chars().count() > MAX_INDENT && !derived.snapshots.is_empty() {
                drawing.lines.push(format!("{line}  {}", styled(FAINT, "continued below")));
                drawing.continued.push_back((derived, source));
            } else {
                drawing.lines.push(line);
                self.branch(derived, source, &format!("{indent}{inner}"), now, drawing);
            }
        }
    }

    fn sandbox(&self, branch: &TreeSandbox) -> String {
        let mut words = vec![styled(STRONG, &sanitize_for_terminal(branch.sandbox_id.as_str()))];
        words.extend(
            branch.running.map(|running| if running { styled(GOOD, "running") } else { styled(FAINT, "ended") }),
        );
        words.extend(branch.lineage.map(|lineage| match lineage {
            DerivationKind::Restored => "restored".to_owned(),
            DerivationKind::Branch => "branch".to_owned(),
        }));
        words.extend(branch.workspace.as_ref().map(|address| {
            let is_default = address.tenant.as_str() == Tenant::DEFAULT;
            let name = if is_default { format!("@{}", address.name) } else { format!("@{address}") };
            let is_former = self.former.contains(&branch.sandbox_id);
            if is_former { styled(FAINT, &format!("former {name}")) } else { styled(LOCATION, &name) }
        }));
        words.join("  ")
    }
}

fn collect(sandbox: &TreeSandbox, ids: &mut Vec<String>) {
    ids.push(sandbox.sandbox_id.to_string());
    sandbox.snapshots.iter().flat_map(|node| &node.derived).for_each(|derived| collect(derived, ids));
}

/// Returns the connector before a line, and the indent of the lines below it.
const fn connectors(is_last: bool) -> (&'static str, &'static str) {
    if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") }
}

/// Returns the line of a snapshot. What it ran on is shown only where it differs from the snapshot `before`.
fn snapshot(node: &SnapshotNode, before: Option<&Provenance>, now: Timestamp) -> String {
    let mut words = vec![node.snapshot_id.to_string()];
    words.extend(node.label.as_ref().map(|label| sanitize_for_terminal(label.as_str()).into_owned()));
    words.extend(node.size_bytes.map(size));
    if let Some(base) = node.base.as_ref() {
        words.push(styled(FAINT, &format!("delta of {base}")));
    }
    words.extend(node.created_at.map(|time| relative_time(time, now)));
    let new = before.zip(node.provenance.as_ref()).map(|(before, known)| known.differing_parts(before));
    words.extend(new.into_iter().flatten().map(|part| styled(FAINT, &sanitize_for_terminal(&part))));
    if node.state != SnapshotState::Ready {
        words.push(styled(FAINT, node.state.as_str()));
    }
    if let Some(cause) = node.cause.filter(|cause| *cause != SnapshotCause::Caller) {
        words.push(styled(FAINT, cause.words()));
    }
    if node.partial {
        words.push(styled(WARNING, "partial"));
    }
    if node.pinned {
        words.push(styled(LOCATION, "pinned"));
    }
    if !node.dependents.is_empty() {
        words.push(styled(GOOD, &format!("needed by {}", sanitize_for_terminal(&names(&node.dependents)))));
    }
    words.extend(node.expires_at.map(|end| styled(WARNING, &format!("expires {}", relative_time(end, now)))));
    words.join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandbox_snapshotter_client::model::json;
    use serde_json::{Value, json};

    const NOW: i64 = 1_795_150_800_000; // 2026-11-20T05:00:00Z

    fn rendered(root: &Value, truncated: bool) -> String {
        let lineage: Lineage =
            json::from_value(&json!({ "root": root, "sandboxes": 1, "truncated": truncated })).unwrap();
        anstream::adapter::strip_str(&lineage.text(Timestamp::from_millis(NOW))).to_string()
    }

    fn sandbox_node(sandbox: &str, snapshots: &[Value]) -> Value {
        json!({ "sandboxId": sandbox, "snapshots": snapshots })
    }

    fn snapshot_node(id: char, fields: &Value, derived: &[Value]) -> Value {
        let mut node = json!({ "snapshotId": format!("snap-{}", id.to_string().repeat(16)), "state": "ready", "derived": derived });
        let (Value::Object(node_fields), Value::Object(fields)) = (&mut node, fields) else {
            panic!("both must be objects")
        };
        node_fields.extend(fields.clone());
        node
    }

    #[test]
    fn derived_sandboxes_are_below_their_snapshots() {
        let leaf = sandbox_node("leaf", &[]);
        let middle = sandbox_node("middle", &[snapshot_node('c', &json!({}), &[])]);
        let root = sandbox_node(
            "first",
            &[snapshot_node('a', &json!({}), &[middle, leaf]), snapshot_node('b', &json!({}), &[])],
        );
        let expected = "\
first
├─ snap-aaaaaaaaaaaaaaaa
│  ├─ middle
│  │  └─ snap-cccccccccccccccc
│  └─ leaf
└─ snap-bbbbbbbbbbbbbbbb
1 sandbox
";
        assert_eq!(rendered(&root, false), expected);
    }

    #[test]
    fn a_snapshot_has_its_dependents_and_its_expiration() {
        let fields = json!({
            "label": "before", "sizeBytes": 4_100_000, "createdAt": "2026-11-20T04:57:00.000Z", "pinned": true, "partial": true, "cause": "autosave",
            "dependents": ["x", "y"], "expiresAt": "2026-11-22T05:00:00.000Z", "provenance": { "sdkVersion": "0.12.10" },
        });
        let line = "└─ snap-aaaaaaaaaaaaaaaa  before  4.1 MB  3 min ago  automatic save  partial  pinned  needed by x, y  expires in 2 days\n";
        assert!(rendered(&sandbox_node("first", &[snapshot_node('a', &fields, &[])]), false).contains(line));
    }

    #[test]
    fn what_a_snapshot_ran_on_is_shown_only_where_it_differs_from_the_snapshot_before() {
        let on = |packages: &str| json!({ "provenance": { "sdkVersion": "0.12.10", "packages": packages } });
        let derived = [snapshot_node('d', &on("second"), &[]), snapshot_node('c', &on("first"), &[])];
        let root = sandbox_node(
            "first",
            &[
                snapshot_node('b', &json!({}), &[]),
                snapshot_node('a', &on("first"), &[sandbox_node("derived", &derived)]),
            ],
        );
        let expected = "\
first
├─ snap-bbbbbbbbbbbbbbbb
└─ snap-aaaaaaaaaaaaaaaa
   └─ derived
      ├─ snap-dddddddddddddddd  packages second
      └─ snap-cccccccccccccccc
1 sandbox
";
        assert_eq!(rendered(&root, false), expected);
    }

    #[test]
    fn a_sandbox_has_its_status_and_its_workspace() {
        let mut root = sandbox_node("first", &[]);
        root["running"] = true.into();
        root["lineage"] = "branch".into();
        root["workspace"] = json!({ "tenant": "default", "name": "notebook" });
        assert!(rendered(&root, false).starts_with("first  running  branch  @notebook\n"));
        root["running"] = false.into();
        root["workspace"]["tenant"] = "customer".into();
        assert!(rendered(&root, false).starts_with("first  ended  branch  @customer/notebook\n"));
    }

    #[test]
    fn a_former_sandbox_of_a_workspace_is_marked() {
        let mut root = sandbox_node("first", &[]);
        root["workspace"] = json!({ "tenant": "default", "name": "notebook" });
        let tree = json::from_value(&json!({ "root": root, "sandboxes": 1, "truncated": false })).unwrap();
        let former = HashSet::from([SandboxId::parse("first").unwrap()]);
        let text = Lineage { tree, former }.text(Timestamp::from_millis(NOW));
        assert!(anstream::adapter::strip_str(&text).to_string().starts_with("first  former @notebook\n"));
    }

    #[test]
    fn an_incomplete_tree_is_marked() {
        assert!(rendered(&sandbox_node("first", &[]), true).ends_with("1 sandbox, and more that are not shown\n"));
        let mut root = sandbox_node("first", &[snapshot_node('a', &json!({}), &[])]);
        root["problem"] = "its workspace could not be reached".into();
        assert!(rendered(&root, false).contains("├─ snap-aaaaaaaaaaaaaaaa\n└─ its workspace could not be reached\n"));
    }

    #[test]
    fn a_deep_tree_continues_at_the_margin() {
        let mut sandbox = sandbox_node("generation-7", &[]);
        for (generation, id) in (1..=6).rev().zip('a'..) {
            sandbox = sandbox_node(&format!("generation-{generation}"), &[snapshot_node(id, &json!({}), &[sandbox])]);
        }
        let text = rendered(&sandbox, false);
        assert!(text.contains("└─ generation-6  continued below\ngeneration-6\n└─ snap-aaaaaaaaaaaaaaaa\n"), "{text}");
        assert!(text.contains("   └─ generation-7\n1 sandbox\n"), "{text}");
    }

    #[test]
    fn a_tree_that_begins_later_says_how_to_show_the_earlier_sandboxes() {
        let parent = json!({ "originId": "first", "snapshotId": "snap-aaaaaaaaaaaaaaaa" });
        let tree = json!({ "root": sandbox_node("later", &[]), "parent": parent, "sandboxes": 1, "truncated": true });
        let lineage: Lineage = json::from_value(&tree).unwrap();
        let text = anstream::adapter::strip_str(&lineage.text(Timestamp::from_millis(NOW))).to_string();
        assert!(text.ends_with("1 sandbox, and earlier ones: snapshotter lineage first\n"), "{text}");
    }

    #[test]
    fn names_are_sanitized() {
        let label = snapshot_node('a', &json!({ "state": "deleted", "dependents": ["a\u{202e}b"] }), &[]);
        assert!(rendered(&sandbox_node("fir\u{202e}st", &[label]), false).starts_with("fir\\u{202e}st\n"));
    }
}

//! What workspaces use: stored bytes, operations and running time, and what these cost.

use serde::{Deserialize, Serialize};

use super::Timestamp;
use super::named::{Tenant, WorkspaceName};
use super::prices::{self, InstanceType};

/// The stored bytes of snapshots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StoredUsage {
    /// The number of snapshots.
    pub snapshots: u64,
    /// The bytes of the archives in R2 that only one snapshot uses.
    pub own_bytes: u64,
    /// The bytes of the archives that several snapshots use: the bases of deltas. Each archive is counted once.
    pub shared_bytes: u64,
}

/// The numbers of operations, since a Worker counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OperationCounts {
    /// The snapshots that were taken, by callers, stops and automatic saves.
    #[serde(default)]
    pub captures: u64,
    /// The restores: by starts of the workspace, and by `restore` and `branch` of its snapshots.
    #[serde(default)]
    pub restores: u64,
}

/// What one sandbox uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxUsage {
    /// The stored bytes of its snapshots.
    pub stored: StoredUsage,
    /// The numbers of operations on it and its snapshots.
    pub operations: OperationCounts,
}

impl SandboxUsage {
    /// Returns the sum of two usages.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { stored: self.stored.plus(other.stored), operations: self.operations.plus(other.operations) }
    }
}

impl StoredUsage {
    const fn plus(self, other: Self) -> Self {
        Self {
            snapshots: self.snapshots.saturating_add(other.snapshots),
            own_bytes: self.own_bytes.saturating_add(other.own_bytes),
            shared_bytes: self.shared_bytes.saturating_add(other.shared_bytes),
        }
    }
}

impl OperationCounts {
    const fn plus(self, other: Self) -> Self {
        Self {
            captures: self.captures.saturating_add(other.captures),
            restores: self.restores.saturating_add(other.restores),
        }
    }
}

/// What one named workspace uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkspaceUsage {
    /// The name of the workspace.
    pub name: WorkspaceName,
    /// The stored bytes of the snapshots of its present and former sandboxes.
    pub stored: StoredUsage,
    /// The numbers of operations on these sandboxes and their snapshots.
    pub operations: OperationCounts,
    /// How long the workspace was active, in seconds, since a Worker counts it. A container that ended by itself counts until
    /// the Worker noticed.
    pub running_seconds: u64,
    /// What this costs.
    pub cost: Cost,
}

impl WorkspaceUsage {
    /// Returns the usage of a workspace, with its cost.
    pub fn new(name: WorkspaceName, used: SandboxUsage, running_seconds: u64, instance: InstanceType) -> Self {
        let SandboxUsage { stored, operations } = used;
        Self { name, stored, operations, running_seconds, cost: Cost::of(used, running_seconds, instance) }
    }
}

/// A cost by Cloudflare's list prices, in US dollars, beyond the included usage of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cost {
    /// The stored bytes, for a month.
    pub storage_per_month: f64,
    /// The operations so far.
    pub operations: f64,
    /// The memory and the disk of the containers so far.
    pub running: f64,
    /// The sum of these three: the operations and the containers so far, and a month of storage.
    pub total: f64,
}

impl Cost {
    /// Returns the cost of a usage.
    pub fn of(used: SandboxUsage, running_seconds: u64, instance: InstanceType) -> Self {
        let bytes = used.stored.own_bytes.saturating_add(used.stored.shared_bytes);
        let storage_per_month = rounded(prices::storage_per_month(bytes));
        let operations = rounded(prices::operations(used.operations));
        let running = rounded(prices::running(running_seconds, instance));
        Self { storage_per_month, operations, running, total: rounded(storage_per_month + operations + running) }
    }
}

/// Rounds a cost to billionths of a dollar.
fn rounded(cost: f64) -> f64 {
    (cost * 1e9).round() / 1e9
}

/// What a workspace, or the workspaces of a tenant, use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// The tenant.
    pub tenant: Tenant,
    /// When this was counted.
    pub at: Timestamp,
    /// The usage of each workspace, sorted by name.
    pub workspaces: Vec<WorkspaceUsage>,
    /// The stored bytes of these workspaces.
    pub stored: StoredUsage,
    /// The numbers of operations of these workspaces.
    pub operations: OperationCounts,
    /// How long these workspaces were active, in seconds.
    pub running_seconds: u64,
    /// What these workspaces cost.
    pub cost: Cost,
    /// The currency of the costs: `USD`.
    pub currency: String,
    /// The instance type whose prices `running` has.
    pub instance_type: InstanceType,
    /// The month of the price list, as in `2026-11`.
    pub prices_of: String,
    /// What the cost leaves out.
    pub leaves_out: Vec<String>,
    /// The cursor of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl Usage {
    /// Returns the usage of some workspaces of a tenant, with its sums.
    pub fn of(tenant: Tenant, at: Timestamp, workspaces: Vec<WorkspaceUsage>, instance_type: InstanceType) -> Self {
        let used = workspaces.iter().fold(SandboxUsage::default(), |sum, workspace| {
            sum.plus(SandboxUsage { stored: workspace.stored, operations: workspace.operations })
        });
        let running_seconds =
            workspaces.iter().fold(0_u64, |sum, workspace| sum.saturating_add(workspace.running_seconds));
        Self {
            tenant,
            at,
            workspaces,
            stored: used.stored,
            operations: used.operations,
            running_seconds,
            cost: Cost::of(used, running_seconds, instance_type),
            currency: prices::CURRENCY.to_owned(),
            instance_type,
            prices_of: prices::PRICES_OF.to_owned(),
            leaves_out: prices::LEAVES_OUT.iter().map(|&text| text.to_owned()).collect(),
            cursor: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_rounded_and_has_its_total() {
        let stored = StoredUsage { snapshots: 1, own_bytes: 969_000, shared_bytes: 0 };
        let used = SandboxUsage { stored, operations: OperationCounts { captures: 1, restores: 1 } };
        let cost = serde_json::to_string(&Cost::of(used, 60, InstanceType::Lite)).unwrap();
        let expected =
            r#"{"storagePerMonth":0.000014535,"operations":0.00001152,"running":0.0000459,"total":0.000071955}"#;
        assert_eq!(cost, expected);
    }
}

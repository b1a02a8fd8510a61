//! Errors about the runtimes of sandboxes.

use std::fmt::Display;

use crate::model::{Code, Error, Runtime, SandboxId};

/// The valid form of the var `SANDBOXES`.
const VALID_SANDBOXES: &str = "SANDBOXES = [{ binding = \"Sandbox\", runtime = \"sdk-0.12\" }, { binding = \
                               \"SnapshotSandbox\", runtime = \"container\", default = true }]";

impl Error {
    /// [`Code::ConfigInvalid`], for the var `SANDBOXES`.
    pub fn sandboxes_var_invalid(problem: &str) -> Self {
        Self::new(
            Code::ConfigInvalid,
            format!("The var SANDBOXES is invalid: {problem}."),
            format!(
                "List each binding of sandboxes once, each with its own runtime, and one of them as the default: \
                 {VALID_SANDBOXES}"
            ),
        )
    }

    /// [`Code::InvalidArgument`], for a request that names a runtime that no binding of the deployment has.
    pub fn requested_runtime_not_bound(requested: Runtime) -> Self {
        Self::invalid_argument(
            format!(
                "`runtime` is {requested}, but no binding of this deployment has this runtime. Nothing was changed."
            ),
            format!(
                "Omit `runtime` for the default of the deployment. To offer {requested:#}, list its binding in the var \
                 SANDBOXES, and deploy again: {VALID_SANDBOXES}"
            ),
        )
    }

    /// Replaces the remediation of [`requested_runtime_not_bound`](Self::requested_runtime_not_bound) with one for a migration, whose
    /// runtime can't be omitted.
    #[must_use]
    pub fn of_migration(self, requested: Runtime) -> Self {
        if self.code() != Code::InvalidArgument {
            return self;
        }
        self.with_remediation(&format!(
            "To migrate to {requested:#}, first list its binding in the var SANDBOXES, and deploy again: {VALID_SANDBOXES}"
        ))
    }

    /// [`Code::SandboxBindingMissing`], for the runtime of a sandbox that no binding of the deployment has.
    pub fn runtime_not_bound(runtime: Runtime) -> Self {
        Self::new(
            Code::SandboxBindingMissing,
            format!("No binding of this deployment has the runtime {runtime:#}. Nothing was changed."),
            format!("List a binding with this runtime in the var SANDBOXES, and deploy again: {VALID_SANDBOXES}"),
        )
    }

    /// [`Code::SandboxBindingMissing`], for a sandbox of an earlier release, whose binding `SANDBOXES` does not list.
    pub fn earlier_binding_not_listed(binding: &str) -> Self {
        Self::new(
            Code::SandboxBindingMissing,
            format!(
                "The ledger of this sandbox names no runtime, so the sandbox is in the binding {binding:?}, which the \
                 var SANDBOXES does not list. Nothing was changed."
            ),
            format!(
                "List that binding with its runtime in SANDBOXES. If earlier releases used another binding, set the \
                 var SANDBOX_BINDING to its name. {VALID_SANDBOXES}"
            ),
        )
    }

    /// [`Code::RuntimeMismatch`], for a request that names another runtime than the one of the sandbox or the workspace
    /// `what`.
    pub fn runtime_mismatch(what: &dyn Display, has: Option<Runtime>, requested: Runtime) -> Self {
        let has = has.map_or_else(
            || "a runtime that this deployment does not name".to_owned(),
            |has| format!("the runtime {has}"),
        );
        Self::new(
            Code::RuntimeMismatch,
            format!("The request names the runtime {requested}, but {what} has {has}. Nothing was changed."),
            format!(
                "Omit `runtime`. To move a named workspace to another runtime, call workspaces/migrate({{ name, \
                 runtime: \"{requested}\" }}). To continue another sandbox there, take a snapshot of it and call \
                 restore({{ ref, runtime: \"{requested}\" }})."
            ),
        )
    }

    /// [`Code::SandboxTimeout`], for the migration of a sandbox whose former container is not certain to be gone.
    pub fn former_container_unconfirmed(id: &SandboxId) -> Self {
        Self::new(
            Code::SandboxTimeout,
            format!("A call to the container of {:?} was not answered and may still take effect.", id.as_str()),
            "Migrate again. The Worker checks the container for up to 71 minutes.",
        )
    }

    /// [`Code::Unsupported`], for a snapshot whose archive a runtime cannot restore.
    pub fn archive_not_restorable(format: &str, runtime: Runtime) -> Self {
        Self::new(
            Code::Unsupported,
            format!(
                "The archive has the format {format:?}, which the runtime {runtime} cannot restore. Nothing was changed."
            ),
            "Restore it in the runtime `container`. To make archives for both runtimes, add squashfs-tools to the \
             image of the containers, and take a new snapshot.",
        )
    }
}

//! A tool that is called, as operations of the service.

use serde_json::{Map, Value, json};

use super::catalog::{Tool, WORKSPACE_NAME, find};
use super::reach::Reach;
use super::words;
use crate::api::operations::Operation;
use crate::model::answer::Descent;
use crate::model::ids::quoted;
use crate::model::request::{CallToolRequest, Declared, Ground, ListRequest, ToolArguments};
use crate::model::tool::{ERROR_META, ToolResult, ToolText};
use crate::model::{Code, Error, Result, SandboxId};

/// Who carries out the operations that a tool consists of.
#[allow(async_fn_in_trait)]
pub trait Operations {
    /// Carries one out.
    async fn carry_out(&self, operation: Operation, arguments: Value) -> Result<Value>;

    /// Where a sandbox came from.
    async fn descent(&self, id: &SandboxId) -> Result<Descent>;
}

/// Calls a tool.
///
/// # Errors
/// [`Code::ToolNotFound`], and those of the operations. A model is told of them by [`failed`].
pub async fn call(operations: &impl Operations, request: &CallToolRequest) -> Result<ToolResult> {
    let (tool, those) = find(&request.toolset, &request.name)?;
    let answer = perform(operations, tool, &those, request).await?;
    Ok(ToolResult {
        content: vec![ToolText::new(&words::of(tool, &answer))],
        structured_content: Some(answer),
        is_error: false,
        meta: None,
    })
}

/// The result of a tool that failed: a model reads what happened, and what to do about it.
pub fn failed(error: &Error, correlation_id: &str) -> ToolResult {
    let error = &for_models(error);
    let text = format!("{}: {} {}", error.code(), error.message(), error.remediation());
    ToolResult {
        content: vec![ToolText::new(&text)],
        structured_content: None,
        is_error: true,
        meta: Some(Map::from_iter([(ERROR_META.to_owned(), json!(error.body(correlation_id)))])),
    }
}

/// An error without what is no model's business: options that tools don't have, and the ids of other people's sandboxes.
fn for_models(error: &Error) -> Error {
    let (message, remediation) = match error.code() {
        Code::SandboxStarting => (error.message(), "Try again when it is up."),
        Code::SandboxNotRunning | Code::SandboxReplaced => (
            error.message(),
            "Go on in a workspace that is made from a snapshot, or have the application start this one again.",
        ),
        Code::WorkspaceNotFound => (error.message(), "Have the application make it."),
        Code::CrossSession => (
            "What was asked for belongs to another workspace.",
            "Use what belongs to this workspace, or was made from it.",
        ),
        Code::SnapshotHeld => (
            "The snapshot is pinned, or a workspace still needs it.",
            "Leave it. People can unpin it, or delete it all the same.",
        ),
        Code::LabelTaken => (error.message(), "Give another label, or none."),
        _ => return error.clone(),
    };
    Error::new(error.code(), message, remediation)
}

/// The workspace that a tool is called for.
struct Meant {
    /// The sandbox that it is done with.
    sandbox_id: SandboxId,
    /// Its directory; the deployment's default where null.
    dir: Value,
    /// What else the tool may be called for.
    reach: Reach,
}

async fn perform(
    operations: &impl Operations,
    tool: Tool,
    those: &[&Declared],
    request: &CallToolRequest,
) -> Result<Value> {
    let mut taken = takes(tool).to_vec();
    if those.len() > 1 {
        taken.push(WORKSPACE_NAME);
    }
    let arguments = ToolArguments::decode(&request.arguments, &taken)?;
    let declared = chosen(those, arguments.workspace_name.as_deref())?;
    let meant = meant(operations, tool, declared, &arguments).await?;
    let inside = |further| with(json!({ "sandboxId": meant.sandbox_id, "dir": meant.dir }), further);
    let of_snapshot = async |further| {
        let only_reads = tool != Tool::Delete;
        let snapshot = arguments.r#ref.as_ref().ok_or_else(|| missing("ref", "the `ref` of a snapshot"))?;
        meant.reach.snapshot(operations, snapshot, only_reads).await?;
        Ok::<_, Error>(with(json!({ "ref": snapshot }), further))
    };
    let key = || json!({ "idempotencyKey": request.idempotency_key });
    // What is wrong with a name is said by the operation.
    let name = arguments.name.as_deref().unwrap_or_default();
    match tool {
        Tool::Snapshot => {
            let given = inside(with(json!({ "label": arguments.label }), key()));
            Ok(json!({ "ref": only_ref(operations.carry_out(Operation::Snapshot, given).await?) }))
        }
        Tool::Restore => {
            Ok(json!({ "ref": operations.carry_out(Operation::Restore, of_snapshot(key()).await?).await? }))
        }
        Tool::Branch => Ok(json!({ "ref": operations.carry_out(Operation::Branch, of_snapshot(key()).await?).await? })),
        Tool::Delete => operations.carry_out(Operation::Delete, of_snapshot(json!({})).await?).await,
        Tool::List => list(operations, &meant, &arguments).await,
        Tool::SnapshotCreate => {
            let given = json!({ "name": name, "description": arguments.description });
            operations.carry_out(Operation::CreateCheckpoint, inside(given)).await
        }
        Tool::SnapshotList => {
            let given = inside(json!({ "limit": checked_limit(&arguments)? }));
            Ok(with_more(operations.carry_out(Operation::ListCheckpoints, given).await?))
        }
        Tool::SnapshotRestore => {
            operations.carry_out(Operation::RestoreCheckpoint, inside(json!({ "name": name }))).await
        }
        Tool::SnapshotDiff => {
            let given = json!({ "name": name, "maxBytes": arguments.max_bytes });
            operations.carry_out(Operation::DiffCheckpoint, inside(given)).await
        }
    }
}

/// How many snapshots or checkpoints are listed, where the model does not say.
const LIMIT: u64 = 20;

/// How many are listed at most.
pub(super) const MAX_LIMIT: u64 = ListRequest::MAX_LIMIT as u64;

/// The arguments that a tool takes.
const fn takes(tool: Tool) -> &'static [&'static str] {
    match tool {
        Tool::Snapshot => &["label", "workspace"],
        Tool::Restore | Tool::Branch | Tool::Delete => &["ref"],
        Tool::List | Tool::SnapshotList => &["limit", "workspace"],
        Tool::SnapshotCreate => &["name", "description", "workspace"],
        Tool::SnapshotRestore => &["name", "workspace"],
        Tool::SnapshotDiff => &["name", "maxBytes", "workspace"],
    }
}

fn chosen<'a>(those: &[&'a Declared], name: Option<&str>) -> Result<&'a Declared> {
    let chosen = match (those, name) {
        ([only], None) => Some(only),
        _ => those.iter().find(|declared| Some(declared.name.as_str()) == name),
    };
    let names = || those.iter().map(|declared| format!("{:?}", declared.name)).collect::<Vec<_>>().join(", ");
    chosen.copied().ok_or_else(|| match name {
        None => missing(WORKSPACE_NAME, &format!("one of {}", names())),
        Some(name) => invalid(&format!("`{WORKSPACE_NAME}` is {}", quoted(name)), &format!("Give one of {}.", names())),
    })
}

/// Which sandbox is meant. One that persists by name has another one after each start, so it is asked.
async fn meant(
    operations: &impl Operations,
    tool: Tool,
    declared: &Declared,
    arguments: &ToolArguments,
) -> Result<Meant> {
    let (own, dir) = match declared.ground()? {
        Ground::Sandbox(id, dir) => (vec![id], json!(dir)),
        Ground::Named(address) => {
            let which = json!({ "name": address.name, "tenant": address.tenant });
            let known = operations.carry_out(Operation::GetWorkspaceByName, which).await?;
            let is_active = known.get("state") == Some(&json!("active"));
            if !is_active && arguments.workspace.is_none() && works_inside(tool) {
                return Err(Error::new(
                    Code::SandboxNotRunning,
                    format!("The workspace {:?} is not started, so it has no files to work with", declared.name),
                    "Have the application start it.",
                ));
            }
            let former = known.get("formerSandboxIds").and_then(Value::as_array).into_iter().flatten();
            let own = known.get("sandboxId").into_iter().chain(former).filter_map(Value::as_str);
            let own = own.map(SandboxId::parse).collect::<Result<_>>()?;
            (own, known.get("dir").cloned().unwrap_or_default())
        }
    };
    let present = own.first().cloned().ok_or_else(Error::defect)?;
    let reach = Reach { own, everything: declared.allow_cross_session };
    let sandbox_id = match &arguments.workspace {
        Some(workspace) => reach.workspace(operations, workspace).await?,
        None => present,
    };
    Ok(Meant { sandbox_id, dir, reach })
}

/// Whether a tool needs the files of the workspace.
const fn works_inside(tool: Tool) -> bool {
    matches!(tool, Tool::Snapshot) || tool.is_of_checkpoints()
}

/// The snapshots of the sandbox; where it is the workspace's present one, also of those that it was before. The newest are
/// first, as each sandbox is older than the next.
async fn list(operations: &impl Operations, meant: &Meant, arguments: &ToolArguments) -> Result<Value> {
    let limit = checked_limit(arguments)?;
    let own = &meant.reach.own;
    let former = own.get(1..).filter(|_| own.first() == Some(&meant.sandbox_id)).unwrap_or_default();
    let mut snapshots = Vec::new();
    let mut more = false;
    for sandbox in std::iter::once(&meant.sandbox_id).chain(former) {
        let left = limit - snapshots.len() as u64;
        more = left == 0;
        if more {
            break;
        }
        let page = json!({ "sandboxId": sandbox, "limit": left });
        let mut answer = operations.carry_out(Operation::List, page).await?;
        more = answer.get("cursor").is_some();
        if let Some(Value::Array(found)) = answer.get_mut("snapshots").map(Value::take) {
            snapshots.extend(found.into_iter().filter_map(shown));
        }
        if more {
            break;
        }
    }
    Ok(json!({ "snapshots": snapshots, "more": more }))
}

/// How many are to be listed.
fn checked_limit(arguments: &ToolArguments) -> Result<u64> {
    let limit = arguments.limit.unwrap_or(LIMIT);
    if (1..=MAX_LIMIT).contains(&limit) {
        Ok(limit)
    } else {
        Err(invalid(&format!("`limit` is {limit}"), &format!("Give 1 to {MAX_LIMIT}.")))
    }
}

/// A page with `more` in the place of its cursor, with which a model could do nothing.
fn with_more(mut page: Value) -> Value {
    if let Value::Object(members) = &mut page {
        let more = members.remove("cursor").is_some();
        members.insert("more".to_owned(), json!(more));
    }
    page
}

/// What a model needs to know of a snapshot; nothing of one that is still being made.
fn shown(mut summary: Value) -> Option<Value> {
    summary.get("ref")?;
    let mut shown = Map::new();
    for member in ["ref", "label", "createdAt", "sizeBytes", "pinned", "restorable", "why"] {
        if let Some(value) = summary.get_mut(member) {
            shown.insert(member.to_owned(), value.take());
        }
    }
    Some(Value::Object(shown))
}

/// A snapshot's ref without what the call says beside it.
fn only_ref(mut taken: Value) -> Value {
    if let Value::Object(members) = &mut taken {
        members.remove("capture");
    }
    taken
}

fn missing(argument: &str, what: &str) -> Error {
    invalid(&format!("`{argument}` is missing"), &format!("Give {what}."))
}

fn invalid(what: &str, remediation: &str) -> Error {
    Error::new(Code::InvalidArgument, what, remediation)
}

/// The members of both.
fn with(members: Value, further: Value) -> Value {
    match (members, further) {
        (Value::Object(mut members), Value::Object(further)) => {
            members.extend(further);
            Value::Object(members)
        }
        (members, _) => members,
    }
}

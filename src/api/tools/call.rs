//! A tool that is called, as operations of the service.

use serde_json::{Map, Value, json};

use super::catalog::{Tool, WORKSPACE_NAME, find};
use super::words;
use crate::api::operations::Operation;
use crate::model::request::{CallToolRequest, Declared, Ground, ToolArguments};
use crate::model::tool::{ERROR_META, ToolResult, ToolText};
use crate::model::{Code, Error, Result};

/// Who carries out the operations that a tool consists of.
#[allow(async_fn_in_trait)]
pub trait Operations {
    /// Carries one out.
    async fn carry_out(&self, operation: Operation, arguments: Value) -> Result<Value>;
}

/// Calls a tool.
///
/// # Errors
/// [`Code::ToolNotFound`], and those of the operations. A model is told of them by [`failed`].
pub async fn call(operations: &impl Operations, request: &CallToolRequest) -> Result<ToolResult> {
    let (tool, those) = find(&request.toolset, &request.name)?;
    let answer = perform(operations, tool, &those, &request.arguments).await?;
    Ok(ToolResult {
        content: vec![ToolText::new(words::of(tool, &answer))],
        structured_content: Some(answer),
        is_error: false,
        meta: None,
    })
}

/// The result of a tool that failed: a model reads what happened, and what to do about it.
pub fn failed(error: &Error, correlation_id: &str) -> ToolResult {
    let error = &Error::new(error.code(), error.message(), remedy(error));
    let text = format!("{}: {} {}", error.code(), error.message(), error.remediation());
    ToolResult {
        content: vec![ToolText::new(text)],
        structured_content: None,
        is_error: true,
        meta: Some(Map::from_iter([(ERROR_META.to_owned(), json!(error.body(correlation_id)))])),
    }
}

/// What a model can do about it. Programs have options for some failures that tools don't have.
fn remedy(error: &Error) -> &str {
    match error.code() {
        Code::SandboxStarting => "Try again when it is up.",
        Code::SandboxNotRunning | Code::SandboxReplaced => {
            "Restore the newest snapshot and go on in the workspace that this answers, or have the application start this one \
             again."
        }
        Code::CrossSession => "Use what belongs to this workspace, or was made from it.",
        Code::SnapshotHeld => "Leave it. People can unpin it, or delete it all the same.",
        Code::LabelTaken => "Give another label, or none.",
        _ => error.remediation(),
    }
}

/// The workspace that a tool is called for.
struct Meant {
    /// The sandbox that it is done with.
    sandbox_id: Value,
    /// Its directory; the deployment's default where null.
    dir: Value,
    /// The sandbox of the declared workspace: what is done stays within the lineage of that.
    session: Value,
    /// Whether it need not.
    allow_cross_session: bool,
    /// The sandboxes that it was before.
    former: Vec<Value>,
}

async fn perform(operations: &impl Operations, tool: Tool, those: &[&Declared], arguments: &Value) -> Result<Value> {
    let mut taken = takes(tool).to_vec();
    if those.len() > 1 {
        taken.push(WORKSPACE_NAME);
    }
    let arguments = ToolArguments::decode(arguments, &taken)?;
    let declared = chosen(those, arguments.workspace_name.as_deref())?;
    let meant = meant(operations, tool, declared, &arguments).await?;
    let carry_out = async |operation, further: Value| {
        let session = json!({ "session": meant.session, "allowCrossSession": meant.allow_cross_session });
        operations.carry_out(operation, with(session, further)).await
    };
    let inside = |further| with(json!({ "sandboxId": meant.sandbox_id, "dir": meant.dir }), further);
    let of_snapshot = || match &arguments.r#ref {
        Some(snapshot) => Ok(json!({ "ref": snapshot })),
        None => Err(missing("ref", "the `ref` of a snapshot")),
    };
    // What is wrong with a name is said by the operation.
    let name = arguments.name.as_deref().unwrap_or_default();
    match tool {
        Tool::Snapshot => {
            let taken = carry_out(Operation::Snapshot, inside(json!({ "label": arguments.label }))).await?;
            Ok(json!({ "ref": only_ref(taken) }))
        }
        Tool::Restore => Ok(json!({ "ref": carry_out(Operation::Restore, of_snapshot()?).await? })),
        Tool::Branch => Ok(json!({ "ref": carry_out(Operation::Branch, of_snapshot()?).await? })),
        Tool::Delete => carry_out(Operation::Delete, of_snapshot()?).await,
        Tool::List => {
            let page = async |sandbox: &Value, limit| {
                carry_out(Operation::List, json!({ "sandboxId": sandbox, "limit": limit })).await
            };
            list(&meant, arguments.limit.unwrap_or(LIMIT), page).await
        }
        Tool::SnapshotCreate => {
            let given = json!({ "name": name, "description": arguments.description });
            carry_out(Operation::CreateCheckpoint, inside(given)).await
        }
        Tool::SnapshotList => carry_out(Operation::ListCheckpoints, inside(json!({}))).await,
        Tool::SnapshotRestore => carry_out(Operation::RestoreCheckpoint, inside(json!({ "name": name }))).await,
        Tool::SnapshotDiff => {
            let given = json!({ "name": name, "maxBytes": arguments.max_bytes });
            carry_out(Operation::DiffCheckpoint, inside(given)).await
        }
    }
}

/// How many snapshots are listed, where the model does not say.
const LIMIT: u64 = 20;

/// The arguments that a tool takes.
const fn takes(tool: Tool) -> &'static [&'static str] {
    match tool {
        Tool::Snapshot => &["label", "workspace"],
        Tool::Restore | Tool::Branch | Tool::Delete => &["ref"],
        Tool::List => &["limit", "workspace"],
        Tool::SnapshotCreate => &["name", "description", "workspace"],
        Tool::SnapshotList => &["workspace"],
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
    chosen.copied().ok_or_else(|| missing(WORKSPACE_NAME, &format!("one of {}", names())))
}

/// Which sandbox is meant. One that persists by name has another one after each start, so it is asked.
async fn meant(
    operations: &impl Operations,
    tool: Tool,
    declared: &Declared,
    arguments: &ToolArguments,
) -> Result<Meant> {
    let allow_cross_session = declared.allow_cross_session;
    let of_its_own = match declared.ground()? {
        Ground::Sandbox(id, dir) => Meant {
            sandbox_id: json!(id),
            dir: json!(dir),
            session: json!(id),
            allow_cross_session,
            former: Vec::new(),
        },
        Ground::Named(address) => {
            let which = json!({ "name": address.name, "tenant": address.tenant });
            let mut known = operations.carry_out(Operation::GetWorkspaceByName, which).await?;
            let is_active = known.get("state") == Some(&json!("active"));
            if !is_active && arguments.workspace.is_none() && works_inside(tool) {
                return Err(Error::new(
                    Code::SandboxNotRunning,
                    format!("The workspace {:?} is not started, so it has no files to work with", declared.name),
                    "Have the application start it; a snapshot can be restored meanwhile.",
                ));
            }
            let mut take = |member: &str| known.get_mut(member).map(Value::take).unwrap_or_default();
            let sandbox_id = take("sandboxId");
            let former = match take("formerSandboxIds") {
                Value::Array(former) => former,
                _ => Vec::new(),
            };
            Meant { session: sandbox_id.clone(), sandbox_id, dir: take("dir"), allow_cross_session, former }
        }
    };
    Ok(match &arguments.workspace {
        Some(workspace) => Meant { sandbox_id: json!(workspace.sandbox_id()), former: Vec::new(), ..of_its_own },
        None => of_its_own,
    })
}

/// Whether a tool needs the files of the workspace.
const fn works_inside(tool: Tool) -> bool {
    matches!(tool, Tool::Snapshot) || tool.is_of_checkpoints()
}

/// The snapshots of the sandbox, and of those that it was before: the newest first, as each of them is older than the next.
async fn list(meant: &Meant, limit: u64, page: impl AsyncFn(&Value, u64) -> Result<Value>) -> Result<Value> {
    let mut snapshots = Vec::new();
    let mut more = false;
    for sandbox in std::iter::once(&meant.sandbox_id).chain(&meant.former) {
        let left = limit.saturating_sub(snapshots.len() as u64);
        if left == 0 && limit > 0 {
            more = true;
            break;
        }
        let mut answer = page(sandbox, left).await?;
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
    Error::new(Code::InvalidArgument, format!("`{argument}` is missing"), format!("Give {what}."))
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

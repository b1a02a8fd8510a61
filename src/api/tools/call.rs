//! The execution of a tool, by operations of the service.

use serde_json::{Map, Value, json};

use super::catalog::{MAX_LIMIT, Tool, WORKSPACE_NAME, find_tool};
use super::executor::OperationExecutor;
use super::render;
use super::tool_scope::ToolScope;
use crate::api::operations::Operation;
use crate::model::ids::quoted;
use crate::model::request::{CallToolRequest, ToolArguments, ToolTarget, ToolWorkspace};
use crate::model::tool::{ERROR_META, ToolResult, ToolText};
use crate::model::{Error, Result, SandboxId, Selector, ShortRef, SnapshotId};

/// Calls a tool.
///
/// # Errors
/// [`Code::ToolNotFound`], and the errors of the operations. [`error_result`] converts them to a result for the model.
pub async fn call(operations: &impl OperationExecutor, request: &CallToolRequest) -> Result<ToolResult> {
    let (tool, workspaces) = find_tool(&request.toolset, &request.name)?;
    let answer = run_tool(operations, tool, &workspaces, request).await?;
    Ok(ToolResult {
        content: vec![ToolText::new(&render::render(tool, &answer))],
        structured_content: Some(answer),
        is_error: false,
        meta: None,
    })
}

/// Returns the result of a failed tool. Its text contains the message and the remediation for the model.
pub fn error_result(error: &Error, correlation_id: &str) -> ToolResult {
    let error = &error.redact_for_model();
    let text = error.to_text();
    ToolResult {
        content: vec![ToolText::new(&text)],
        structured_content: None,
        is_error: true,
        meta: Some(Map::from_iter([(ERROR_META.to_owned(), json!(error.body(correlation_id)))])),
    }
}

/// The workspace that a tool is called for.
struct ResolvedTarget {
    /// The sandbox that the operation uses.
    sandbox_id: SandboxId,
    /// Its directory; null for the default of the deployment.
    dir: Value,
    /// The other sandboxes and snapshots that the tool may use.
    tool_scope: ToolScope,
}

async fn run_tool(
    operations: &impl OperationExecutor,
    tool: Tool,
    workspaces: &[&ToolWorkspace],
    request: &CallToolRequest,
) -> Result<Value> {
    let mut accepted = accepted_arguments(tool).to_vec();
    if workspaces.len() > 1 {
        accepted.push(WORKSPACE_NAME);
    }
    let arguments = ToolArguments::decode(&request.arguments, &accepted)?;
    let declared = select_workspace(workspaces, arguments.workspace_name.as_deref())?;
    if tool.works_in_sandbox() {
        let target = running_target(operations, tool, declared, &arguments).await?;
        let (operation, options) = call_in_sandbox(tool, declared, &arguments)?;
        return operations.execute(operation, merge(target, options)).await;
    }
    let target = resolve_target(operations, tool, declared, &arguments).await?;
    let in_sandbox = |further| merge(json!({ "sandboxId": target.sandbox_id, "dir": target.dir }), further);
    let with_snapshot = async |further| {
        let only_reads = tool != Tool::Delete;
        let snapshot = arguments.r#ref.as_ref().ok_or_else(|| missing("ref", "the `ref` of a snapshot"))?;
        // A repeated deletion by a label could delete another snapshot, which has the label by then.
        if let Some(label) = label_of(snapshot).filter(|_| only_reads) {
            return Ok(merge(by_label(&declared.target()?, label), further));
        }
        let selection = match target.tool_scope.check_snapshot(operations, snapshot, only_reads).await? {
            Selector::Id { sandbox_id, snapshot_id } => json!({ "sandboxId": sandbox_id, "snapshotId": snapshot_id }),
            _ => json!({ "ref": snapshot }),
        };
        Ok::<_, Error>(merge(selection, further))
    };
    let key = || json!({ "idempotencyKey": request.idempotency_key });
    // The operation validates the name.
    let name = arguments.name.as_deref().unwrap_or_default();
    match tool {
        Tool::Snapshot => {
            let options = in_sandbox(merge(json!({ "label": arguments.label }), key()));
            let taken = operations.execute(Operation::Snapshot, options).await?;
            let short_ref = taken.get("shortRef").map_or_else(|| json!({}), |short| json!({ "shortRef": short }));
            Ok(merge(json!({ "ref": strip_capture(taken) }), short_ref))
        }
        Tool::Restore => {
            Ok(json!({ "ref": operations.execute(Operation::Restore, with_snapshot(key()).await?).await? }))
        }
        Tool::Branch => Ok(json!({ "ref": operations.execute(Operation::Branch, with_snapshot(key()).await?).await? })),
        Tool::Delete => operations.execute(Operation::Delete, with_snapshot(json!({})).await?).await,
        Tool::List => list(operations, &target, &arguments).await,
        Tool::CheckpointCreate => {
            let options = json!({ "name": name, "description": arguments.description });
            operations.execute(Operation::CreateCheckpoint, in_sandbox(options)).await
        }
        Tool::CheckpointList => {
            let options = in_sandbox(json!({ "limit": check_limit(&arguments)? }));
            Ok(replace_cursor(operations.execute(Operation::ListCheckpoints, options).await?))
        }
        Tool::CheckpointRestore => {
            operations.execute(Operation::RestoreCheckpoint, in_sandbox(json!({ "name": name }))).await
        }
        Tool::CheckpointDiff => {
            let options = json!({ "name": name, "maxBytes": arguments.max_bytes });
            operations.execute(Operation::DiffCheckpoint, in_sandbox(options)).await
        }
        _ => Err(Error::internal()),
    }
}

/// Returns the label of a snapshot, if a text in the place of its ref is neither a short ref nor an id.
fn label_of(snapshot: &Value) -> Option<&str> {
    snapshot.as_str().filter(|text| !text.starts_with(ShortRef::PREFIX) && SnapshotId::parse(text).is_err())
}

/// Returns the selection of a snapshot by its label, in the sandboxes of a workspace or in a sandbox.
fn by_label(target: &ToolTarget, label: &str) -> Value {
    match target {
        ToolTarget::Named(address) => json!({ "name": address.name, "tenant": address.tenant, "label": label }),
        ToolTarget::Sandbox(id, _) => json!({ "sandboxId": id, "label": label }),
    }
}

/// The maximum length of each output of a command, in bytes.
const MAX_OUTPUT: u32 = 64 * 1024;

/// The maximum number of bytes that a model reads from a file or an output, unless it asks for another.
const MAX_READ: u64 = 64 * 1024;

/// Returns the operation of a tool that works in a sandbox, and its options except for the sandbox.
fn call_in_sandbox(tool: Tool, declared: &ToolWorkspace, arguments: &ToolArguments) -> Result<(Operation, Value)> {
    let in_dir = |further| merge(json!({ "path": arguments.path, "dir": declared.dir }), further);
    Ok(match tool {
        Tool::Exec => {
            // A model cannot restore the sandbox that it works in.
            let options = json!({ "maxOutputBytes": MAX_OUTPUT, "revive": true });
            (Operation::Exec, merge(command_options(declared, arguments), options))
        }
        Tool::StartCommand => (Operation::StartCommand, command_options(declared, arguments)),
        Tool::ListCommands => (Operation::ListCommands, json!({})),
        Tool::ReadCommandOutput => {
            let part = json!({
                "commandId": arguments.command_id,
                "stream": arguments.stream,
                "offset": arguments.offset,
                "length": arguments.length.unwrap_or(MAX_READ),
                "waitSeconds": arguments.wait_seconds,
            });
            (Operation::ReadCommandOutput, part)
        }
        Tool::EndCommand => {
            let options = json!({ "commandId": arguments.command_id, "killSignal": arguments.kill_signal });
            (Operation::EndCommand, options)
        }
        Tool::ReadFile => {
            let length = arguments.length.unwrap_or(MAX_READ);
            (Operation::ReadFile, in_dir(json!({ "offset": arguments.offset, "length": length })))
        }
        Tool::WriteFile => {
            let options = json!({ "content": arguments.content, "ifMatch": arguments.if_match });
            (Operation::WriteFile, in_dir(options))
        }
        Tool::ListFiles => {
            (Operation::ListFiles, in_dir(json!({ "limit": arguments.limit, "cursor": arguments.cursor })))
        }
        _ => return Err(Error::internal()),
    })
}

/// Returns the arguments that select the sandbox in which a tool works.
async fn running_target(
    operations: &impl OperationExecutor,
    tool: Tool,
    declared: &ToolWorkspace,
    arguments: &ToolArguments,
) -> Result<Value> {
    match (declared.target()?, &arguments.workspace) {
        (ToolTarget::Named(address), None) => Ok(json!({ "name": address.name, "tenant": address.tenant })),
        (ToolTarget::Sandbox(id, _), None) => Ok(json!({ "sandboxId": id })),
        (_, Some(_)) => {
            let target = resolve_target(operations, tool, declared, arguments).await?;
            Ok(json!({ "sandboxId": target.sandbox_id }))
        }
    }
}

fn command_options(declared: &ToolWorkspace, arguments: &ToolArguments) -> Value {
    let cwd = match (&declared.dir, &arguments.cwd) {
        (Some(dir), Some(cwd)) if !cwd.starts_with('/') => Some(format!("{dir}/{cwd}")),
        (dir, cwd) => cwd.clone().or_else(|| dir.as_ref().map(ToString::to_string)),
    };
    json!({
        "command": arguments.command.as_deref().unwrap_or_default(),
        "cwd": cwd,
        "stdin": arguments.stdin,
        "timeoutSeconds": arguments.timeout_seconds,
    })
}

/// The default number of snapshots or checkpoints in a list.
const DEFAULT_LIMIT: u64 = 20;

/// Returns the names of the arguments of a tool.
const fn accepted_arguments(tool: Tool) -> &'static [&'static str] {
    match tool {
        Tool::Snapshot => &["label", "workspace"],
        // The whole answer about a snapshot is accepted.
        Tool::Restore | Tool::Branch | Tool::Delete => &["ref", "shortRef"],
        Tool::List | Tool::CheckpointList => &["limit", "workspace"],
        Tool::CheckpointCreate => &["name", "description", "workspace"],
        Tool::CheckpointRestore => &["name", "workspace"],
        Tool::CheckpointDiff => &["name", "maxBytes", "workspace"],
        Tool::Exec | Tool::StartCommand => &["command", "cwd", "stdin", "timeoutSeconds", "workspace"],
        Tool::ListCommands => &["workspace"],
        Tool::ReadCommandOutput => &["commandId", "stream", "offset", "length", "waitSeconds", "workspace"],
        Tool::EndCommand => &["commandId", "killSignal", "workspace"],
        Tool::ReadFile => &["path", "offset", "length", "workspace"],
        Tool::WriteFile => &["path", "content", "ifMatch", "workspace"],
        Tool::ListFiles => &["path", "limit", "cursor", "workspace"],
    }
}

fn select_workspace<'a>(workspaces: &[&'a ToolWorkspace], name: Option<&str>) -> Result<&'a ToolWorkspace> {
    let chosen = match (workspaces, name) {
        ([only], None) => Some(only),
        _ => workspaces.iter().find(|declared| Some(declared.name.as_str()) == name),
    };
    let names = || workspaces.iter().map(|declared| format!("{:?}", declared.name)).collect::<Vec<_>>().join(", ");
    chosen.copied().ok_or_else(|| match name {
        None => missing(WORKSPACE_NAME, &format!("one of {}", names())),
        Some(name) => {
            let message = format!("`{WORKSPACE_NAME}` is {}, which is not a workspace of this tool", quoted(name));
            Error::invalid_argument(message, format!("Pass one of {}.", names()))
        }
    })
}

/// Returns the sandbox that the tool uses. A named workspace has a new sandbox after each start, so the Worker reads
/// its current sandbox from the workspace.
async fn resolve_target(
    operations: &impl OperationExecutor,
    tool: Tool,
    declared: &ToolWorkspace,
    arguments: &ToolArguments,
) -> Result<ResolvedTarget> {
    let (own, dir) = match declared.target()? {
        ToolTarget::Sandbox(id, dir) => (vec![id], json!(dir)),
        ToolTarget::Named(address) => {
            let options = json!({ "name": address.name, "tenant": address.tenant });
            let workspace = operations.execute(Operation::GetWorkspaceByName, options).await?;
            let is_active = workspace.get("state") == Some(&json!("active"));
            if !is_active && arguments.workspace.is_none() && needs_running_sandbox(tool) {
                return Err(Error::workspace_not_started(&declared.name));
            }
            let former = workspace.get("formerSandboxIds").and_then(Value::as_array).into_iter().flatten();
            let own = workspace.get("sandboxId").into_iter().chain(former).filter_map(Value::as_str);
            let own = own.map(SandboxId::parse).collect::<Result<_>>()?;
            (own, workspace.get("dir").cloned().unwrap_or_default())
        }
    };
    let current = own.first().cloned().ok_or_else(Error::internal)?;
    let tool_scope = ToolScope { sandbox_ids: own, is_unrestricted: declared.allow_cross_lineage };
    let sandbox_id = match &arguments.workspace {
        Some(workspace) => tool_scope.check_workspace(operations, workspace).await?,
        None => current,
    };
    Ok(ResolvedTarget { sandbox_id, dir, tool_scope })
}

/// Returns whether a tool needs a running sandbox with the files of the workspace.
const fn needs_running_sandbox(tool: Tool) -> bool {
    matches!(tool, Tool::Snapshot) || tool.is_checkpoint_tool()
}

/// Lists the snapshots of the sandbox, newest first. For the current sandbox of the workspace, also lists those of its
/// former sandboxes, from the newest sandbox to the oldest.
async fn list(
    operations: &impl OperationExecutor,
    target: &ResolvedTarget,
    arguments: &ToolArguments,
) -> Result<Value> {
    let limit = check_limit(arguments)?;
    let own = &target.tool_scope.sandbox_ids;
    let former = own.get(1..).filter(|_| own.first() == Some(&target.sandbox_id)).unwrap_or_default();
    let mut snapshots = Vec::new();
    let mut more = false;
    for sandbox in std::iter::once(&target.sandbox_id).chain(former) {
        let remaining = limit - snapshots.len() as u64;
        more = remaining == 0;
        if more {
            break;
        }
        let page = json!({ "sandboxId": sandbox, "limit": remaining });
        let mut answer = operations.execute(Operation::List, page).await?;
        more = answer.get("cursor").is_some();
        if let Some(Value::Array(found)) = answer.get_mut("snapshots").map(Value::take) {
            snapshots.extend(found.into_iter().filter_map(list_item));
        }
        if more {
            break;
        }
    }
    Ok(json!({ "snapshots": snapshots, "more": more }))
}

/// Returns the number of items to list.
fn check_limit(arguments: &ToolArguments) -> Result<u64> {
    let limit = arguments.limit.unwrap_or(DEFAULT_LIMIT);
    if (1..=MAX_LIMIT).contains(&limit) {
        Ok(limit)
    } else {
        Err(Error::invalid_argument(
            format!("`limit` must be 1–{MAX_LIMIT}, got {limit}"),
            format!("Pass 1 to {MAX_LIMIT}."),
        ))
    }
}

/// Replaces the cursor of a page with the flag `more`, because tools accept no cursor.
fn replace_cursor(mut page: Value) -> Value {
    if let Value::Object(members) = &mut page {
        let more = members.remove("cursor").is_some();
        members.insert("more".to_owned(), json!(more));
    }
    page
}

/// Returns the members of a snapshot that a model needs; `None` for a snapshot that is not complete yet.
fn list_item(mut summary: Value) -> Option<Value> {
    summary.get("ref")?;
    let mut item = Map::new();
    for member in ["ref", "shortRef", "label", "createdAt", "sizeBytes", "pinned", "restorable", "why"] {
        if let Some(value) = summary.get_mut(member) {
            item.insert(member.to_owned(), value.take());
        }
    }
    Some(Value::Object(item))
}

/// Removes what a snapshot call returns beside the ref.
fn strip_capture(mut taken: Value) -> Value {
    if let Value::Object(members) = &mut taken {
        for member in ["capture", "snapshotId", "shortRef"] {
            members.remove(member);
        }
    }
    taken
}

fn missing(argument: &str, what: &str) -> Error {
    Error::invalid_argument(format!("`{argument}` is missing"), format!("Pass {what}."))
}

/// Merges two JSON objects.
fn merge(members: Value, further: Value) -> Value {
    match (members, further) {
        (Value::Object(mut members), Value::Object(further)) => {
            members.extend(further);
            Value::Object(members)
        }
        (members, _) => members,
    }
}

//! The commands for tools of language models.

use sandbox_snapshotter_client::model::named::Address;
use sandbox_snapshotter_client::model::request::{GrantRequest, NameStyle, SandboxTarget, ToolWorkspace, Toolset};
use sandbox_snapshotter_client::model::tool::ToolGrant;
use serde_json::json;

use super::context::Context;
use super::target::parse_target;
use crate::args::tools::{Config, ConfigFormat, Grant, Mcp, ToolGroup, Tools};
use crate::exit::Exit;
use crate::failure::Result;
use crate::output::answer::Answer;
use crate::output::{print_indented_json, print_json};

/// `tools`
pub fn tools(context: &Context, command: &Tools) -> Result<Exit> {
    let Tools::Grant(grant) = command;
    context.show::<ToolGrant>(&create_grant(context, grant)?)
}

/// `mcp`
pub fn mcp(context: &Context, command: &Mcp) -> Result<Exit> {
    let Mcp::Config(Config { format, grant }) = command;
    let ToolGrant { token, .. } = create_grant(context, grant)?.value;
    let server = json!({
        "type": "http",
        "url": context.url("/mcp"),
        "headers": { "Authorization": format!("Bearer {token}") },
    });
    let servers = json!({ "snapshotter": server });
    let document = match format {
        ConfigFormat::Common => json!({ "mcpServers": servers }),
        ConfigFormat::Vscode => json!({ "servers": servers }),
    };
    if context.output.json { print_json(&document) } else { print_indented_json(&document) }?;
    Ok(Exit::Done)
}

fn create_grant(context: &Context, grant: &Grant) -> Result<Answer<ToolGrant>> {
    let workspaces = grant.targets.iter().map(|target| workspace(context, target, grant)).collect::<Result<_>>()?;
    let style = if grant.flat { NameStyle::Flat } else { NameStyle::Namespaced };
    let toolset = Toolset { workspaces, style, read_only: grant.read_only };
    context.call_mutating("tools/grant", &GrantRequest { toolset, expiration_seconds: grant.expires.0 })
}

/// Returns the declaration of a workspace, with the tools of the grant. Fails if the server does not know the workspace: the
/// server grants tools of every name, so the tools of a misspelled one would fail, or find nothing.
fn workspace(context: &Context, target: &str, grant: &Grant) -> Result<ToolWorkspace> {
    let (snapshot, checkpoint) = (grant.only != Some(ToolGroup::Checkpoints), grant.only != Some(ToolGroup::Snapshots));
    let named = |text: &str| ToolWorkspace {
        name: ToolWorkspace::to_tool_name(text, grant.flat),
        snapshot,
        checkpoint: Some(checkpoint),
        branch: grant.no_branch.then_some(false),
        work: grant.work,
        sandbox_id: None,
        dir: None,
        workspace: None,
        tenant: None,
        allow_cross_lineage: false,
    };
    Ok(match parse_target(target)? {
        SandboxTarget::Sandbox(_) => {
            let id = context.known_sandbox(target)?;
            ToolWorkspace { sandbox_id: Some(id.clone()), ..named(id.as_str()) }
        }
        SandboxTarget::Named(address) => {
            context.workspace(&address)?;
            let Address { tenant, name } = address;
            ToolWorkspace { workspace: Some(name.clone()), tenant: Some(tenant), ..named(name.as_str()) }
        }
    })
}

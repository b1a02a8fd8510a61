//! The command about what workspaces use.

use sandbox_snapshotter_client::model::named::{Tenant, WorkspaceName};
use sandbox_snapshotter_client::model::request::UsageRequest;
use sandbox_snapshotter_client::model::usage::Usage as Used;

use super::context::Context;
use super::target::parse_address;
use crate::args::usage::Usage;
use crate::exit::Exit;
use crate::failure::Result;

/// `usage`
pub fn run(context: &Context, command: &Usage) -> Result<Exit> {
    let request = match &command.workspace {
        Some(name) => {
            let address = parse_address(name)?;
            UsageRequest::of_workspace(address.tenant, address.name)
        }
        None => {
            UsageRequest::of(command.tenant.as_deref().map_or_else(|| Ok(Tenant::default_tenant()), Tenant::parse)?)
        }
    };
    let cursor = command.cursor.as_deref().map(WorkspaceName::parse).transpose()?;
    let limit = UsageRequest::MAX_LIMIT;
    let request = UsageRequest { instance_type: command.instance_type, cursor, limit, ..request };
    context.show::<Used>(&context.call_read_only("usage", &request)?)
}

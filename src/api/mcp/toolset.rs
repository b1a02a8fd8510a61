//! The tools that a token permits.

use serde_json::{Map, Value, json};

use crate::api::auth;
use crate::api::tools::grant::verify_token;
use crate::model::ids::quoted;
use crate::model::request::{ToolWorkspace, Toolset};
use crate::model::{Error, Result, Timestamp, json as text};

/// Returns the arguments that select the caller's tools, or the error why there are none. A granted token contains its
/// tools. A caller with the API token may use all tools, and selects them in the URL: `sandbox=<id>` and
/// `workspace=<name>`, each any number of times, and `tenant=<name>`, `dir=<path>`, `style=flat`, `readOnly=true`,
/// `branch=false` to withhold the tool `branch`, `work=true` for tools that run commands.
///
/// # Errors
/// [`Code::Unauthorized`] and [`Code::ApiTokenMissing`].
pub fn authorized_toolset(
    api_token: Option<&str>,
    authorization: Option<&str>,
    query: &[(String, String)],
    now: Timestamp,
) -> Result<Result<Value>> {
    let bearer = auth::bearer_token(authorization);
    if let Some(toolset) = bearer.map(|token| verify_token(api_token, token, now)).transpose()?.flatten() {
        if query.is_empty() {
            return Ok(text::to_value(&toolset).map_err(|_| Error::internal()));
        }
        return Ok(Err(Error::toolset_selected_twice()));
    }
    auth::check_token(api_token, authorization)?;
    Ok(toolset_of_query(query))
}

/// Returns the toolset that the query of a URL selects.
pub(super) fn toolset_of_query(query: &[(String, String)]) -> Result<Value> {
    let mut toolset = Map::new();
    let mut workspaces = Vec::new();
    let style = single_parameter(query, "style")?.unwrap_or("namespaced");
    let work = flag_parameter(query, "work")?.unwrap_or_default();
    let branch = flag_parameter(query, "branch")?;
    let (dir, tenant) = (single_parameter(query, "dir")?, single_parameter(query, "tenant")?);
    for (name, value) in query {
        let tool_name = ToolWorkspace::to_tool_name(value, style == "flat");
        match name.as_str() {
            "sandbox" => {
                workspaces.push(json!({
                    "name": tool_name, "snapshot": true, "branch": branch, "work": work, "sandboxId": value, "dir": dir,
                }));
            }
            "workspace" => {
                workspaces.push(json!({
                    "name": tool_name, "snapshot": true, "branch": branch, "work": work, "workspace": value, "tenant": tenant,
                }));
            }
            "style" | "readOnly" | "branch" | "work" | "dir" | "tenant" => (),
            _ => {
                return Err(Error::toolset_query_invalid(format!("The URL has an unknown parameter {}", quoted(name))));
            }
        }
    }
    if workspaces.is_empty() {
        return Err(Error::toolset_query_invalid("The URL selects no workspace"));
    }
    if let Some(read_only) = flag_parameter(query, "readOnly")? {
        toolset.insert("readOnly".to_owned(), json!(read_only));
    }
    toolset.insert("style".to_owned(), json!(style));
    toolset.insert("workspaces".to_owned(), Value::Array(workspaces));
    let toolset = Value::Object(toolset);
    Toolset::decode(&toolset)?;
    Ok(toolset)
}

/// Returns the value of a parameter that is true or false.
fn flag_parameter(query: &[(String, String)], wanted: &str) -> Result<Option<bool>> {
    let value = single_parameter(query, wanted)?;
    let invalid =
        |value| Error::toolset_query_invalid(format!("`{wanted}` must be true or false, got {}", quoted(value)));
    value.map(|value| value.parse().map_err(|_| invalid(value))).transpose()
}

/// Returns the value of a parameter that may occur only once.
fn single_parameter<'a>(query: &'a [(String, String)], wanted: &str) -> Result<Option<&'a str>> {
    let mut values = query.iter().filter(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    match (values.next(), values.next()) {
        (value, None) => Ok(value),
        _ => Err(Error::toolset_query_invalid(format!("The URL has the parameter {wanted:?} more than once"))),
    }
}

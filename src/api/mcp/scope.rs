//! Which tools a token gives.

use serde_json::{Map, Value, json};

use crate::api::auth;
use crate::api::tools::grant::granted;
use crate::model::ids::quoted;
use crate::model::request::{Declared, Toolset};
use crate::model::{Code, Error, Result, Timestamp, json as text};

/// The arguments that say which tools the caller has, or why those are none. Whoever was granted some has these. Whoever has
/// the API token has all, and says in the URL which: `sandbox=<id>`, `workspace=<name>`, as often as there are, and
/// `tenant=<name>`, `dir=<path>`, `style=flat`, `readOnly=true`.
///
/// # Errors
/// [`Code::Unauthorized`], [`Code::ApiTokenMissing`].
pub fn scope(
    api_token: Option<&str>,
    authorization: Option<&str>,
    query: &[(String, String)],
    now: Timestamp,
) -> Result<Result<Value>> {
    let bearer = auth::bearer(authorization);
    if let Some(toolset) = bearer.map(|token| granted(api_token, token, now)).transpose()?.flatten() {
        if query.is_empty() {
            return Ok(text::write(&toolset).map_err(|_| Error::defect()));
        }
        return Ok(Err(Error::new(
            Code::InvalidArgument,
            "The URL says which tools there are, and so does the token",
            "Leave the query of the URL out.",
        )));
    }
    auth::check(api_token, authorization)?;
    Ok(named(query))
}

/// The tools that the query of a URL says.
fn named(query: &[(String, String)]) -> Result<Value> {
    let mut toolset = Map::new();
    let mut workspaces = Vec::new();
    let style = one(query, "style")?.unwrap_or("namespaced");
    let (dir, tenant) = (one(query, "dir")?, one(query, "tenant")?);
    for (name, value) in query {
        let called = Declared::name_of(value, style == "flat");
        match name.as_str() {
            "sandbox" => {
                workspaces.push(json!({ "name": called, "snapshot": true, "sandboxId": value, "dir": dir }));
            }
            "workspace" => {
                workspaces.push(json!({ "name": called, "snapshot": true, "workspace": value, "tenant": tenant }));
            }
            "style" | "readOnly" | "dir" | "tenant" => (),
            _ => return Err(refuse(format!("The URL has a parameter {}, which there is not", quoted(name)))),
        }
    }
    if workspaces.is_empty() {
        return Err(refuse("The URL names no workspace".to_owned()));
    }
    if let Some(value) = one(query, "readOnly")? {
        let read_only: bool =
            value.parse().map_err(|_| refuse(format!("`readOnly` is {}, neither true nor false", quoted(value))))?;
        toolset.insert("readOnly".to_owned(), json!(read_only));
    }
    toolset.insert("style".to_owned(), json!(style));
    toolset.insert("workspaces".to_owned(), Value::Array(workspaces));
    let toolset = Value::Object(toolset);
    Toolset::decode(&toolset)?;
    Ok(toolset)
}

/// A parameter that may be there once.
fn one<'a>(query: &'a [(String, String)], wanted: &str) -> Result<Option<&'a str>> {
    let mut values = query.iter().filter(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    match (values.next(), values.next()) {
        (value, None) => Ok(value),
        _ => Err(refuse(format!("The URL has the parameter {wanted:?} twice"))),
    }
}

fn refuse(message: String) -> Error {
    Error::new(
        Code::InvalidArgument,
        message,
        "Say in the URL which workspaces there are tools for, such as /mcp?sandbox=agent-42 or /mcp?workspace=project, or use a \
         token that tools.grant() has answered.",
    )
}

//! The routes of downloads, whose options are in the query.

use serde_json::{Map, Value, json};

use super::headers::{self, CONTENT_TYPE_OPTIONS};
use super::problems::Responses;
use crate::api::openapi::codes_of_downloads;
use crate::model::Code;

/// The media type of all downloads. Generators of clients do not know that of tar.
const MEDIA_TYPE: &str = "application/octet-stream";

/// Codes of requests with a body, which downloads do not have.
const OF_BODIES: [Code; 3] = [Code::PayloadTooLarge, Code::UnsupportedMediaType, Code::Aborted];

/// The description of the option `secrets`.
const SECRETS: &str = "What to do with files that are named like files with secrets: `exclude` leaves them out and is the default, \
    `keep` exports them, and `refuse` fails with `SECRETS_FOUND`.";

/// Returns the paths.
pub fn paths(shared: &mut Responses) -> Map<String, Value> {
    let file = Route {
        id: "DownloadFile",
        summary: "Downloads a file of a snapshot",
        description: "Streams the content of a regular file, or a range of it. Does not start a container.",
        path: "The path of the file.",
        example: "notes.txt",
        has_ranges: true,
        codes: [codes_of_downloads(), vec![Code::NotAFile]].concat(),
    };
    let tar = Route {
        id: "ExportFiles",
        summary: "Downloads a directory of a snapshot as a tar",
        description: "Streams a tar of all files in a directory, in the format ustar with headers of pax. Does not start a \
            container. An error after the first bytes breaks the connection: a complete tar ends with 1,024 zeros.",
        path: "The path of the directory; the directory that the snapshot contains if absent.",
        example: "src",
        has_ranges: false,
        codes: [codes_of_downloads(), vec![Code::SecretsFound]].concat(),
    };
    [("/v1/files/download", file), ("/v1/files/export", tar)]
        .into_iter()
        .map(|(path, route)| {
            let methods = json!({ "get": route.method("get", shared), "head": route.method("head", shared) });
            (path.to_owned(), methods)
        })
        .collect()
}

struct Route {
    id: &'static str,
    summary: &'static str,
    description: &'static str,
    path: &'static str,
    /// An example of the path.
    example: &'static str,
    has_ranges: bool,
    codes: Vec<Code>,
}

impl Route {
    fn method(&self, method: &str, shared: &mut Responses) -> Value {
        let codes: Vec<Code> = self.codes.iter().copied().filter(|code| !OF_BODIES.contains(code)).collect();
        let mut responses = shared.for_codes(self.id, &codes);
        if method == "head" {
            for response in responses.values_mut() {
                *response = json!({ "description": "The download failed, as with GET." });
            }
        }
        let mut add = |status: &str, description: &str, extra: &[&str], has_content: bool| {
            let mut headers = response_headers(extra);
            if let (false, Some(headers)) = (self.has_ranges, headers.as_object_mut()) {
                let description =
                    "The files that the tar leaves out, as JSON: a `SecretsReport`. Absent with `secrets=keep`.";
                let header = json!({ "description": description, "schema": { "type": "string" } });
                headers.insert("X-Secrets".to_owned(), header);
            }
            let response = if has_content && method == "get" {
                let schema = json!({ "type": "string", "contentMediaType": MEDIA_TYPE });
                let content = json!({ MEDIA_TYPE: { "schema": schema } });
                json!({ "description": description, "headers": headers, "content": content })
            } else {
                json!({ "description": description, "headers": headers })
            };
            responses.insert(status.to_owned(), response);
        };
        add("200", "The whole download.", &["Content-Disposition"], true);
        add("304", "The download has not changed since the version in `If-None-Match`.", &[], false);
        if self.has_ranges && method == "get" {
            add("206", "The range of the file.", &["Content-Disposition", "Content-Range"], true);
            add("416", "The range begins behind the end of the file.", &["Content-Range"], false);
        }
        responses.sort_keys();
        json!({
            "operationId": if method == "get" { lower_first(self.id) } else { format!("head{}", self.id) },
            "tags": ["files"],
            "summary": self.summary,
            "description": self.description,
            "parameters": self.parameters(),
            "responses": responses,
        })
    }

    fn parameters(&self) -> Value {
        let parameter = |place: &str, name: &str, description: &str, required: bool| {
            let schema = json!({ "type": "string" });
            json!({ "name": name, "in": place, "description": description, "required": required, "schema": schema })
        };
        let with_example = |mut parameter: Value, example: &str| {
            if let Some(members) = parameter.as_object_mut() {
                members.insert("example".to_owned(), example.into());
            }
            parameter
        };
        let mut parameters = vec![
            with_example(parameter("query", "name", "The workspace of the snapshot.", false), "notebook"),
            parameter("query", "sandboxId", "The sandbox that the snapshot was taken of, instead of `name`.", false),
            parameter("query", "snapshotId", "The id of the snapshot.", false),
            with_example(parameter("query", "label", "The label of the snapshot.", false), "before the refactoring"),
            parameter("query", "tenant", "The tenant of the workspace; the default tenant if absent.", false),
            parameter("query", "ref", "The `shortRef` of the snapshot, or its `ref` as JSON, instead of these.", false),
            with_example(parameter("query", "path", self.path, self.has_ranges), self.example),
            parameter("query", "lineageScope", "The id of a sandbox in the caller's lineage.", false),
            parameter("query", "allowCrossLineage", "`true` allows snapshots of other lineages.", false),
            parameter("header", "If-None-Match", "The `ETag` of a version that the client has.", false),
        ];
        if !self.has_ranges {
            let mut secrets = parameter("query", "secrets", SECRETS, false);
            if let Some(schema) = secrets.get_mut("schema").and_then(Value::as_object_mut) {
                schema.insert("enum".to_owned(), json!(["keep", "exclude", "refuse"]));
            }
            parameters.push(secrets);
        }
        if self.has_ranges {
            parameters.push(parameter("header", "Range", "One range of bytes.", false));
            parameters.push(parameter("header", "If-Range", "The `ETag` of the version that the range is of.", false));
        }
        Value::Array(parameters)
    }
}

/// Returns the headers of a response that is no error.
fn response_headers(extra: &[&str]) -> Value {
    let own = [
        ("ETag", "The version of the download."),
        ("X-Snapshot-Id", "The id of the snapshot."),
        ("Accept-Ranges", "Whether ranges can be requested."),
        ("Cache-Control", "The client checks the version before it uses a stored download."),
        ("Content-Disposition", "The name of the file."),
        ("Content-Range", "The range and the size of the file."),
    ];
    let own = own.into_iter().filter(|(name, _)| !name.starts_with("Content-") || extra.contains(name));
    let definition = |(name, description): (&str, &str)| {
        let schema = json!({ "type": "string" });
        (name.to_owned(), json!({ "description": description, "required": true, "schema": schema }))
    };
    let shared = headers::references(["X-Correlation-Id", CONTENT_TYPE_OPTIONS]);
    let shared = shared.as_object().cloned().unwrap_or_default();
    Value::Object(shared.into_iter().chain(own.map(definition)).collect())
}

fn lower_first(id: &str) -> String {
    let mut letters = id.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

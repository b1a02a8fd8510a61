//! Calls of tools by models. The first line of the input has the arguments of `tools/call`, and each further line the
//! answer of an operation, in order. An answer with a member `code` is an error.

use std::cell::RefCell;
use std::collections::VecDeque;

use futures_executor::block_on;
use sandbox_snapshotter::api::operations::{Operation, Request};
use sandbox_snapshotter::api::tools::call::error_result;
use sandbox_snapshotter::api::tools::{OperationExecutor, call, definitions, find_tool};
use sandbox_snapshotter::model::answer::SandboxParent;
use sandbox_snapshotter::model::request::CallToolRequest;
use sandbox_snapshotter::model::tool::ToolResult;
use sandbox_snapshotter::model::{Error, Result, SandboxId, SnapshotId, json};
use serde_json::Value;

use super::input;
use super::rules::assert_legible;

/// See the module.
pub fn read(data: &[u8]) {
    let mut lines = data.split(|byte| *byte == b'\n');
    let Some(arguments) = lines.next().and_then(input::json) else { return };
    let request = match CallToolRequest::decode(&arguments) {
        Ok(request) => request,
        Err(error) => return assert_legible(&error),
    };
    let offered = definitions(&request.toolset).expect("the toolset has tools");
    assert!(offered.iter().all(|tool| (1..=64).contains(&tool.name.len())));
    let is_offered = offered.iter().any(|tool| tool.name == request.name);
    assert_eq!(find_tool(&request.toolset, &request.name).is_ok(), is_offered);
    let answers = Answers(RefCell::new(lines.take(100).filter_map(input::json).collect()));
    match block_on(call(&answers, &request)) {
        Ok(result) => check_result(&result),
        Err(error) => {
            assert_legible(&error);
            let result = error_result(&error, "0123456789abcdef");
            assert!(result.is_error);
            check_result(&result);
        }
    }
}

/// Asserts that a result has a text and can be parsed by clients.
fn check_result(result: &ToolResult) {
    assert!(result.content.iter().any(|part| !part.text.is_empty()));
    let text = json::to_string(result).expect("the result is serialized");
    let parsed: ToolResult = json::from_str(&text).expect("the result is parsed");
    assert_eq!(parsed.content, result.content);
}

/// The answers of the operations.
struct Answers(RefCell<VecDeque<Value>>);

impl Answers {
    fn next(&self) -> Result<Value> {
        let answer = self.0.borrow_mut().pop_front().unwrap_or_default();
        match json::from_value::<Error>(&answer) {
            Ok(error) if error.message().len() < 1024 && error.remediation().len() < 1024 => Err(error),
            _ => Ok(answer),
        }
    }
}

impl OperationExecutor for Answers {
    async fn execute(&self, operation: Operation, arguments: Value) -> Result<Value> {
        Request::decode(operation, &arguments)?;
        self.next()
    }

    async fn parent_of(&self, _: &SandboxId) -> Result<SandboxParent> {
        let parent = json::from_value(&self.next()?);
        Ok(parent.unwrap_or(SandboxParent { parent: None, has_binding: false, workspace: None }))
    }

    async fn origin_of(&self, id: &SandboxId, _: &SnapshotId) -> Result<Option<SandboxId>> {
        Ok(json::from_value::<bool>(&self.next()?).unwrap_or_default().then(|| id.clone()))
    }
}

//! The pages of `/docs`: where each operation is described, and the errors that name the page.

use serde_json::Value;

use crate::model::operation::Operation;
use crate::model::operation_request::Request;
use crate::model::{Code, Error, Result};

/// Returns the group of an operation: its page in `/docs`, and its tag in the `OpenAPI` document.
pub(crate) fn group(operation: Operation) -> &'static str {
    match (operation, operation.name().split_once('/')) {
        (Operation::Sweep | Operation::Health, _) => "deployment",
        (
            Operation::Lineage
            | Operation::Retention
            | Operation::SetRetention
            | Operation::ApplyRetention
            | Operation::Usage,
            _,
        ) => "retention",
        (Operation::Exec, _) | (_, Some(("commands", _))) => "commands",
        (_, Some(("workspaces", _))) => "workspaces",
        (_, Some(("checkpoints", _))) => "checkpoints",
        (_, Some(("files", _))) => "files",
        (_, Some(("tokens", _))) => "tokens",
        (_, Some(_)) => "tools",
        (_, None) => "snapshots",
    }
}

/// Decodes the options of an operation. An error of the options names the page that describes them.
pub(crate) fn decode_request(operation: Operation, options: &Value) -> Result<Request> {
    Request::decode(operation, options).map_err(|error| name_page(error, operation))
}

/// Adds the page about an operation to an error of its options.
pub(crate) fn name_page(error: Error, operation: Operation) -> Error {
    if error.code() != Code::InvalidArgument {
        return error;
    }
    let anchor = operation.name().replace('/', "-");
    let page = format!("/docs/{}#v1-{anchor} describes the options.", group(operation));
    let remediation = format!("{} {page}", error.remediation());
    error.with_remediation(&remediation)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn error_of_options_names_their_page() {
        let error = decode_request(Operation::GetOrCreateWorkspace, &json!({ "name": "a", "idle": 5 })).unwrap_err();
        assert!(error.remediation().starts_with("The options are `name`, "), "{}", error.remediation());
        let page = " /docs/workspaces#v1-workspaces-getOrCreate describes the options.";
        assert!(error.remediation().ends_with(page), "{}", error.remediation());
    }

    #[test]
    fn error_of_a_misspelled_or_missing_option_says_what_to_pass() {
        let remediation =
            |operation, options| decode_request(operation, &options).unwrap_err().remediation().to_owned();
        let misspelled = remediation(Operation::Snapshot, json!({ "sandboxId": "a", "labl": "b" }));
        assert!(misspelled.starts_with("Did you mean `label`? /docs/snapshots#v1-snapshot "), "{misspelled}");
        let missing = remediation(Operation::CreateWorkspace, json!({}));
        assert!(missing.starts_with("Pass `name`. /docs/workspaces#v1-workspaces-create "), "{missing}");
        let untargeted = remediation(Operation::Snapshot, json!({}));
        assert!(untargeted.contains("or the `sandboxId` of a sandbox. /docs/snapshots#v1-snapshot "), "{untargeted}");
    }

    #[test]
    fn error_of_another_code_keeps_its_remediation() {
        let error = Error::bearer_token_missing();
        assert_eq!(name_page(error.clone(), Operation::Exec), error);
    }
}

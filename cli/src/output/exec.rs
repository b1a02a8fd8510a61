//! The text output of commands that ran. `exec` prints the outputs of the command itself, except in JSON mode.

use sandbox_snapshotter_client::model::Timestamp;
use sandbox_snapshotter_client::model::exec::ExecResult;

use super::Show;

impl Show for ExecResult {
    fn ids(&self) -> Vec<String> {
        vec![self.sandbox_id.to_string()]
    }

    fn text(&self, _: Timestamp) -> String {
        self.stdout.clone()
    }
}

//! The text output of `revive`.

use sandbox_snapshotter_client::model::Timestamp;
use sandbox_snapshotter_client::model::revive::RevivedSandbox;

use super::Show;
use super::loss::possible_loss;
use super::table::details;
use super::workspaces::{files, problem_remediation, rescue};

impl Show for RevivedSandbox {
    fn ids(&self) -> Vec<String> {
        vec![self.sandbox_id.to_string()]
    }

    fn text(&self, _: Timestamp) -> String {
        let problem = self.problem.as_ref();
        details([
            ("sandbox", self.sandbox_id.to_string()),
            (
                "files",
                problem.map_or_else(|| files(self.how, self.restored_from.as_ref()), |problem| problem.message.clone()),
            ),
            ("", problem.map_or_else(String::new, problem_remediation)),
            ("may be lost", possible_loss(self.may_have_lost, None, None)),
            ("rescue snapshot", rescue(self.rescue_snapshot_id.as_ref())),
            ("stale", self.stale.join("; ")),
        ])
    }
}

//! The output of grants.

use sandbox_snapshotter_client::model::Timestamp;
use sandbox_snapshotter_client::model::tool::ToolGrant;

use super::Show;
use super::render::exact_time;
use super::table::details;

impl Show for ToolGrant {
    fn ids(&self) -> Vec<String> {
        vec![self.token.clone()]
    }

    fn text(&self, now: Timestamp) -> String {
        details([("token", self.token.clone()), ("expires", exact_time(self.expires_at, now))])
    }
}

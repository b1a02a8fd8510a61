//! The text output of background commands.

use sandbox_snapshotter_client::model::Timestamp;
use sandbox_snapshotter_client::model::background::{
    BackgroundCommand, CommandDescription, CommandList, CommandOutput, CommandState,
};

use super::Show;
use super::render::{exact_time, relative_time, size};
use super::table::{details, table};

impl Show for CommandList {
    fn ids(&self) -> Vec<String> {
        self.commands.iter().map(|command| command.command_id.to_string()).collect()
    }

    fn text(&self, now: Timestamp) -> String {
        if self.commands.is_empty() {
            return "There are no background commands.\n".to_owned();
        }
        let row = |own: &BackgroundCommand| {
            let (id, started) = (own.command_id.to_string(), relative_time(own.started_at, now));
            [id, state(own), started, size(own.stdout_bytes + own.stderr_bytes), one_line(&own.command)]
        };
        table(["ID", "STATE", "STARTED", "OUTPUT", "COMMAND"], self.commands.iter().map(row))
    }
}

impl Show for CommandDescription {
    fn ids(&self) -> Vec<String> {
        vec![self.command.command_id.to_string()]
    }

    fn text(&self, now: Timestamp) -> String {
        let own = &self.command;
        details([
            ("id", own.command_id.to_string()),
            ("sandbox", self.sandbox_id.to_string()),
            ("command", one_line(&own.command)),
            ("state", state(own)),
            ("started", exact_time(own.started_at, now)),
            ("ended", own.ended_at.map(|time| exact_time(time, now)).unwrap_or_default()),
        ])
    }
}

impl Show for CommandOutput {
    fn ids(&self) -> Vec<String> {
        self.description.ids()
    }

    fn text(&self, _: Timestamp) -> String {
        self.content.clone()
    }
}

/// Returns the state, with the exit code of a command that has ended.
fn state(command: &BackgroundCommand) -> String {
    let state = match command.state {
        CommandState::Running => "running",
        CommandState::Exited => "exited",
        CommandState::Killed if command.timed_out => "timed out",
        CommandState::Killed => "killed",
    };
    command.exit_code.map_or_else(|| state.to_owned(), |code| format!("{state} ({code})"))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn list_shows_a_line_for_each_command() {
        let time = "2026-11-20T05:00:00.000Z";
        let list: CommandList = serde_json::from_value(json!({ "sandboxId": "box", "commands": [
            { "commandId": "c2", "command": "npm run\n  dev", "state": "running", "startedAt": time,
              "stdoutBytes": 5, "stderrBytes": 6, "truncated": false },
            { "commandId": "c1", "command": "sleep 9", "state": "killed", "exitCode": 124, "timedOut": true,
              "startedAt": time, "endedAt": time, "stdoutBytes": 0, "stderrBytes": 0, "truncated": false },
        ] }))
        .unwrap();
        let now = Timestamp::try_from("2026-11-20T06:00:00.000Z".to_owned()).unwrap();
        assert_eq!(
            list.text(now),
            "ID  STATE            STARTED  OUTPUT  COMMAND\n\
             c2  running          1 h ago  11 B    npm run dev\n\
             c1  timed out (124)  1 h ago  0 B     sleep 9\n"
        );
    }
}

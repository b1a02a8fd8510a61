//! The sandboxes, by their Durable Object stubs.
//!
//! What `getSandbox` of the SDK does for an id, done here: the stub by name, and `configure` with the name.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use worker::ObjectNamespace;

use super::stub;
use super::thrown::failure;
use super::value::from_js;
use crate::model::{
    self, BackupHandle, BackupOptions, Directory, Failure, Place, Probe, SandboxId, SandboxState, Status,
};

use crate::ports::Sandboxes;

/// The SDK's session id for commands outside of any session: they wait for no other command, and leave the
/// sandbox's sessions as they are.
const NO_SESSION: &str = "__DISABLE_SESSION__";

/// How often the clock of `/proc/1/stat` ticks in a second (`USER_HZ`), on every processor that containers run on.
const TICKS: f64 = 100.0;

/// How long a command of ours may take, in milliseconds.
const COMMAND_MILLIS: u32 = 10_000;

/// The note that a container took the place of another one unasked. Outside of every directory that can be captured.
const NOTE: &str = "/run/sandbox-snapshotter.took-place";

/// The sandboxes of a Durable Object namespace.
pub struct Stubs {
    namespace: ObjectNamespace,
}

impl Stubs {
    /// The sandboxes in `namespace`.
    pub fn new(namespace: ObjectNamespace) -> Self {
        Self { namespace }
    }

    /// Calls a method on a fresh stub, and decodes its answer.
    async fn call<T: DeserializeOwned>(&self, id: &SandboxId, method: &str, arguments: &[Value]) -> Result<T, Failure> {
        let answer = stub::call(&self.namespace, id.as_str(), method, &stub::list(arguments)?).await?;
        let answer = from_js(&answer).map_err(|error| failure(&error))?;
        model::json::read(&answer).map_err(|error| Failure::unexpected(method, error))
    }
}

impl Stubs {
    /// Runs a command outside of any session, and answers what it printed.
    async fn run(&self, id: &SandboxId, command: &str) -> Result<String, Failure> {
        #[derive(Deserialize)]
        struct Output {
            stdout: String,
        }
        let options = json!({ "origin": "internal", "timeout": COMMAND_MILLIS });
        let arguments = [json!(command), json!(NO_SESSION), options];
        self.call(id, "execWithSessionToken", &arguments).await.map(|output: Output| output.stdout)
    }
}

impl Sandboxes for Stubs {
    async fn state(&self, id: &SandboxId) -> Result<SandboxState, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct State {
            status: String,
            last_change: f64,
        }
        let state: State = self.call(id, "getState", &[]).await?;
        let status = match state.status.as_str() {
            "healthy" => Status::Healthy,
            "running" => Status::Starting,
            "stopping" | "stopped" | "stopped_with_code" => Status::Down,
            other => return Err(Failure::unexpected("getState", format!("the status {other:?}"))),
        };
        Ok(SandboxState { status, last_change: state.last_change })
    }

    async fn name(&self, id: &SandboxId) -> Result<(), Failure> {
        let configuration = json!({ "sandboxName": { "name": id, "normalizeId": false } });
        self.call::<Option<Map<String, Value>>>(id, "configure", &[configuration]).await.map(drop)
    }

    async fn probe(&self, id: &SandboxId, dir: &Directory) -> Result<Probe, Failure> {
        let stdout = self.run(id, &probe_command(dir)).await?;
        read_probe(&stdout).ok_or_else(|| Failure::unexpected("the probe", format!("{stdout:?}")))
    }

    async fn note_took_place(&self, id: &SandboxId, note: bool) -> Result<(), Failure> {
        let command = if note { format!(": >{NOTE} && echo done") } else { format!("rm -f {NOTE} && echo done") };
        match self.run(id, &command).await?.trim() {
            "done" => Ok(()),
            _ => Err(Failure::unexpected("the sandbox", format!("{NOTE} can't be changed"))),
        }
    }

    async fn create_backup(&self, id: &SandboxId, options: &BackupOptions) -> Result<BackupHandle, Failure> {
        let options = model::json::write(options).map_err(|error| Failure::unexpected("createBackup", error))?;
        let handle: Map<String, Value> = self.call(id, "createBackup", &[options]).await?;
        BackupHandle::try_from(handle).map_err(|error| Failure::unexpected("createBackup", error))
    }

    async fn restore_backup(&self, id: &SandboxId, backup: &BackupHandle) -> Result<(), Failure> {
        #[derive(Deserialize)]
        struct Outcome {
            success: bool,
        }
        let handle = model::json::write(backup).map_err(|error| Failure::unexpected("restoreBackup", error))?;
        match self.call(id, "restoreBackup", &[handle]).await? {
            Outcome { success: true } => Ok(()),
            Outcome { success: false } => Err(Failure::new("Error", "restoreBackup answered success: false")),
        }
    }

    async fn destroy(&self, id: &SandboxId) -> Result<(), Failure> {
        self.call::<Option<Map<String, Value>>>(id, "destroy", &[]).await.map(drop)
    }
}

/// Prints `<uptime of the system in s> <start of PID 1 in ticks> <what dir is> <1 if the note is there>`. With the
/// shell's own means where that can be: every program that is started takes a millisecond of each snapshot.
fn probe_command(dir: &Directory) -> String {
    let dir = dir.as_str().replace('\'', r"'\''");
    format!(
        r#"d='{dir}'; read -r up _ </proc/uptime; read -r stat </proc/1/stat; set -- ${{stat##*) }}; start=${{20}}
if [ -e {NOTE} ]; then note=1; else note=0; fi
if [ ! -e "$d" ] && [ ! -L "$d" ]; then place=missing
elif [ ! -d "$d" ]; then if [ -L "$d" ]; then place=link; else place=other; fi
elif ! cd -L -- "$d"; then place=other
else
  named=$PWD; cd -P .
  if [ "$named" != "$PWD" ]; then place=link
  elif [ -n "$(find . -maxdepth 0 -empty)" ]; then place=empty
  else place=full; fi
fi
echo "$up $start $place $note""#
    )
}

fn read_probe(stdout: &str) -> Option<Probe> {
    let fields: Vec<&str> = stdout.split_whitespace().collect();
    let [uptime, start, place, note] = fields.as_slice() else { return None };
    let number = |text: &str| text.parse::<f64>().ok();
    #[allow(clippy::cast_possible_truncation)] // It saturates.
    let age_millis = ((number(uptime)? - number(start)? / TICKS) * 1000.0) as i64;
    let place = match *place {
        "full" => Place::Full,
        "empty" => Place::Empty,
        "missing" => Place::Missing,
        "link" => Place::Link,
        "other" => Place::NotDirectory,
        _ => return None,
    };
    Some(Probe { age_millis, place, took_place: *note == "1" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_tells_the_age_of_the_container_from_its_first_process() {
        let probe = Probe { age_millis: 100_500, place: Place::Full, took_place: false };
        assert_eq!(read_probe("1000.50 90000 full 0\n"), Some(probe));
    }

    #[test]
    fn a_probe_that_prints_something_else_tells_nothing() {
        for stdout in ["", "1000.50", "1000.50 x full 0", "1000.50 90000 odd 0", "sh: not found"] {
            assert_eq!(read_probe(stdout), None, "{stdout:?}");
        }
    }

    #[test]
    fn a_directory_with_quotes_stays_one_word_of_the_probe() {
        let command = probe_command(&Directory::parse("/workspace/it's $(here)").unwrap());
        assert!(command.contains(r"'/workspace/it'\''s $(here)'"), "{command}");
    }
}

//! `doctor`: checks the settings, the connection, the token and the deployment.
//!
//! The checks continue after a failure where possible. The token is sent only to a server that responded as a
//! snapshotter.
//!
//! - [`workspaces`]: the checks of the workspaces

mod workspaces;

use sandbox_snapshotter_client::model::{Timestamp, json as model_json};
use sandbox_snapshotter_client::{HttpResponse, TransportError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::Global;
use crate::args::maintenance::Doctor;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::interrupt::{self, Effect};
use crate::output::answer::Answer;
use crate::output::health::{Check, Report};
use crate::output::render::{lines, rounded_duration};
use crate::output::spinner::Spinner;
use crate::output::{Output, as_called, now, print, print_json, print_warning};
use crate::settings::{Address, Settings, Sources};
use crate::transport::Server;

/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The maximum difference of the clocks, in milliseconds.
const MAX_CLOCK_SKEW_MILLIS: u64 = 60_000;

/// The fields of a health answer that all versions of the server have.
#[derive(Deserialize)]
struct Health {
    ok: bool,
    version: String,
    time: Timestamp,
    checks: Vec<Check>,
}

/// Runs all checks, and prints their results.
pub fn run(flags: &Global, command: &Doctor, output: Output) -> Result<Exit> {
    let report = {
        let _tracker = interrupt::track_call(Effect::Reads, None);
        let _spinner = Spinner::start("Checking…".to_owned());
        Report::of(examine(flags, command))
    };
    if output.json {
        print_json(&json!(report))?;
    } else if output.quiet {
        let failed = report.checks.iter().filter(|check| check.ok == Some(false));
        print(&lines(failed.map(|check| check.name.as_str())))?;
    } else {
        print(&as_called(report.text()))?;
    }
    Ok(if report.ok { Exit::Done } else { Exit::CheckFailed })
}

fn examine(flags: &Global, command: &Doctor) -> Vec<Check> {
    let environment = |name: &str| std::env::var_os(name);
    let sources = Sources::read(flags, &environment, &mut |text| print_warning(&text));
    match sources.and_then(|sources| Ok((sources.address()?, sources))) {
        Ok((address, sources)) => examine_server(&sources, &address, command),
        Err(failure) => vec![Check::from_failure("settings", &failure)],
    }
}

fn examine_server(sources: &Sources, address: &Address, command: &Doctor) -> Vec<Check> {
    let timeout = sources.timeout();
    let server = Server::of(Settings { address: address.clone(), token: None, timeout });
    let sent_at = now();
    let reply = match server.get("/healthz") {
        Ok(reply) => reply,
        Err(error) => return vec![unreachable_check(address, error)],
    };
    let mut checks = vec![Check::passed("address", format!("{address} responded."))];
    let Some(health) = parse_health(&reply) else {
        checks.push(foreign_server_check(&reply));
        return checks;
    };
    checks.push(Check::passed("server", "The server is a snapshotter."));
    checks.push(version_check(&health.version));
    // The server read its clock between the request and the response.
    let half = now().millis_since(sent_at) / 2;
    checks.push(clock_check(health.time.millis_since(sent_at.plus_millis(half))));
    let with_token = examine_token(sources, address);
    let (health, of_workspaces) = match with_token {
        Ok((server, health)) => {
            checks.push(Check::passed("token", "The server accepted the token."));
            (health, workspaces::check(&server, command.tenant.as_deref()))
        }
        // Without a valid token, the checks are those of the public health answer.
        Err(failed) => {
            checks.push(failed);
            (health, Vec::new())
        }
    };
    checks.extend(health_check(&health));
    checks.extend(health.checks);
    checks.extend(of_workspaces);
    checks
}

/// Returns the server with the token and its health answer, or the failed check of the token.
fn examine_token(sources: &Sources, address: &Address) -> Result<(Server, Health), Check> {
    let failed = |failure: Failure| Check::from_failure("token", &failure);
    let token = sources.token(address).map_err(failed)?.ok_or_else(|| {
        let remediation =
            "Pass `--token-file`, set SNAPSHOTTER_TOKEN, or add `token = \"…\"` to the configuration file.";
        Check::failed("token", "No token is set.", remediation)
    })?;
    let settings = Settings { address: address.clone(), token: Some(token), timeout: sources.timeout() };
    let server = Server::of(settings);
    let answer = server.call("health", json!({})).and_then(Answer::of);
    let health = answer.map(|answer| answer.value).map_err(|failure| token_check(&failure))?;
    Ok((server, health))
}

/// Returns the failed check of a token that the server rejected, or that could not be verified.
fn token_check(failure: &Failure) -> Check {
    let check = Check::from_failure("token", failure);
    if matches!(failure.exit(), Exit::Denied | Exit::Invalid) {
        return check;
    }
    let remediation =
        "The token could not be verified. Run the command again. If the error persists, check the Worker's log.";
    Check { remediation: Some(remediation.to_owned()), ..check }
}

/// Returns a failed check if the server reports a failure but no failed check.
fn health_check(health: &Health) -> Option<Check> {
    let is_unexplained = !health.ok && health.checks.iter().all(|check| check.ok != Some(false));
    let detail = "The server reports a failure, but no failed check.";
    is_unexplained.then(|| Check::failed("health", detail, "Check the Worker's log."))
}

/// Parses a health answer. Returns `None` if it is not from a snapshotter.
fn parse_health(reply: &HttpResponse) -> Option<Health> {
    model_json::from_str(&reply.body).ok().filter(|_| matches!(reply.status, 200 | 503))
}

/// Returns the failed check of a server that is not a snapshotter, or too old to have this health answer.
fn foreign_server_check(reply: &HttpResponse) -> Check {
    let body: Value = serde_json::from_str(&reply.body).unwrap_or_default();
    if body.get("correlationId").is_some() && body.get("remediation").is_some() {
        let detail = format!("The server is a snapshotter older than version {VERSION}.");
        return Check::failed("server", detail, "Deploy the server in the version of this program.");
    }
    let detail = format!("The server responded with the status {} and is not the snapshotter.", reply.status);
    Check::failed("server", detail, "Pass the address of the Worker, without `/v1`. The token was not sent.")
}

fn unreachable_check(address: &Address, error: TransportError) -> Check {
    let (TransportError::Unreachable(why) | TransportError::NoAnswer(why)) = error else {
        return Check::failed("address", "The call was aborted.", "Run the command again.");
    };
    let remediation = "Check the address, and that the server is running.";
    Check::failed("address", format!("{address} does not respond: {why}."), remediation)
}

fn version_check(server: &str) -> Check {
    if server == VERSION {
        return Check::passed("version", format!("The server and this program have the version {VERSION}."));
    }
    let detail = format!("The server has the version {server}, this program has {VERSION}.");
    Check::undetermined("version", detail, "If one does not understand the other, install the same version of both.")
}

/// Compares the clocks. The server's clock is `ahead` milliseconds ahead of this machine's.
fn clock_check(ahead: i64) -> Check {
    let difference = rounded_duration(ahead.unsigned_abs() / 1000);
    if ahead.unsigned_abs() <= MAX_CLOCK_SKEW_MILLIS {
        return Check::passed("clock", format!("The clocks differ by {difference}."));
    }
    let detail = format!("This clock is {difference} {} the server's.", if ahead > 0 { "behind" } else { "ahead of" });
    Check::failed("clock", detail, "Set this machine's clock: the printed ages and expirations are wrong.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(status: u16, body: &str) -> HttpResponse {
        HttpResponse { status, body: body.to_owned() }
    }

    #[test]
    fn a_health_answer_of_a_failing_snapshotter_is_parsed() {
        let body = r#"{"ok":false,"version":"9.0.0","time":"2026-11-20T05:00:00.000Z","checks":[{"name":"later","detail":"x"}]}"#;
        assert!(parse_health(&reply(503, body)).is_some_and(|health| health.version == "9.0.0"));
        assert!(parse_health(&reply(404, body)).is_none());
        assert!(parse_health(&reply(200, r#"{"ok":true}"#)).is_none());
    }

    #[test]
    fn a_reported_failure_without_a_failed_check_is_a_failed_check() {
        let health = |ok, checks| Health { ok, version: VERSION.to_owned(), time: now(), checks };
        assert_eq!(health_check(&health(true, vec![])), None);
        assert_eq!(health_check(&health(false, vec![])).and_then(|check| check.ok), Some(false));
        assert_eq!(health_check(&health(false, vec![Check::failed("bucket", "is missing", "")])), None);
    }

    #[test]
    fn a_token_that_could_not_be_verified_is_not_reported_as_wrong() {
        let unverified = Failure::local(Exit::Failed, "INTERNAL", "Something failed.", "Pass another token.");
        assert!(token_check(&unverified).remediation.unwrap().contains("could not be verified"));
        let refused = Failure::local(Exit::Denied, "UNAUTHORIZED", "It is wrong.", "Pass another token.");
        assert_eq!(token_check(&refused).remediation.as_deref(), Some("Pass another token."));
    }

    #[test]
    fn an_older_snapshotter_is_distinguished_from_another_server() {
        let older =
            foreign_server_check(&reply(404, r#"{"code":"ROUTE_NOT_FOUND","remediation":"x","correlationId":"y"}"#));
        assert!(older.detail.contains("older than"));
        for body in ["<html>", "", "{}"] {
            assert!(foreign_server_check(&reply(200, body)).detail.contains("is not the snapshotter"));
        }
    }

    #[test]
    fn clocks_may_differ_by_one_minute() {
        for ahead in [0, 60_000, -60_000] {
            assert_eq!(clock_check(ahead).ok, Some(true), "{ahead}");
        }
        assert_eq!(clock_check(61_000).detail, "This clock is 1 min behind the server's.");
        assert_eq!(clock_check(-7_200_000).detail, "This clock is 2 h ahead of the server's.");
    }

    #[test]
    fn a_different_version_is_reported_without_a_failure() {
        assert_eq!((version_check(VERSION).ok, version_check("99.0.0").ok), (Some(true), None));
    }
}

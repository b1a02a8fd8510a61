//! `doctor`: what is wrong, from here to the bucket.
//!
//! It goes from one check to the next as long as that makes sense: the token is sent to nobody but a snapshotter.

use sandbox_snapshotter::client::{HttpResponse, TransportError};
use sandbox_snapshotter::model::{Timestamp, json as model_json};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::Global;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::interrupt::{self, Effect};
use crate::output::answer::Answer;
use crate::output::health::{Check, Report};
use crate::output::render::{lines, rounded_duration};
use crate::output::spinner::Spinner;
use crate::output::{Output, now, print, print_json, print_warning};
use crate::settings::{Address, Settings, Sources};
use crate::transport::Server;

/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How far the clocks may be apart, in milliseconds.
const MAX_CLOCK_SKEW_MILLIS: u64 = 60_000;

/// The health of a deployment, as far as every version tells it alike.
#[derive(Deserialize)]
struct Health {
    ok: bool,
    version: String,
    time: Timestamp,
    checks: Vec<Check>,
}

/// Checks everything, and prints what was found.
pub fn run(flags: &Global, output: Output) -> Result<Exit> {
    let report = {
        let _noted = interrupt::track_call(Effect::Reads, None);
        let _spinner = Spinner::start("Looking…".to_owned());
        Report::of(examine(flags))
    };
    if output.json {
        print_json(&json!(report))?;
    } else if output.quiet {
        let wrong = report.checks.iter().filter(|check| check.ok == Some(false));
        print(&lines(wrong.map(|check| check.name.as_str())))?;
    } else {
        print(&report.text())?;
    }
    Ok(if report.ok { Exit::Done } else { Exit::CheckFailed })
}

fn examine(flags: &Global) -> Vec<Check> {
    let environment = |name: &str| std::env::var_os(name);
    let sources = Sources::read(flags, &environment, &mut |text| print_warning(&text));
    match sources.and_then(|sources| Ok((sources.address()?, sources))) {
        Ok((address, sources)) => examine_server(&sources, &address),
        Err(failure) => vec![Check::from_failure("settings", &failure)],
    }
}

fn examine_server(sources: &Sources, address: &Address) -> Vec<Check> {
    let timeout = sources.timeout();
    let server = Server::of(Settings { address: address.clone(), token: None, timeout });
    let asked_at = now();
    let reply = match server.get("/healthz") {
        Ok(reply) => reply,
        Err(loss) => return vec![unreachable_check(address, loss)],
    };
    let mut checks = vec![Check::right("address", format!("{address} answers."))];
    let Some(told) = parse_health(&reply) else {
        checks.push(foreign_server_check(&reply));
        return checks;
    };
    checks.push(Check::right("server", "It is the snapshotter."));
    checks.push(version_check(&told.version));
    // The answer was written somewhere between the two.
    let half = now().millis_since(asked_at) / 2;
    checks.push(clock_check(told.time.millis_since(asked_at.plus_millis(half))));
    let of_server = examine_token(sources, address).inspect(|_| checks.push(Check::right("token", "It is accepted.")));
    // Without the token, what the configuration alone says.
    let told = of_server.unwrap_or_else(|failed| {
        checks.push(failed);
        told
    });
    checks.extend(health_check(&told));
    checks.extend(told.checks);
    checks
}

/// The health that only the token shows.
fn examine_token(sources: &Sources, address: &Address) -> Result<Health, Check> {
    let failed = |failure: Failure| Check::from_failure("token", &failure);
    let token = sources.token(address).map_err(failed)?.ok_or_else(|| {
        let remediation = "Give --token-file, set SNAPSHOTTER_TOKEN, or write it into the file of settings.";
        Check::wrong("token", "None is given.", remediation)
    })?;
    let settings = Settings { address: address.clone(), token: Some(token), timeout: sources.timeout() };
    let server = Server::of(settings);
    let answer = server.call("health", json!({})).and_then(Answer::of);
    answer.map(|answer| answer.value).map_err(|failure| token_check(&failure))
}

/// That the token could not be tried, or is not accepted.
fn token_check(failure: &Failure) -> Check {
    let check = Check::from_failure("token", failure);
    if matches!(failure.exit(), Exit::Denied | Exit::Invalid) {
        return check;
    }
    let remediation = "It is not known whether it is right. Run this again; if it stays, look into the Worker's log.";
    Check { remediation: Some(remediation.to_owned()), ..check }
}

/// A server that says it is not well names what is wrong, and else this does.
fn health_check(told: &Health) -> Option<Check> {
    let is_silent = !told.ok && told.checks.iter().all(|check| check.ok != Some(false));
    is_silent.then(|| Check::wrong("health", "The server says that it is not well, and not why.", "Look into its log."))
}

/// The health in an answer, if a snapshotter gave it.
fn parse_health(reply: &HttpResponse) -> Option<Health> {
    model_json::from_str(&reply.body).ok().filter(|_| matches!(reply.status, 200 | 503))
}

/// That somebody else answered, or a snapshotter that is older than this check.
fn foreign_server_check(reply: &HttpResponse) -> Check {
    let body: Value = serde_json::from_str(&reply.body).unwrap_or_default();
    if body.get("correlationId").is_some() && body.get("remediation").is_some() {
        let remediation = "Deploy the server in the version of this program.";
        return Check::wrong("server", format!("It is a snapshotter older than {VERSION}."), remediation);
    }
    let detail = format!("What answers, with the status {}, is not the snapshotter.", reply.status);
    Check::wrong("server", detail, "Give the address of the Worker, without `/v1`. The token was not sent.")
}

fn unreachable_check(address: &Address, loss: TransportError) -> Check {
    let (TransportError::Unreachable(why) | TransportError::NoAnswer(why)) = loss else {
        return Check::wrong("address", "The call was given up.", "Run it again.");
    };
    let remediation = "Check the address, and that the server is up.";
    Check::wrong("address", format!("{address} does not answer: {why}."), remediation)
}

fn version_check(server: &str) -> Check {
    if server == VERSION {
        return Check::right("version", format!("The server and this program are {VERSION}."));
    }
    let detail = format!("The server is {server}, this program is {VERSION}.");
    Check::undetermined("version", detail, "Where one does not understand the other, install the same version of both.")
}

/// `ahead` is by how many milliseconds the server's clock is.
fn clock_check(ahead: i64) -> Check {
    let apart = rounded_duration(ahead.unsigned_abs() / 1000);
    if ahead.unsigned_abs() <= MAX_CLOCK_SKEW_MILLIS {
        return Check::right("clock", format!("It differs from the server's by {apart}."));
    }
    let detail = format!("It is {apart} {} the server's.", if ahead > 0 { "behind" } else { "ahead of" });
    Check::wrong("clock", detail, "Set this machine's clock: ages and expirations are told wrong.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(status: u16, body: &str) -> HttpResponse {
        HttpResponse { status, body: body.to_owned() }
    }

    #[test]
    fn a_sick_snapshotter_is_one_too() {
        let body = r#"{"ok":false,"version":"9.0.0","time":"2026-11-20T05:00:00.000Z","checks":[{"name":"later","detail":"x"}]}"#;
        assert!(parse_health(&reply(503, body)).is_some_and(|health| health.version == "9.0.0"));
        assert!(parse_health(&reply(404, body)).is_none());
        assert!(parse_health(&reply(200, r#"{"ok":true}"#)).is_none());
    }

    #[test]
    fn a_server_that_is_not_well_is_not_said_to_be() {
        let told = |ok, checks| Health { ok, version: VERSION.to_owned(), time: now(), checks };
        assert_eq!(health_check(&told(true, vec![])), None);
        assert_eq!(health_check(&told(false, vec![])).and_then(|check| check.ok), Some(false));
        assert_eq!(health_check(&told(false, vec![Check::wrong("bucket", "is gone", "")])), None);
    }

    #[test]
    fn a_token_that_could_not_be_tried_is_not_called_wrong() {
        let failed = Failure::local(Exit::Failed, "INTERNAL", "Something failed.", "Give another token.");
        assert!(token_check(&failed).remediation.unwrap().contains("not known"));
        let refused = Failure::local(Exit::Denied, "UNAUTHORIZED", "It is wrong.", "Give another token.");
        assert_eq!(token_check(&refused).remediation.as_deref(), Some("Give another token."));
    }

    #[test]
    fn a_stranger_is_told_from_an_older_snapshotter() {
        let older =
            foreign_server_check(&reply(404, r#"{"code":"ROUTE_NOT_FOUND","remediation":"x","correlationId":"y"}"#));
        assert!(older.detail.contains("older than"));
        for body in ["<html>", "", "{}"] {
            assert!(foreign_server_check(&reply(200, body)).detail.contains("is not the snapshotter"));
        }
    }

    #[test]
    fn clocks_may_differ_by_a_minute() {
        for ahead in [0, 60_000, -60_000] {
            assert_eq!(clock_check(ahead).ok, Some(true), "{ahead}");
        }
        assert_eq!(clock_check(61_000).detail, "It is 1 min behind the server's.");
        assert_eq!(clock_check(-7_200_000).detail, "It is 2 h ahead of the server's.");
    }

    #[test]
    fn another_version_is_told_and_not_judged() {
        assert_eq!((version_check(VERSION).ok, version_check("99.0.0").ok), (Some(true), None));
    }
}

//! The health of a deployment, as computed from its checks.

use sandbox_snapshotter::model::backup_credentials::{PassesThrough, backup_credentials};
use sandbox_snapshotter::model::health::{Health, HealthCheck, HealthComponent};
use sandbox_snapshotter::model::{Code, Timestamp};

const ALL: [&str; 4] = ["BACKUP_BUCKET_NAME", "R2_ACCESS_KEY_ID", "R2_SECRET_ACCESS_KEY", "CLOUDFLARE_ACCOUNT_ID"];

fn credentials(set: &[&str]) -> HealthCheck {
    backup_credentials(None, |name| set.contains(&name).then(|| "a value".to_owned()))
}

/// Checks a deployment with all credentials and this endpoint.
fn with_endpoint(local_bucket: bool, endpoint: &str) -> HealthCheck {
    let value = |name: &str| if name == "BACKUP_BUCKET_ENDPOINT" { endpoint } else { "a value" };
    backup_credentials(local_bucket.then_some(PassesThrough::LocalBucket), |name| Some(value(name).to_owned()))
}

fn health_of(checks: &[HealthCheck]) -> Health {
    Health::new(env!("CARGO_PKG_VERSION"), Timestamp::from_millis(0), checks.to_vec())
}

#[test]
fn one_failed_check_makes_the_deployment_unhealthy() {
    let right = HealthCheck::healthy(HealthComponent::Bucket, "It is bound.");
    let open = HealthCheck::undetermined(HealthComponent::Metrics, "It is not bound.", "Bind it.");
    let wrong =
        HealthCheck::unhealthy(HealthComponent::Sandboxes, Code::SandboxBindingMissing, "It is not bound.", "Bind it.");
    assert!(health_of(&[right.clone(), open.clone()]).ok, "an undetermined check is not a failure");
    assert!(!health_of(&[right, open, wrong]).ok);
}

#[test]
fn all_credentials_together_are_healthy() {
    assert_eq!(credentials(&ALL).ok, Some(true));
}

#[test]
fn account_id_is_read_from_either_name() {
    let [bucket, key, secret, _] = ALL;
    assert_eq!(credentials(&[bucket, key, secret, "CLOUDFLARE_R2_ACCOUNT_ID"]).ok, Some(true));
}

#[test]
fn missing_credentials_are_named_if_a_secret_is_set() {
    for missing in ALL {
        let set: Vec<_> = ALL.into_iter().filter(|name| *name != missing).collect();
        let check = credentials(&set);
        assert_eq!((check.ok, check.code), (Some(false), Some(Code::BackupConfigInvalid)), "{missing}");
        let named: Vec<_> = ALL.into_iter().filter(|name| check.detail.contains(name)).collect();
        assert_eq!(named, [missing], "{}", check.detail);
    }
}

#[test]
fn credentials_are_undetermined_without_any_secret() {
    assert_eq!(credentials(&[]).ok, None);
    assert_eq!(credentials(&["BACKUP_BUCKET_NAME", "CLOUDFLARE_ACCOUNT_ID"]).ok, None);
}

#[test]
fn local_bucket_needs_no_credentials() {
    for why in [PassesThrough::LocalBucket, PassesThrough::Containers] {
        assert_eq!(backup_credentials(Some(why), |_| None).ok, Some(true));
    }
}

#[test]
fn empty_credential_counts_as_missing() {
    let values = [("R2_ACCESS_KEY_ID", "a key"), ("R2_SECRET_ACCESS_KEY", "")];
    let value = |name: &str| values.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned());
    let check = backup_credentials(None, value);
    assert!(check.detail.contains("R2_SECRET_ACCESS_KEY"), "{}", check.detail);
}

#[test]
fn endpoint_must_be_an_https_origin_even_with_a_local_bucket() {
    for endpoint in ["https://account.eu.r2.cloudflarestorage.com", "https://localhost:9000/"] {
        assert_eq!(with_endpoint(false, endpoint).ok, Some(true), "{endpoint}");
    }
    for endpoint in
        ["", "account.eu.r2.cloudflarestorage.com", "http://localhost:9000", "https://r2.dev/b", "https://r2.dev?a"]
    {
        for local_bucket in [false, true] {
            let check = with_endpoint(local_bucket, endpoint);
            assert_eq!((check.ok, check.code), (Some(false), Some(Code::BackupConfigInvalid)), "{endpoint}");
            assert!(endpoint.is_empty() || !check.detail.contains(endpoint), "{}", check.detail);
        }
    }
}

//! Whether a deployment is fit for work, from what is seen of it.

use sandbox_snapshotter::model::health::{Health, HealthCheck, HealthComponent, backup_credentials};
use sandbox_snapshotter::model::{Code, Timestamp};

const ALL: [&str; 4] = ["BACKUP_BUCKET_NAME", "R2_ACCESS_KEY_ID", "R2_SECRET_ACCESS_KEY", "CLOUDFLARE_ACCOUNT_ID"];

fn credentials(set: &[&str]) -> HealthCheck {
    backup_credentials(false, |name| set.contains(&name).then(|| "a value".to_owned()))
}

/// That of a deployment where everything is set, and the endpoint to this.
fn with_endpoint(local_bucket: bool, endpoint: &str) -> HealthCheck {
    let value = |name: &str| if name == "BACKUP_BUCKET_ENDPOINT" { endpoint } else { "a value" };
    backup_credentials(local_bucket, |name| Some(value(name).to_owned()))
}

fn health_of(checks: &[HealthCheck]) -> Health {
    Health::new(Timestamp::from_millis(0), checks.to_vec())
}

#[test]
fn one_part_that_is_wrong_makes_it_unfit() {
    let right = HealthCheck::healthy(HealthComponent::Bucket, "It is bound.");
    let open = HealthCheck::undetermined(HealthComponent::Metrics, "It is not bound.", "Bind it.");
    let wrong =
        HealthCheck::unhealthy(HealthComponent::Sandboxes, Code::SandboxBindingMissing, "It is not bound.", "Bind it.");
    assert!(health_of(&[right.clone(), open.clone()]).ok, "what need not be there is no fault");
    assert!(!health_of(&[right, open, wrong]).ok);
}

#[test]
fn all_credentials_together_are_right() {
    assert_eq!(credentials(&ALL).ok, Some(true));
}

#[test]
fn the_account_may_have_either_name() {
    let [bucket, key, secret, _] = ALL;
    assert_eq!(credentials(&[bucket, key, secret, "CLOUDFLARE_R2_ACCOUNT_ID"]).ok, Some(true));
}

#[test]
fn each_credential_that_is_missing_beside_a_secret_is_named() {
    for missing in ALL {
        let set: Vec<_> = ALL.into_iter().filter(|name| *name != missing).collect();
        let check = credentials(&set);
        assert_eq!((check.ok, check.code), (Some(false), Some(Code::BackupConfigInvalid)), "{missing}");
        let named: Vec<_> = ALL.into_iter().filter(|name| check.detail.contains(name)).collect();
        assert_eq!(named, [missing], "{}", check.detail);
    }
}

#[test]
fn without_any_secret_they_may_belong_to_another_worker() {
    assert_eq!(credentials(&[]).ok, None);
    assert_eq!(credentials(&["BACKUP_BUCKET_NAME", "CLOUDFLARE_ACCOUNT_ID"]).ok, None);
}

#[test]
fn development_needs_none() {
    assert_eq!(backup_credentials(true, |_| None).ok, Some(true));
}

#[test]
fn an_empty_credential_is_missing() {
    let values = [("R2_ACCESS_KEY_ID", "a key"), ("R2_SECRET_ACCESS_KEY", "")];
    let value = |name: &str| values.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned());
    let check = backup_credentials(false, value);
    assert!(check.detail.contains("R2_SECRET_ACCESS_KEY"), "{}", check.detail);
}

#[test]
fn an_endpoint_is_an_https_origin_even_in_development() {
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

//! The origins of web pages that may call `/mcp`.

use sandbox_snapshotter::api::mcp::AllowedOrigins;

const URL: &str = "https://snapshots.example.com/mcp?sandbox=agent-42";

fn allows(list: &str, origin: &str, url: &str) -> bool {
    AllowedOrigins::parse(Some(list)).allows(origin, url)
}

#[test]
fn own_origin_is_allowed() {
    assert!(allows("", "https://snapshots.example.com", URL));
    assert!(allows("", "HTTPS://Snapshots.Example.com", URL));
    assert!(
        AllowedOrigins::parse(None)
            .allows("https://snapshots.example.com:8443", "https://snapshots.example.com:8443/mcp")
    );
}

#[test]
fn other_origins_are_refused() {
    for origin in [
        "https://evil.example.com",
        "http://snapshots.example.com",
        "https://snapshots.example.com:8443",
        "https://snapshots.example.co",
        "https://snapshots.example.com.evil.org",
        "https://",
        "https:",
        "null",
        "",
    ] {
        assert!(!allows("", origin, URL), "{origin:?}");
    }
}

#[test]
fn own_origin_without_tls_is_allowed_on_loopback_only() {
    for host in ["localhost", "localhost:8787", "127.0.0.1", "127.0.0.1:8787", "[::1]", "[::1]:8787"] {
        assert!(allows("", &format!("http://{host}"), &format!("http://{host}/mcp")), "{host}");
    }
    for host in ["evil.example.com", "localhost.evil.org:8787", "127.0.0.1.evil.org", "10.0.0.1:8787", "[::2]:8787"] {
        assert!(!allows("", &format!("http://{host}"), &format!("http://{host}/mcp")), "{host}");
    }
}

#[test]
fn listed_origins_are_allowed() {
    let list = " https://app.example.com/ ,http://localhost:3000,, null";
    for origin in ["https://app.example.com", "https://APP.example.com", "http://localhost:3000", "null"] {
        assert!(allows(list, origin, URL), "{origin}");
    }
    for origin in ["https://example.com", "http://app.example.com", "http://localhost:3001", ""] {
        assert!(!allows(list, origin, URL), "{origin:?}");
    }
}

#[test]
fn wildcard_is_not_supported() {
    assert!(!allows("*", "https://evil.example.com", URL));
}

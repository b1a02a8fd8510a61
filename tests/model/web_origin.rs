//! Web origins.

use sandbox_snapshotter::model::web_origin::is_web_origin;

#[test]
fn origin_with_a_scheme_and_a_host_is_accepted() {
    for origin in [
        "https://app.example.com",
        "HTTPS://App.Example.com/",
        "http://localhost:3000",
        "http://[::1]:8787",
        "chrome-extension://abcdefghijklmnop",
    ] {
        assert!(is_web_origin(origin), "{origin}");
    }
}

#[test]
fn other_texts_are_not_origins() {
    for other in [
        "",
        "*",
        "null",
        "app.example.com",
        "https://",
        "https:///",
        "://app.example.com",
        "https://*.example.com",
        "https://app.example.com/path",
        "https://app.example.com?query",
        "https://app.example.com#part",
        "https://user@app.example.com",
        "https://app.example.com https://other.example.com",
    ] {
        assert!(!is_web_origin(other), "{other}");
    }
}

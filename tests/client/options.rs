//! The client sends every option that an operation accepts.

use sandbox_snapshotter::api::operations::Request;
use sandbox_snapshotter_client::Options;

use super::decoding::decode;
use super::examples::examples;

#[test]
fn every_option_of_every_operation_is_sent() {
    for (operation, example) in examples() {
        let request = decode(operation, &example).unwrap();
        let sent = request.to_json();
        assert_eq!(Request::decode(operation, &sent).unwrap(), request, "{sent}");
        assert!(sent.as_object().unwrap().values().all(|value| !value.is_null()), "{sent}");
    }
}

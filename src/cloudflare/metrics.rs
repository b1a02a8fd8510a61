//! Operations as data points of Workers Analytics Engine.

use js_sys::{Array, Function, Object, Reflect};
use wasm_bindgen::{JsCast, JsValue};
use worker::Env;

/// The name of the binding.
const BINDING: &str = "METRICS";

/// The dataset that is bound as `METRICS`.
pub struct Metrics {
    dataset: JsValue,
    write: Function,
}

/// The data point of one operation. `docs/observability.md` documents the queries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataPoint {
    /// The name of the operation: the index, and `blob1`.
    pub event: String,
    /// `success` or `failure`: `blob2`.
    pub outcome: &'static str,
    /// The code of the error, or empty: `blob3`.
    pub code: String,
    /// The tool that a language model called, or empty: `blob4`.
    pub tool: String,
    /// The duration in milliseconds: `double1`.
    pub duration_millis: f64,
    /// The size of the archive in bytes, or 0: `double2`.
    pub size_bytes: f64,
    /// The number of attempts of the step that took the most attempts: `double3`.
    pub attempts: f64,
}

fn find_binding(env: &Env) -> Option<JsValue> {
    Reflect::get(env, &BINDING.into()).ok().filter(|value| !value.is_undefined() && !value.is_null())
}

impl Metrics {
    /// Returns the dataset; `None` where none is bound.
    pub fn from_env(env: &Env) -> Option<Self> {
        let dataset = find_binding(env).filter(JsValue::is_object)?;
        let method = |name: &str| Reflect::get(&dataset, &name.into()).ok()?.dyn_into::<Function>().ok();
        // The stub of a service has a method of every name, and a dataset does not.
        let write = method("writeDataPoint").filter(|_| method("").is_none())?;
        Some(Self { dataset, write })
    }

    /// Returns whether anything is bound as `METRICS`, a dataset or not.
    pub fn is_bound(env: &Env) -> bool {
        find_binding(env).is_some()
    }

    /// Writes a data point. Ignores failures, so that they do not fail the operation.
    pub fn count(&self, point: &DataPoint) {
        let texts = [&point.event, point.outcome, &point.code, &point.tool].map(JsValue::from);
        let numbers = [point.duration_millis, point.size_bytes, point.attempts].map(JsValue::from);
        let object = Object::new();
        for (name, values) in [
            ("indexes", Array::of1(&point.event.as_str().into())),
            ("blobs", texts.iter().collect()),
            ("doubles", numbers.iter().collect()),
        ] {
            // `Reflect.set` does not fail on a new object.
            let _ = Reflect::set(&object, &name.into(), &values);
        }
        drop(self.write.call1(&self.dataset, &object));
    }
}

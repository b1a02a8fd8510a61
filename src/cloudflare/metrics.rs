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

/// What is counted of one operation. `docs/observability.md` says how to ask for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// What was asked for: the index, and `blob1`.
    pub event: String,
    /// `success` or `failure`: `blob2`.
    pub outcome: &'static str,
    /// The code of the failure, or nothing: `blob3`.
    pub code: String,
    /// The tool that a language model asked for, or nothing: `blob4`.
    pub tool: String,
    /// How long it took, in milliseconds: `double1`.
    pub duration_millis: f64,
    /// The size of the archive that it was about, in bytes, or 0: `double2`.
    pub size_bytes: f64,
    /// How often what took most attempts was tried: `double3`.
    pub attempts: f64,
}

fn bound(env: &Env) -> Option<JsValue> {
    Reflect::get(env, &BINDING.into()).ok().filter(|value| !value.is_undefined() && !value.is_null())
}

impl Metrics {
    /// The dataset, where there is one.
    pub fn of(env: &Env) -> Option<Self> {
        let dataset = bound(env).filter(JsValue::is_object)?;
        let method = |name: &str| Reflect::get(&dataset, &name.into()).ok()?.dyn_into::<Function>().ok();
        // The stub of a service has a method for every name.
        let write = method("writeDataPoint").filter(|_| method("").is_none())?;
        Some(Self { dataset, write })
    }

    /// Whether something is bound, a dataset or not.
    pub fn are_bound(env: &Env) -> bool {
        bound(env).is_some()
    }

    /// Counts an operation. What can't be counted is no failure of it.
    pub fn count(&self, point: &Point) {
        let texts = [&point.event, point.outcome, &point.code, &point.tool].map(JsValue::from);
        let numbers = [point.duration_millis, point.size_bytes, point.attempts].map(JsValue::from);
        let object = Object::new();
        for (name, values) in [
            ("indexes", Array::of1(&point.event.as_str().into())),
            ("blobs", texts.iter().collect()),
            ("doubles", numbers.iter().collect()),
        ] {
            // It fails for no property of a fresh object.
            let _ = Reflect::set(&object, &name.into(), &values);
        }
        drop(self.write.call1(&self.dataset, &object));
    }
}

//! The bindings of a deployment's sandboxes, and the runtime of each.

use serde::Deserialize;
use serde_json::Value;

use super::{Error, Result, Runtime, json};

/// The binding of the sandboxes, unless the var `SANDBOX_BINDING` names another one.
const USUAL_BINDING: &str = "Sandbox";

/// The bindings of this Worker's own objects.
const OWN_BINDINGS: [&str; 3] = ["Workspace", "NamedWorkspace", "Directory"];

/// The Durable Object namespaces of a deployment's sandboxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxBindings {
    bindings: Vec<SandboxBinding>,
    default: SandboxBinding,
    /// The binding that earlier releases used.
    earlier: String,
}

/// A Durable Object namespace of sandboxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxBinding {
    /// The name of the binding.
    pub name: String,
    /// The runtime of the sandboxes; `None` where the deployment does not name it.
    pub runtime: Option<Runtime>,
}

/// An element of the var `SANDBOXES`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Element {
    binding: String,
    runtime: Runtime,
    #[serde(default)]
    default: bool,
}

impl SandboxBindings {
    /// Returns the bindings of a deployment, from its vars `SANDBOXES` and `SANDBOX_BINDING`. Without `SANDBOXES` there
    /// is one binding, whose runtime is not named.
    ///
    /// # Errors
    /// [`Code::ConfigInvalid`](super::Code::ConfigInvalid) if a value is not valid.
    pub fn parse(sandboxes: Option<&Value>, sandbox_binding: Option<&str>) -> Result<Self> {
        let earlier = sandbox_binding.unwrap_or(USUAL_BINDING).to_owned();
        if OWN_BINDINGS.contains(&earlier.as_str()) {
            return Err(Error::sandbox_binding_reserved(&earlier));
        }
        let Some(sandboxes) = sandboxes else {
            let default = SandboxBinding { name: earlier.clone(), runtime: None };
            return Ok(Self { bindings: vec![default.clone()], default, earlier });
        };
        let elements: Vec<Element> = match sandboxes {
            // `.dev.vars` and `--var` have text only.
            Value::String(text) => json::from_str(text),
            list => json::from_value(list),
        }
        .map_err(|problem| Error::sandboxes_var_invalid(&problem))?;
        let defaults = elements.iter().filter(|element| element.default).count();
        let mut bindings: Vec<SandboxBinding> = Vec::new();
        let mut default = None;
        for Element { binding: name, runtime, default: is_default } in elements {
            if name.is_empty() || OWN_BINDINGS.contains(&name.as_str()) {
                return Err(Error::sandboxes_var_invalid(&format!("{name:?} is no binding of sandboxes")));
            }
            if bindings.iter().any(|other| other.name == name || other.runtime == Some(runtime)) {
                return Err(Error::sandboxes_var_invalid(&format!("the binding {name:?} or its runtime occurs twice")));
            }
            let binding = SandboxBinding { name, runtime: Some(runtime) };
            if is_default || defaults == 0 {
                default = Some(binding.clone());
            }
            bindings.push(binding);
        }
        match default {
            Some(default) if defaults == 1 || bindings.len() == 1 => Ok(Self { bindings, default, earlier }),
            _ => Err(Error::sandboxes_var_invalid("exactly one binding must be the default")),
        }
    }

    /// Returns the bindings, in the order of the configuration.
    pub fn iter(&self) -> impl Iterator<Item = &SandboxBinding> {
        self.bindings.iter()
    }

    /// Returns the binding of the sandboxes that are made from now on, unless a caller requests another runtime.
    pub const fn default_binding(&self) -> &SandboxBinding {
        &self.default
    }

    /// Returns the binding of a runtime.
    ///
    /// # Errors
    /// [`Code::SandboxBindingMissing`](super::Code::SandboxBindingMissing) if the deployment has none.
    pub fn of(&self, runtime: Option<Runtime>) -> Result<&SandboxBinding> {
        let found = self.bindings.iter().find(|binding| binding.runtime == runtime);
        found.ok_or_else(|| match runtime {
            Some(runtime) => Error::runtime_not_bound(runtime),
            None => Error::earlier_binding_not_listed(&self.earlier),
        })
    }

    /// Returns the runtime of a new sandbox: the one that the caller requests, or the default.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`](super::Code::InvalidArgument) if the deployment has no binding of the requested one.
    pub fn for_new(&self, requested: Option<Runtime>) -> Result<Option<Runtime>> {
        match requested {
            Some(runtime) if !self.bindings.iter().any(|binding| binding.runtime == requested) => {
                Err(Error::requested_runtime_not_bound(runtime))
            }
            Some(_) => Ok(requested),
            None => Ok(self.default.runtime),
        }
    }

    /// Returns the runtime of a sandbox whose row has the runtime `stored`. Earlier releases, and deployments that named
    /// no runtimes, stored none: such a sandbox is in the binding that they used. `None` if the deployment does not name
    /// the runtime of that binding.
    pub fn of_row(&self, stored: Option<Runtime>) -> Option<Runtime> {
        stored.or_else(|| self.bindings.iter().find(|binding| binding.name == self.earlier)?.runtime)
    }
}

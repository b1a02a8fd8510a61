//! The environment of the cases in workerd: the bindings of this Worker.

use std::rc::Rc;

use sandbox_snapshotter::cloudflare::deployment::WorkerPorts;
use sandbox_snapshotter::cloudflare::stub;
use sandbox_snapshotter::cloudflare::value::from_js;
use sandbox_snapshotter::cloudflare::{Deployment, WorkspaceObjects};
use sandbox_snapshotter::model::operation::Operation;
use sandbox_snapshotter::model::{Failure, SandboxId, ShortId, SnapshotId};
use sandbox_snapshotter::ports::{BackupStore, Clock, Entropy, Ports, SandboxLedgerClient, Sandboxes};
use serde_json::{Value, json};
use wasm_bindgen::JsValue;
use worker::{Bucket, Env, ObjectNamespace};

use crate::suite::world::World;

pub struct Real {
    platform: Rc<WorkerPorts>,
    env: Env,
    namespace: ObjectNamespace,
    bucket: Bucket,
    /// Makes the ids of the sandboxes of this case unique.
    case: ShortId,
}

impl Real {
    pub fn new(env: Env, ctx: JsValue) -> Self {
        let platform = Rc::clone(Deployment::open(&env, ctx).unwrap().ports());
        let case = ShortId::from_random(&platform.entropy().random_bytes().unwrap()).unwrap();
        Self {
            platform,
            namespace: env.durable_object("Sandbox").unwrap(),
            bucket: env.bucket("BACKUP_BUCKET").unwrap(),
            case,
            env,
        }
    }

    /// Stores an object in the bucket, without the port.
    pub async fn put_object(&self, key: &str, content: &[u8]) {
        self.bucket.put(key, content.to_vec()).execute().await.unwrap();
    }

    /// Stores an object with a name in its custom metadata.
    pub async fn put_named_object(&self, key: &str, content: &[u8], name: &str) {
        let put = self.bucket.put(key, content.to_vec());
        put.custom_metadata([("name".to_owned(), name.to_owned())]).execute().await.unwrap();
    }

    /// Runs an operation in the Workspace object of a sandbox.
    async fn run(&self, id: &SandboxId, operation: Operation, arguments: &Value) -> Value {
        let WorkspaceObjects(objects) = WorkspaceObjects::open(&self.env).unwrap();
        objects.run(id.as_str(), operation, arguments, &JsValue::UNDEFINED).await.unwrap().parse().unwrap()
    }

    async fn call(&self, id: &SandboxId, method: &str, arguments: &[Value]) -> Result<Value, Failure> {
        let answer =
            stub::call(&stub::get(&self.namespace, id.as_str())?, method, &stub::js_arguments(arguments)?).await?;
        Ok(from_js(&answer).unwrap())
    }
}

impl World for Real {
    fn sandboxes(&self) -> &impl Sandboxes {
        self.platform.sandboxes(None).unwrap()
    }

    fn backups(&self) -> &impl BackupStore {
        self.platform.backups().unwrap()
    }

    fn sandbox_ledgers(&self) -> impl SandboxLedgerClient {
        WorkspaceObjects::open(&self.env).unwrap()
    }

    fn clock(&self) -> &impl Clock {
        self.platform.clock()
    }

    fn entropy(&self) -> &impl Entropy {
        self.platform.entropy()
    }

    fn sandbox(&self, name: &str) -> SandboxId {
        SandboxId::parse(&format!("{name}-{}", self.case.as_str())).unwrap()
    }

    async fn write_file(&self, id: &SandboxId, path: &str, content: &str) {
        let parent = path.rsplit_once('/').map_or("/", |(parent, _)| parent);
        self.call(id, "mkdir", &[json!(parent), json!({ "recursive": true })]).await.unwrap();
        self.call(id, "writeFile", &[json!(path), json!(content)]).await.unwrap();
    }

    async fn create_symlink(&self, id: &SandboxId, path: &str) {
        self.call(id, "exec", &[json!(format!("ln -s /tmp '{path}'"))]).await.unwrap();
    }

    async fn git_ignore(&self, id: &SandboxId, paths: &[&str]) {
        let command = format!("cd /workspace && git init -q && printf '/%s\\n' {} > .gitignore", paths.join(" "));
        let result = self.call(id, "exec", &[json!(command)]).await.unwrap();
        assert_eq!(result["exitCode"], json!(0), "{result}");
    }

    async fn read_file(&self, id: &SandboxId, path: &str) -> Option<String> {
        match self.call(id, "readFile", &[json!(path)]).await {
            Ok(file) => Some(file["content"].as_str().unwrap().to_owned()),
            Err(failure) => {
                assert_eq!(failure.code.as_deref(), Some("FILE_NOT_FOUND"), "{failure:?}");
                None
            }
        }
    }

    async fn delete_object(&self, key: &str) {
        self.bucket.delete(key).await.unwrap();
    }

    async fn mint_snapshot_id(&self, id: &SandboxId) -> SnapshotId {
        self.write_file(id, "/workspace/file", "first").await;
        let taken = self.run(id, Operation::Snapshot, &json!({ "sandboxId": id })).await;
        self.run(id, Operation::Delete, &json!({ "ref": taken })).await;
        serde_json::from_value(taken["ref"]["snapshotId"].clone()).unwrap()
    }
}

// The Worker without the classes of sandboxes: the RPC and HTTP entrypoint, and the classes of its own Durable Objects.
// Callers can call every method of the default export over a service binding, so it has only the intended methods.

import { DurableObject, RpcTarget, WorkerEntrypoint } from 'cloudflare:workers';

import * as rust from '../build/index.js';
import module from '../build/index_bg.wasm';
import { openDownload, readArchives } from './archives.mjs';
import { page } from './pages.mjs';

rust.initSync({ module });

export default class Snapshotter extends WorkerEntrypoint {
  fetch(request) {
    rust.setDownloadOpener(openDownload);
    return page(request) ?? rust.fetch(request, this.env, this.ctx);
  }

  scheduled() {
    return rust.scheduled(this.env, this.ctx);
  }
}

// A group of operations: `env.SNAPSHOTTER.workspaces.start({ name })` is the operation "workspaces/start". So is
// `env.SNAPSHOTTER['workspaces/start']({ name })`, which also works through proxies that know methods only, such as
// wrangler's registry of local Workers.
class Group extends RpcTarget {
  #snapshotter;

  constructor(snapshotter) {
    super();
    this.#snapshotter = snapshotter;
  }

  static method(operation) {
    return function (options) {
      return this.#snapshotter[operation](options);
    };
  }
}

const groups = new Map();

/** Adds a method with the name of an operation, and to the class of its group. */
function addMethod(operation, call) {
  Snapshotter.prototype[operation] = call;
  const [method, group] = operation.split('/').reverse();
  if (group === undefined) return;
  const Methods = groups.get(group) ?? class extends Group {};
  groups.set(group, Methods);
  Methods.prototype[method] = Group.method(operation);
}

for (const operation of rust.operations()) {
  addMethod(operation, function (options) {
    return rust.call(operation, options, this.env, this.ctx);
  });
}

// A download has a stream beside its description.
for (const download of rust.downloads()) {
  addMethod(download, function (options) {
    rust.setDownloadOpener(openDownload);
    return rust.download(download, options, this.env, this.ctx);
  });
}

// As `exec`, with the output as a stream while the command runs.
Snapshotter.prototype.execStream = function (options) {
  return rust.execStream(options, this.env, this.ctx);
};

for (const [group, Methods] of groups) {
  Object.defineProperty(Snapshotter.prototype, group, {
    get() {
      return new Methods(this);
    },
  });
}

/** The delay between a failed alarm and the next one, in milliseconds. */
const ALARM_AGAIN = 60_000;

// A Durable Object that is implemented in Rust.
class StatefulObject extends DurableObject {
  #object;

  constructor(ctx, env) {
    super(ctx, env);
    this.#make();
  }

  #make() {
    rust.setArchiveReader(readArchives);
    this.#object = this.constructor.make(this.ctx, this.env);
  }

  perform(...call) {
    return this.#call('call', call);
  }

  receive(...message) {
    return this.#call('handleCall', message);
  }

  // Sets the next alarm when the work fails, until it succeeds: the platform stops retrying an alarm that keeps failing.
  async alarm() {
    let done = false;
    try {
      done = await this.#call('alarm', []);
    } finally {
      if (!done && (await this.ctx.storage.getAlarm()) === null)
        await this.ctx.storage.setAlarm(Date.now() + ALARM_AGAIN);
    }
  }

  #call(method, list) {
    rust.resetIfTrapped();
    try {
      return this.#object[method](...list);
    } catch {
      // A trap reset the module, and the object belongs to the former instance. The call has had no effect yet.
      this.#make();
      return this.#object[method](...list);
    }
  }
}

// Runs the operations on one sandbox, and stores its ledger. The methods above call this class and the classes below.
// Another Worker of the account that binds the classes gets no further permissions than the methods above give.
export class Workspace extends StatefulObject {
  static make(ctx, env) {
    return new rust.Workspace(ctx.id.name, ctx, env);
  }
}

// Stores one named workspace, and calls the Workspace objects of its present and former sandboxes.
export class NamedWorkspace extends StatefulObject {
  static make(ctx, env) {
    return new rust.NamedWorkspace(ctx.id.name, ctx, env);
  }
}

// Lists the named workspaces of one tenant.
export class Directory extends StatefulObject {
  static make(ctx) {
    return new rust.Directory(ctx);
  }
}

// The module that wrangler deploys: what callers can reach, and the classes of the Durable Objects.
// Every method of the default export can be called over a service binding, so it has the intended ones only.

import { DurableObject, RpcTarget, WorkerEntrypoint } from 'cloudflare:workers';

import * as rust from '../build/index.js';
import module from '../build/index_bg.wasm';
import { page } from './pages.mjs';

export { ContainerProxy, Sandbox } from '@cloudflare/sandbox';

rust.initSync({ module });

export default class Snapshotter extends WorkerEntrypoint {
  fetch(request) {
    return page(request) ?? rust.fetch(request, this.env, this.ctx);
  }

  scheduled() {
    return rust.scheduled(this.env, this.ctx);
  }
}

// A group of operations: `env.SNAPSHOTTER.workspaces.start({ name })` is the operation "workspaces/start".
class Group extends RpcTarget {
  #env;
  #ctx;

  constructor(env, ctx) {
    super();
    this.#env = env;
    this.#ctx = ctx;
  }

  static method(operation) {
    return function (options) {
      return rust.call(operation, options, this.#env, this.#ctx);
    };
  }
}

const groups = new Map();

for (const operation of rust.operations()) {
  const [method, group] = operation.split('/').reverse();
  if (group === undefined) {
    Snapshotter.prototype[method] = function (options) {
      return rust.call(operation, options, this.env, this.ctx);
    };
  } else {
    const Methods = groups.get(group) ?? class extends Group {};
    groups.set(group, Methods);
    Methods.prototype[method] = Group.method(operation);
  }
}

for (const [group, Methods] of groups) {
  Object.defineProperty(Snapshotter.prototype, group, {
    get() {
      return new Methods(this.env, this.ctx);
    },
  });
}

/** How long after an alarm that could not be done there is another one, in milliseconds. */
const ALARM_AGAIN = 60_000;

// A Durable Object whose work is done in Rust.
class StatefulObject extends DurableObject {
  #object;

  constructor(ctx, env) {
    super(ctx, env);
    this.#object = this.constructor.make(ctx, env);
  }

  perform(...call) {
    return this.#call('call', call);
  }

  receive(...message) {
    return this.#call('handleCall', message);
  }

  // What could not be done is tried again, for as long as it takes: an alarm that fails is given up by the platform.
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
      // The module was reset after a trap, and the old one's object with it: nothing was done yet.
      this.#object = this.constructor.make(this.ctx, this.env);
      return this.#object[method](...list);
    }
  }
}

// Does the work for one sandbox, guards it, and keeps its ledger. It is there for the methods above, as are the other
// classes; whoever else of the account binds them has no more rights than they give.
export class Workspace extends StatefulObject {
  static make(ctx, env) {
    return new rust.Workspace(ctx.id.name, ctx, env);
  }
}

// Keeps one named workspace, over the Workspace objects of the sandboxes that it has had.
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

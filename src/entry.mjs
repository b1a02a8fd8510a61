// The module that wrangler deploys: what callers can reach, and the classes of the Durable Objects.
// Every method of the default export can be called over a service binding, so it has the intended ones only.

import { DurableObject, WorkerEntrypoint } from 'cloudflare:workers';

import * as rust from '../build/index.js';
import module from '../build/index_bg.wasm';

export { ContainerProxy, Sandbox } from '@cloudflare/sandbox';

rust.initSync({ module });

export default class Snapshotter extends WorkerEntrypoint {
  fetch(request) {
    return rust.fetch(request, this.env, this.ctx);
  }

  scheduled() {
    return rust.scheduled(this.env, this.ctx);
  }
}

for (const operation of rust.operations()) {
  Snapshotter.prototype[operation] = function (options) {
    return rust.call(operation, options, this.env, this.ctx);
  };
}

// Does the work for one sandbox, guards it, and keeps its ledger. It is there for the methods above; whoever else of the
// account binds it has no more rights than they give.
export class Workspace extends DurableObject {
  #workspace;

  constructor(ctx, env) {
    super(ctx, env);
    this.#workspace = this.#open();
  }

  perform(...call) {
    return this.#call('perform', call);
  }

  receive(...message) {
    return this.#call('receive', message);
  }

  alarm() {
    return this.#call('alarm', []);
  }

  #call(method, list) {
    rust.touch();
    try {
      return this.#workspace[method](...list);
    } catch {
      // The module was reset after a trap, and the old one's object with it: nothing was done yet.
      this.#workspace = this.#open();
      return this.#workspace[method](...list);
    }
  }

  #open() {
    return new rust.Workspace(this.ctx.id.name, this.ctx, this.env);
  }
}

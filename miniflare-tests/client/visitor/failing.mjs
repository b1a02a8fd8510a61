import { RpcTarget, WorkerEntrypoint } from 'cloudflare:workers';

/** Loses the answer to a call. */
async function lose(call) {
  await call;
  throw new Error('internal error; reference = 4d7aqb9s0k3b');
}

class Tools extends RpcTarget {
  #snapshotter;

  constructor(snapshotter) {
    super();
    this.#snapshotter = snapshotter;
  }

  call(options) {
    return lose(this.#snapshotter.tools.call(options));
  }
}

export default class extends WorkerEntrypoint {
  get tools() {
    return new Tools(this.env.SNAPSHOTTER);
  }

  restore(options) {
    return lose(this.env.SNAPSHOTTER.restore(options));
  }

  delete(options) {
    return lose(this.env.SNAPSHOTTER.delete(options));
  }

  rotateKey(options) {
    return lose(this.env.SNAPSHOTTER.rotateKey(options));
  }

  fetch(request) {
    return this.env.SNAPSHOTTER.fetch(request);
  }
}

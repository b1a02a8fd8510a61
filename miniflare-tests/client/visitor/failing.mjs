import { RpcTarget, WorkerEntrypoint } from 'cloudflare:workers';

/** Makes a call, and fails as the platform does when it loses the answer. */
async function loseAnswer(call) {
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
    return loseAnswer(this.#snapshotter.tools.call(options));
  }
}

export default class extends WorkerEntrypoint {
  get tools() {
    return new Tools(this.env.SNAPSHOTTER);
  }

  restore(options) {
    return loseAnswer(this.env.SNAPSHOTTER.restore(options));
  }

  delete(options) {
    return loseAnswer(this.env.SNAPSHOTTER.delete(options));
  }

  rotateKey(options) {
    return loseAnswer(this.env.SNAPSHOTTER.rotateKey(options));
  }

  fetch(request) {
    return this.env.SNAPSHOTTER.fetch(request);
  }
}

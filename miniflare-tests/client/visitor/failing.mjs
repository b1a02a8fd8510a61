import { WorkerEntrypoint } from 'cloudflare:workers';

export default class extends WorkerEntrypoint {
  async restore(options) {
    await this.env.SNAPSHOTTER.restore(options);
    throw new Error('internal error; reference = 4d7aqb9s0k3b');
  }

  async rotateKey(options) {
    await this.env.SNAPSHOTTER.rotateKey(options);
    throw new Error('internal error; reference = 4d7aqb9s0k3b');
  }

  fetch(request) {
    return this.env.SNAPSHOTTER.fetch(request);
  }
}

// Runs cases of the conformance suite, each in its own Durable Object.

import { DurableObject } from 'cloudflare:workers';

import * as rust from '../../build/conformance/index.js';
import module from '../../build/conformance/index_bg.wasm';
import { readArchives } from '../../src/archives.mjs';
import './arguments.mjs';

export { ContainerProxy, Sandbox } from '@cloudflare/sandbox';

rust.initSync({ module });
rust.setArchiveReader(readArchives);

export class Subject extends DurableObject {
  async run(subject, name) {
    const panic = Promise.withResolvers();
    globalThis.panicked = (message) => panic.reject(new Error(message));
    try {
      await Promise.race([rust.run(subject, name, this.ctx, this.env), panic.promise]);
      return { name, ok: true };
    } catch (error) {
      rust.__wbg_reset_state();
      rust.setArchiveReader(readArchives);
      return { name, ok: false, error: error.message };
    }
  }

  alarm() {}
}

export default {
  /** `GET /` returns the names of the cases by subject. `POST /<subject>/<case>` runs a case. */
  async fetch(request, env) {
    const [subject, name] = new URL(request.url).pathname.slice(1).split('/');
    if (!name) return new Response(rust.cases());
    return Response.json(await env.Subject.getByName(`${subject}/${name}`).run(subject, name));
  },
};

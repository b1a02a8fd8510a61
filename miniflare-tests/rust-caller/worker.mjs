// Has the Worker in Rust do something, and runs commands in sandboxes.

import { getSandbox } from '@cloudflare/sandbox';

import * as rust from '../../build/rust-caller/index.js';
import module from '../../build/rust-caller/index_bg.wasm';

rust.initSync({ module });

export default {
  /** `POST /play`: does what the body says. `POST /exec/<id>`: runs the command of the body in a sandbox. */
  async fetch(request, env) {
    const [what, id] = new URL(request.url).pathname.slice(1).split('/');
    const body = await request.text();
    if (what === 'play') return new Response(await rust.play(env, body));
    return Response.json(await getSandbox(env.Sandbox, id).exec(body));
  },
};

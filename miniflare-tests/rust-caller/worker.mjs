// Runs scenarios in the Worker in Rust, and commands in sandboxes.

import { getSandbox } from '@cloudflare/sandbox';

import * as rust from '../../build/rust-caller/index.js';
import module from '../../build/rust-caller/index_bg.wasm';

rust.initSync({ module });

export default {
  /** `POST /scenario`: runs the scenario in the body. `POST /exec/<id>`: runs the command in the body in a sandbox. */
  async fetch(request, env) {
    const [action, id] = new URL(request.url).pathname.slice(1).split('/');
    const body = await request.text();
    if (action === 'scenario') return new Response(await rust.run_scenario(env, body));
    return Response.json(await getSandbox(env.Sandbox, id).exec(body));
  },
};

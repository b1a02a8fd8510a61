// `npm run dev`: serves the Worker, and the example agent beside it, with local sandboxes.
// State is kept in .local/, the token in .dev.vars: both are made at the first run and never committed.

import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';

import { at } from './setup.mjs';
import { AGENT, SNAPSHOTTER, startLocal } from './local.ts';

const port = Number(process.env.PORT ?? 8787);
if (!(Number.isInteger(port) && port > 0 && port < 65535))
  throw new Error('PORT must be a port, and the next one free.');
const token = developmentToken();

await using _workers = await startLocal({
  workers: [
    { config: SNAPSHOTTER, vars: { API_TOKEN: token } },
    { config: AGENT, vars: { AGENT_TOKEN: token }, port: port + 1 },
  ],
  port,
  persist: at('.local/state'),
  onLog: (line) => line.startsWith('{"') && console.log(line),
});

console.log(`The snapshotter is at http://127.0.0.1:${port}, with the token ${token}.
The example agent is at http://127.0.0.1:${port + 1}, with the same token: POST a command, in JSON, to /<name>/run, and it has
a sandbox. A caller with the token runs commands on this machine.
Ctrl-C ends both.`);
await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);

/** The token of .dev.vars, which `wrangler dev` reads too. */
function developmentToken(): string {
  const file = at('.dev.vars');
  const vars = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const known = /^API_TOKEN="?([^"\n]+)"?$/m.exec(vars)?.[1];
  if (known) return known;
  const made = randomBytes(24).toString('base64url');
  const lines = [vars.trimEnd(), `API_TOKEN="${made}"`, 'LOCAL_BUCKET="true"', ''];
  writeFileSync(file, lines.join('\n').trimStart(), { mode: 0o600 });
  return made;
}

// `npm run dev`: serves the Worker and the example agent, with local sandboxes. The first run creates the state folder .local/
// and the file .dev.vars with the token. Git ignores both.

import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';

import { at } from './setup.mjs';
import { AGENT, SNAPSHOTTER, startLocal } from './local.ts';

const port = Number(process.env.PORT ?? 8787);
if (!(Number.isInteger(port) && port > 0 && port < 65535))
  throw new Error(`PORT must be an integer from 1 to 65534, got ${JSON.stringify(process.env.PORT)}.`);
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

console.log(`Snapshotter:   http://127.0.0.1:${port}
Example agent: http://127.0.0.1:${port + 1}
Token of both: ${token}

To run a command in the agent's sandbox, POST a JSON array with the command to /<name>/run of the agent.
Callers with the token can run commands on this machine. Press Ctrl-C to stop.`);
await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);

/** Returns the token in .dev.vars, which `wrangler dev` also reads. Generates the token if there is none. */
function developmentToken(): string {
  const file = at('.dev.vars');
  const vars = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const existing = /^API_TOKEN="?([^"\n]+)"?$/m.exec(vars)?.[1];
  if (existing) return existing;
  const generated = randomBytes(24).toString('base64url');
  const lines = [vars.trimEnd(), `API_TOKEN="${generated}"`, 'LOCAL_BUCKET="true"', ''];
  writeFileSync(file, lines.join('\n').trimStart(), { mode: 0o600 });
  return generated;
}

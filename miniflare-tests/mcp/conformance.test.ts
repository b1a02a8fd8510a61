// The official conformance suite of the Model Context Protocol, for both eras of it. Much of it is about what a server of
// tools alone does not have, or needs tools that exist for the suite: conformance.json lists the checks that therefore fail,
// and why. All others have to pass, and these have to fail.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { environment } from '../../scripts/setup.mjs';
import { TOKEN, World } from '../world.ts';

/** Of a scenario's name, the checks in it. */
type Checks = Record<string, string[]>;

/** What a revision's scenarios come to: what has to pass at least, and for each reason what can't. */
interface Expected {
  passes: Checks;
  fails: Record<string, Checks>;
}

interface Check {
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
}

const list = await readFile(new URL('./conformance.json', import.meta.url), 'utf8');
const revisions = Object.entries(JSON.parse(list) as Record<string, Expected>);

for (const [revision, { passes, fails }] of revisions) {
  const scenarios = await run(revision);
  const failing = (scenario: string) => Object.values(fails).flatMap((checks) => checks[scenario] ?? []);

  describe(`the conformance suite of ${revision}`, () => {
    for (const [scenario, checks] of scenarios) {
      const ids = (...statuses: string[]) => [
        ...new Set(checks.filter(({ status }) => statuses.includes(status)).map(({ id }) => id)),
      ];
      test(scenario, () => {
        assert.deepEqual(ids('FAILURE', 'WARNING').sort(), failing(scenario).sort());
        assert.deepEqual(lacking(passes[scenario] ?? [], ids('SUCCESS')), []);
      });
    }

    test('has every scenario that something is expected of', () => {
      const expected = [passes, ...Object.values(fails)].flatMap((checks) => Object.keys(checks));
      assert.deepEqual(lacking(expected, [...scenarios.keys()]), []);
    });
  });
}

/** Those of the `wanted` that are not `there`. */
function lacking(wanted: string[], there: string[]): string[] {
  return wanted.filter((each) => !there.includes(each));
}

/** Runs the scenarios that a revision requires, and answers the checks of each. */
async function run(revision: string): Promise<Map<string, Check[]>> {
  await using world = await World.start({ snapshotter: { port: 0 } });
  const proxy = authorizing(await world.url('/mcp?sandbox=conformance'));
  const folder = await mkdtemp(join(tmpdir(), 'mcp-conformance-'));
  try {
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`;
    const args = ['server', '--url', url, '--requirements', revision, '--output-dir', folder];
    // It ends with a failure where any check fails, so its results tell more than its status.
    await once(spawn('conformance', args, { env: environment(), stdio: 'ignore' }), 'close');
    const results = (await readdir(folder)).map(async (name): Promise<[string, Check[]]> => {
      const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name)?.[1];
      assert.ok(scenario, name);
      return [scenario, JSON.parse(await readFile(join(folder, name, 'checks.json'), 'utf8'))];
    });
    return new Map(await Promise.all(results));
  } finally {
    proxy.close();
    await rm(folder, { recursive: true });
  }
}

/** Passes requests on with the token, which the suite can't send. */
function authorizing(target: URL) {
  return createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${TOKEN}` };
    const passedOn = request(target, { method: incoming.method ?? 'GET', headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passedOn.on('error', () => outgoing.destroy());
    incoming.pipe(passedOn);
  });
}
